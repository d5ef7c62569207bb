//! Figure 11: groups whose messages are spread over a time.
//!
//! Not here: groups that send at the same instant.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use tollgate_split::plan::place::Principles;

use super::{Drawn, WORST, bar, cells, find, finish, ours, parameters, profiled};
use crate::catalogue::RunRequest;
use crate::report::Report;
use crate::split::fitting::Fitted;
use crate::split::measure::Figures;
use crate::split::row::SplitRow;
use crate::split::traffic::{MILLI, Pattern, PublisherTraffic};

const SPREADS_MS: [u64; 6] = [0, 1, 2, 4, 8, 16];
const FIGURE: &str = "11";
const COUNTS: &str = "11 brokers";
/// The reference's times and numbers of brokers, by spread; it gives no times from 4 ms on.
const TOLD: [[Option<f64>; 4]; 6] = [
    [Some(0.87), Some(3.0), Some(0.95), Some(4.0)],
    [Some(0.71), Some(2.0), Some(0.78), Some(2.0)],
    [None, None, None, None],
    [None, Some(1.0), None, Some(1.0)],
    [None, Some(1.0), None, Some(1.0)],
    [None, Some(1.0), None, Some(1.0)],
];

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let found = cells(&SPREADS_MS, seeds, ask, |spread, seed| {
        run_spread(*spread, seed)
    });
    let mut rows = Vec::new();
    for (at, series) in ["aware", "blind"].into_iter().enumerate() {
        for ((spread, runs), told) in SPREADS_MS.into_iter().zip(&found).zip(TOLD) {
            let own: Vec<Figures> = runs.iter().filter_map(|run| run.get(at).cloned()).collect();
            let counts: Vec<f64> = own.iter().map(|run| f64::from(run.k)).collect();
            let (time, count) = if at == 0 {
                (told[0], told[1])
            } else {
                (told[2], told[3])
            };
            let x = spread as f64;
            rows.push(SplitRow::of(FIGURE, series, x, WORST, &own).told(None, time));
            rows.push(SplitRow::plain(COUNTS, series, x, "k", &counts).told(None, count));
        }
    }
    rows.sort_by(|one, two| one.figure.cmp(&two.figure));
    let counts: Vec<f64> = SPREADS_MS
        .iter()
        .filter_map(|spread| find(&rows, COUNTS, "aware", *spread as f64)?.more.ours)
        .collect();
    let told: Vec<String> = counts.iter().map(|count| format!("{count:.0}")).collect();
    finish(Report {
        title: "Figure 11: groups that do not send at the same instant".to_owned(),
        about: "1,000 publishers in groups of 25, batches of ten; a group's batches are spread evenly over x milliseconds; b is 1.25 times what the \
                trace needs. Brokers are added until every one measures a millisecond or less."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("group", "25"), ("seconds", "60")]),
        bars: vec![bar(
            "figure 11: brokers fall with the spread, to one",
            "never more at a larger spread; 1 from 4 ms on",
            told.join(", "),
            Some(counts.is_sorted_by(|one, two| one >= two) && counts.iter().skip(3).all(|count| *count <= 1.0)),
        )],
        figures: vec![
            Drawn {
                figure: FIGURE,
                title: "Latency by spread",
                x: "spread of a group's batches, ms",
                y: "slowest broker, 99th percentile, ms",
                y_log: false,
            }
            .draw(&rows, ours),
            Drawn {
                figure: COUNTS,
                title: "Brokers by spread",
                x: "spread of a group's batches, ms",
                y: "brokers",
                y_log: false,
            }
            .draw(&rows, ours),
        ],
        conclusion: format!("Spread over 0 to 16 ms, a group of 25 needs {} brokers.", told.join(", ")),
        split: rows,
        ..Report::default()
    })
}

fn run_spread(spread_ms: u64, seed: u64) -> Vec<Figures> {
    let traffic = PublisherTraffic {
        spread_ns: spread_ms * MILLI,
        ..PublisherTraffic::groups(25, Pattern::Poisson, 60)
    };
    let bursts = traffic.bursts(seed);
    let bucket = profiled(&bursts, 125);
    let fitted = Fitted::new(&traffic, bursts, bucket, seed);
    let blind = Principles {
        correlation: false,
        ..Principles::ALL
    };
    vec![
        fitted.fewest(Principles::ALL).figures,
        fitted.fewest(blind).figures,
    ]
}
