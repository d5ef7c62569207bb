//! What a cut bucket costs with real brokers: k Mosquittos, a gateway before each, one topic, one bucket.
//!
//! `split --binary target/release/tollgate [--seconds 30] [--rounds 2] [--publishers 200] [--each 10] [--brokers 4]`. For every k, in
//! turn and repeated: the topic with its bucket cut and nothing lent, and with gateways that lend. Prints the percentiles of the whole
//! way beside what the theory says that the cut costs, and replays all that was admitted through the one bucket. Not here: planning.

#[path = "../admissions/judge.rs"]
#[allow(dead_code, reason = "a program of its own elsewhere")]
mod judge;
mod site;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use site::{Found, Site, Trial};

/// Measures what a cut bucket costs.
#[derive(Debug, Parser)]
struct Options {
    /// The program to measure
    #[arg(long, default_value = "target/release/tollgate")]
    binary: std::path::PathBuf,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// How often each is measured; medians are shown
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Publishers
    #[arg(long, default_value_t = 200)]
    publishers: u32,
    /// Messages a second of each
    #[arg(long, default_value_t = 10)]
    each: u32,
    /// The most brokers
    #[arg(long, default_value_t = 4)]
    brokers: u16,
    /// The burst of the bucket
    #[arg(long, default_value_t = 25)]
    burst: u32,
    /// Publishers that publish at the same time
    #[arg(long, default_value_t = 1)]
    group: u32,
    /// Which publisher goes where: `spread` keeps those of a group apart, `blind` looks at no group
    #[arg(long, default_value = "spread")]
    assign: String,
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(
        options.rounds > 0 && options.brokers > 0 && options.burst > 0,
        "counts must be above zero"
    );
    let rate = options.publishers * options.each;
    let limit = rate + rate.div_ceil(10);
    println!(
        "{} publishers x {}/s, limit {limit}/s, burst {}, {} s, median of {}",
        options.publishers, options.each, options.burst, options.seconds, options.rounds
    );
    println!(
        "{:>2} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>6}",
        "k", "lend", "p50 ms", "p95 ms", "p99 ms", "theory", "waited %", "frames/m", "over"
    );
    let mut trials = Vec::new();
    for brokers in 1..=options.brokers {
        for lends in [false, true] {
            if brokers > 1 || !lends {
                trials.push((brokers, lends));
            }
        }
    }
    let mut all: Vec<Vec<Found>> = vec![Vec::new(); trials.len()];
    for round in 0..options.rounds {
        for ((brokers, lends), found) in trials.iter().zip(&mut all) {
            let trial = Trial {
                binary: options.binary.clone(),
                brokers: *brokers,
                lends: *lends,
                limit,
                burst: options.burst,
                publishers: options.publishers,
                each: options.each,
                group: options.group,
                assign: options.assign.clone(),
                seconds: options.seconds,
                seed: round as u64 + 1,
            };
            let site = Site::start(&trial)?;
            found.push(site.measure(&trial).context("measuring")?);
        }
    }
    for ((brokers, lends), found) in trials.iter().zip(&all) {
        let of = |pick: fn(&Found) -> f64| median(found.iter().map(pick).collect());
        let over: u64 = found.iter().map(|found| found.over).sum();
        println!(
            "{brokers:>2} {:>8} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>9.2} {:>9.3} {over:>6}",
            if *lends { "on" } else { "off" },
            of(|found| found.p50_ms),
            of(|found| found.p95_ms),
            of(|found| found.p99_ms),
            theory(*brokers, limit, options.burst),
            of(|found| found.waited_percent),
            of(|found| found.frames_per_message),
        );
    }
    Ok(())
}

/// What random single messages at ten elevenths of the limit wait for tokens at the 99th percentile, in milliseconds: they find 24.2
/// messages of unfinished work there, whatever the rate.
fn theory(brokers: u16, limit: u32, burst: u32) -> f64 {
    let (k, limit, burst) = (f64::from(brokers), f64::from(limit), f64::from(burst));
    (k * (25.2 - burst / k) / limit * 1e3).max(0.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
