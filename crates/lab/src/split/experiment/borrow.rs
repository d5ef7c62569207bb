//! Borrowing tokens between sub-buckets: what is left of the penalty, and what it costs.
//!
//! Not here: shares that move.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use tollgate_split::plan::place::{Broker, Principles, distribute};
use tollgate_split::{Borrow, SplitConfig};

use super::{Drawn, P99, bar, cells, find, finish, ours, parameters, profiled, two};
use crate::catalogue::RunRequest;
use crate::report::{Bar, Report};
use crate::split::measure::{Figures, Placed};
use crate::split::row::SplitRow;
use crate::split::topic::{TopicBucket, config, run_apart, run_near};
use crate::split::traffic::{MICRO, Pattern, PublisherTraffic, SECOND};
use crate::split::world::Near;

const DELAYS: &str = "delays";
const DEPTHS: &str = "depths";
const SECONDS: u64 = 60;

/// One topic, cut, with or without borrowing.
struct Cell {
    figure: &'static str,
    series: String,
    x: f64,
    traffic: PublisherTraffic,
    /// `None`: what the trace needs.
    burst: Option<u64>,
    brokers: usize,
    is_aware: bool,
    /// One way in microseconds, whom to borrow from, and the low mark; `None`: nobody borrows.
    borrow: Option<(u64, Borrow, u32)>,
    reference: Option<f64>,
}

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let seconds = SECONDS;
    let cells_of = all_cells(seconds);
    let found = cells(&cells_of, seeds, ask, run_cell);
    let rows: Vec<SplitRow> = cells_of
        .iter()
        .zip(&found)
        .map(|(cell, runs)| {
            SplitRow::of(cell.figure, &cell.series, cell.x, P99, runs).told(None, cell.reference)
        })
        .collect();
    let cut = find(&rows, DELAYS, "static", 6.0).and_then(|row| row.p99_ms);
    let borrowed = find(&rows, DELAYS, "borrow 0.2 ms", 6.0).and_then(|row| row.p99_ms);
    let far = find(&rows, DELAYS, "borrow 5 ms", 6.0).and_then(|row| row.p99_ms);
    finish(Report {
        title: "Borrowing tokens between sub-buckets".to_owned(),
        about: "10,000 random messages per second, 11,000 tokens, a burst of 25, cut into k parts. x is k, or the burst in the second \
                table. Waits for tokens only; every departure is replayed through one bucket that was not cut."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("seconds", "60")]),
        bars: bars(&rows),
        figures: vec![
            Drawn {
                figure: DELAYS,
                title: "The wait at the 99th percentile, by parts and by the time one way takes",
                x: "sub-buckets",
                y: "wait for tokens, 99th percentile, ms",
                y_log: true,
            }
            .draw(&rows, ours),
            Drawn {
                figure: DEPTHS,
                title: "Six parts, 0.2 ms one way: a deeper bucket and borrowing remove the wait",
                x: "burst, messages",
                y: "wait for tokens, 99th percentile, ms",
                y_log: false,
            }
            .draw(&rows, ours),
        ],
        conclusion: format!(
            "Six parts make messages wait {} ms at the 99th percentile; with borrowing at 0.2 ms one way it is {} ms, at 5 ms, which is more than \
             b/r, {} ms, and more of them wait.",
            two(cut),
            two(borrowed),
            two(far)
        ),
        split: rows,
        ..Report::default()
    })
}

fn run_cell(cell: &Cell, seed: u64) -> Figures {
    let bursts = cell.traffic.bursts(seed);
    let bucket = match cell.burst {
        Some(burst) => {
            let rate = u64::from(cell.traffic.publishers) * 11;
            TopicBucket::per_second(rate, burst)
        }
        None => profiled(&bursts, 100),
    };
    let publishers = cell.traffic.publishers();
    let idle = vec![
        Broker {
            capacity: u64::MAX / 64,
            load: 0,
        };
        cell.brokers
    ];
    let principles = Principles {
        correlation: cell.is_aware,
        ..Principles::NONE
    };
    let places = distribute(&publishers, &idle, principles, cell.brokers, seed);
    let places = places.unwrap_or_default();
    let cut = Placed::new(bucket, &publishers, &places).cut();
    let ran = match cell.borrow {
        None => run_apart(bucket, &cut, &bursts),
        Some((one_way_us, borrow, low_milli)) => {
            let near = Near {
                one_way_ns: one_way_us * MICRO,
                config: SplitConfig {
                    borrow,
                    low_milli,
                    ..config()
                },
                adaptor: None,
            };
            run_near(bucket, &cut, &bursts, &near)
        }
    };
    Figures::of_waits(&ran, 0, cell.traffic.seconds * SECOND)
}

/// The reference's waits in milliseconds: without borrowing, and by the time one way takes.
const TOLD: [(usize, [f64; 5]); 4] = [
    (2, [2.25, 0.30, 0.36, 0.69, 1.56]),
    (4, [6.63, 0.79, 1.11, 2.37, 10.2]),
    (6, [11.37, 1.23, 1.79, 4.64, 15.3]),
    (12, [28.3, 2.12, 4.19, 13.9, 30.3]),
];
const WAYS_US: [u64; 4] = [50, 200, 1_000, 5_000];

