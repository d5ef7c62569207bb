//! One line per set and design, over some seeds: the quickest way to see what a change of a design does.
//!
//! ```text
//! cargo run --release -p tollgate-lab --example cell -- b-extreme,b-barely segments,home 20 delay=5 loss=5
//! ```
//!
//! Sets and designs are lists or `all`; the third word is the number of seeds. Then, as `key=value`: nodes, capacity,
//! refill (per second), first (seed), threads, routing (hash, uniform, sticky, hot); delay, jitter, skew (ms), loss,
//! dup (percent), crash, down, keep, join, leave (`NODE@SECOND`, down and keep with `+SECONDS`), cut
//! (`FROM-TO@SECOND+SECONDS`), jump (`NODE@SECOND+MS`); interval, expect, window, threshold, grace, digest (ms), beta
//! and fade (`5/4`), buddy, standby, repeat (on, off), direct (a number or auto), tree; drain (s).

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a tool that reads its arguments and a clock, and prints rounded figures"
)]

mod words;

use std::time::Instant;

use tollgate_lab::{Batch, Contender, Job, Row, Spread, run_batch};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(why) = run(&args) {
        eprintln!("{why}");
        std::process::exit(2);
    }
}

fn run(args: &[String]) -> Result<(), String> {
    let [sets, designs, seeds, settings @ ..] = args else {
        return Err("cell SET[,SET] DESIGN[,DESIGN] SEEDS [key=value …]".to_owned());
    };
    let settings = words::settings(settings)?;
    println!("{HEAD}");
    for set in words::sets(sets)? {
        for contender in words::contenders(designs)? {
            let cluster = settings.cluster(set)?;
            let (bucket, nodes) = (cluster.bucket, cluster.nodes);
            let trace = move |seed| set.trace(bucket, nodes, seed).into();
            let batch = Batch {
                jobs: vec![Job {
                    set: set.name.to_owned(),
                    contender,
                    cluster,
                    trace: &trace,
                }],
                first: settings.first,
                seeds: seeds.parse().map_err(|_| format!("no number: {seeds}"))?,
                threads: settings.threads,
            };
            let began = Instant::now();
            let rows = run_batch(&batch, &|_| {}).map_err(|why| why.to_string())?;
            for row in rows {
                print(&row, contender, began.elapsed().as_secs_f64());
            }
        }
    }
    Ok(())
}

const HEAD: &str = "set             design           total% (min)       area%   over (max)   under (max)  false       KB  messages   state (local)   busiest KB (sent)  quiet s  took s";

fn print(row: &Row, contender: Contender, took: f64) {
    let mean = |pick: &dyn Fn(&tollgate_lab::Outcome) -> f64| {
        let values: Vec<f64> = row.runs.iter().map(pick).collect();
        Spread::of(&values).unwrap_or_default().mean
    };
    let percent = |spread: Option<Spread>| {
        spread.map_or(("-".to_owned(), "-".to_owned()), |it| {
            (format!("{:.2}", it.mean), format!("({:.1})", it.min))
        })
    };
    let (total, total_min) = percent(row.total);
    let (area, _) = percent(row.area);
    println!(
        "{:15} {:15} {:>7} {:>8} {:>11} {:>7.1} {:>6} {:>7.1} {:>6} {:>6.1} {:>9.1} {:>9.0} {:>8.0} {:>8} {:>8.1} {:>8} {:>8} {:>7.1}",
        row.set,
        contender.to_string(),
        total,
        total_min,
        area,
        row.over.mean,
        format!("({})", row.over.max),
        row.under.mean,
        format!("({})", row.under.max),
        row.false_rejections.mean,
        row.bytes.mean / 1000.0,
        row.messages.mean,
        row.state_bytes.mean,
        format!("({:.0})", row.local_bytes.mean),
        row.busiest_bytes.mean / 1000.0,
        format!(
            "({:.1})",
            mean(&|run| run.traffic.busiest_sent_bytes as f64) / 1000.0
        ),
        row.quiet_s
            .map_or("never".to_owned(), |it| format!("{:.1}", it.mean)),
        took,
    );
    let malformed: f64 = mean(&|run| run.traffic.malformed as f64);
    if malformed > 0.0 {
        println!("  ! {malformed} frames a run could not be read");
    }
}