fn all_cells(seconds: u64) -> Vec<Cell> {
    let mut cells = delay_cells(seconds);
    cells.extend(depth_cells(seconds));
    cells
}

fn way(us: u64) -> String {
    format!("{} ms", us as f64 / 1e3)
}

fn delay_cells(seconds: u64) -> Vec<Cell> {
    let traffic = PublisherTraffic::alone(1_000, 1, Pattern::Poisson, seconds);
    let cell = |series: String, brokers: usize, borrow, reference| Cell {
        figure: DELAYS,
        series,
        x: brokers as f64,
        traffic,
        burst: Some(25),
        brokers,
        is_aware: false,
        borrow,
        reference,
    };
    let mut cells = vec![cell("static".to_owned(), 1, None, Some(0.0))];
    for (brokers, told) in TOLD {
        let [cut, ways @ ..] = told;
        cells.push(cell("static".to_owned(), brokers, None, Some(cut)));
        for (us, told) in WAYS_US.into_iter().zip(ways) {
            let borrow = Some((us, Borrow::Always, 0));
            cells.push(cell(
                format!("borrow {}", way(us)),
                brokers,
                borrow,
                Some(told),
            ));
        }
        let near = Some((5_000, Borrow::Near, 0));
        cells.push(cell("near 5 ms".to_owned(), brokers, near, None));
    }
    for (us, told) in [(50, 0.64), (200, 1.22), (1_000, 4.61)] {
        let borrow = Some((us, Borrow::Always, 2_000));
        cells.push(cell(format!("below 2, {}", way(us)), 6, borrow, Some(told)));
    }
    cells.sort_by(|one, two| one.series.cmp(&two.series));
    cells
}

fn depth_cells(seconds: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut pair = |name: &str, x: f64, traffic, burst, is_aware, told: [f64; 2]| {
        let borrow = Some((200, Borrow::Always, 0));
        for (kind, borrow, told) in [("static", None, told[0]), ("borrow", borrow, told[1])] {
            cells.push(Cell {
                figure: DEPTHS,
                series: format!("{kind}, {name}"),
                x,
                traffic,
                burst,
                brokers: 6,
                is_aware,
                borrow,
                reference: Some(told),
            });
        }
    };
    let alone = |publishers| PublisherTraffic::alone(publishers, 1, Pattern::Poisson, seconds);
    for (burst, told) in [(25, [11.7, 1.86]), (50, [9.4, 0.46]), (100, [4.9, 0.0])] {
        pair("10k", burst as f64, alone(1_000), Some(burst), false, told);
    }
    for (burst, told) in [(25, [1.86, 0.88]), (100, [0.72, 0.0])] {
        pair("60k", burst as f64, alone(6_000), Some(burst), false, told);
    }
    let groups = |pattern| PublisherTraffic::groups(20, pattern, seconds);
    for (pattern, is_aware, x, told) in [
        (Pattern::Periodic, false, 1_227.0, [36.0, 4.8]),
        (Pattern::Periodic, true, 1_227.0, [9.8, 1.6]),
        (Pattern::Poisson, false, 3_656.0, [28.6, 5.6]),
        (Pattern::Poisson, true, 3_656.0, [1.28, 0.63]),
    ] {
        let who = if is_aware { "aware" } else { "blind" };
        let name = format!("groups of 20, {}, {who}", pattern.name());
        pair(&name, x, groups(pattern), None, is_aware, told);
    }
    cells.sort_by(|one, two| one.series.cmp(&two.series));
    cells
}

fn bars(rows: &[SplitRow]) -> Vec<Bar> {
    let at = |figure, series, x| find(rows, figure, series, x);
    let six = at(DELAYS, "borrow 0.2 ms", 6.0);
    let deep = at(DEPTHS, "borrow, 10k", 100.0);
    let violations: u64 = rows.iter().filter_map(|row| row.violations).sum();
    let p99 = |row: Option<&SplitRow>| row.and_then(|row| row.p99_ms);
    let control = deep.and_then(|row| row.control_per_message);
    vec![
        bar(
            "S10 borrowing, k = 6, b = 25, 0.2 ms",
            "p99 ≤ 2.5 ms, 0 violations",
            format!("{} ms, {violations} in all rows", two(p99(six))),
            p99(six).map(|ms| ms <= 2.5 && violations == 0),
        ),
        bar(
            "S11 borrowing, k = 6, b = 100, 0.2 ms",
            "p99 ≤ 0.1 ms, control ≤ 0.03 per message",
            format!(
                "{} ms, {}",
                two(p99(deep)),
                control.map_or_else(String::new, |control| format!("{control:.4}"))
            ),
            p99(deep)
                .zip(control)
                .map(|(ms, control)| ms <= 0.1 && control <= 0.03),
        ),
    ]
}
