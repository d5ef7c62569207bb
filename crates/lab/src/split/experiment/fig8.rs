//! Figure 8: brokers that carry something already, and parts that are as large as can be.
//!
//! Not here: idle brokers.

use tollgate_split::plan::place::{Broker, BrokerShare, Principles, distribute, quotas};

use super::{Drawn, WORST, bar, cells, find, finish, ours, parameters, profiled, two};
use crate::catalogue::RunRequest;
use crate::report::{PlotFigure, Report};
use crate::split::broker::Beside;
use crate::split::measure::{Figures, Placed};
use crate::split::row::SplitRow;
use crate::split::traffic::{Pattern, PublisherTraffic};

const SECONDS: u64 = 60;
const PUBLISHERS: [u32; 5] = [1_000, 2_000, 4_000, 6_000, 8_000];
/// What brokers carry already, in thousands of messages per second, in batches of ten.
const LOADS: [u64; 6] = [10, 40, 50, 60, 70, 80];
const BESIDE_BATCH: u32 = 10;
/// What a broker is taken to carry.
const CAPACITY: u64 = 64;
const LEVEL: &str = "concentrated";
const MAX_MIN: &str = "max-min";
const THIRDS: &str = "8 thirds";

/// A panel, and the reference's times of the slowest broker with 6,000 and 8,000 publishers: concentrated, max-min.
struct Panel {
    name: &'static str,
    pattern: Pattern,
    batch: u32,
    told: [(f64, f64); 2],
}

#[rustfmt::skip]
const PANELS: [Panel; 4] = [
    Panel { name: "8 Poisson, batch 1", pattern: Pattern::Poisson, batch: 1, told: [(1.54, 0.99), (2.03, 1.86)] },
    Panel { name: "8 periodic, batch 1", pattern: Pattern::Periodic, batch: 1, told: [(1.13, 0.55), (2.37, 1.91)] },
    Panel { name: "8 Poisson, batch 10", pattern: Pattern::Poisson, batch: 10, told: [(15.2, 4.1), (20.8, 20.2)] },
    Panel { name: "8 periodic, batch 10", pattern: Pattern::Periodic, batch: 10, told: [(8.0, 2.1), (20.2, 15.7)] },
];

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut tasks: Vec<Task<'_>> = PANELS
        .iter()
        .flat_map(|panel| PUBLISHERS.map(move |count| (panel, count, false)))
        .collect();
    tasks.extend(PANELS.first().map(|panel| (panel, 8_000, true)));
    let found = cells(&tasks, seeds, ask, |(panel, count, is_thirds), seed| {
        run_cell(panel, *count, *is_thirds, seed)
    });
    let rows = rows_of(&tasks, &found);
    let whole = quotas_add_up();
    let time = |figure, series, x| find(&rows, figure, series, x).and_then(ours);
    let never_worse = PANELS.iter().all(|panel| {
        [6_000.0, 8_000.0]
            .iter()
            .all(|x| time(panel.name, MAX_MIN, *x) <= time(panel.name, LEVEL, *x))
    });
    finish(Report {
        title: "Figure 8: max-min".to_owned(),
        about: "x publishers on brokers that carry 10, 40, 50, 60, 70 and 80 thousand messages a second already, in batches of ten, of 64 thousand each. \
                Concentrated: as few brokers as have room, levelled. Max-min: the smallest part is as large as can be. The slowest broker is compared."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("seconds", "60")]),
        bars: vec![
            bar(
                "S9 quotas add up to the topic",
                "100 %",
                format!("{whole:.1} %"),
                Some((whole - 100.0).abs() < 1e-9),
            ),
            bar(
                "figure 8: max-min is never slower, at 6,000 and 8,000",
                "8 of 8 cells",
                format!(
                    "thirds: {} → {} ms (paper 1.50 → 0.87)",
                    two(time(THIRDS, LEVEL, 8_000.0)),
                    two(time(THIRDS, MAX_MIN, 8_000.0))
                ),
                Some(never_worse),
            ),
        ],
        figures: PANELS.iter().map(|panel| drawn(panel, &rows)).collect(),
        conclusion: format!(
            "With 6,000 publishers and single messages the slowest broker takes {} ms levelled and {} ms by max-min.",
            two(time("8 Poisson, batch 1", LEVEL, 6_000.0)),
            two(time("8 Poisson, batch 1", MAX_MIN, 6_000.0))
        ),
        split: rows,
        ..Report::default()
    })
}

/// A panel, how many publishers, and whether three brokers share evenly.
type Task<'a> = (&'a Panel, u32, bool);

fn rows_of(tasks: &[Task<'_>], found: &[Vec<Vec<Figures>>]) -> Vec<SplitRow> {
    let mut rows = Vec::new();
    for (at, series) in [LEVEL, MAX_MIN].into_iter().enumerate() {
        for ((panel, count, is_thirds), runs) in tasks.iter().zip(found) {
            let own: Vec<Figures> = runs.iter().filter_map(|run| run.get(at).cloned()).collect();
            let pick = |pair: (f64, f64)| if at == 0 { pair.0 } else { pair.1 };
            let told = match (count, is_thirds) {
                (_, true) => Some((2.25, 1.16)),
                (6_000, _) => panel.told.first().copied(),
                (8_000, _) => panel.told.get(1).copied(),
                _ => None,
            };
            let paper = is_thirds.then_some((1.50, 0.87));
            let figure = if *is_thirds { THIRDS } else { panel.name };
            let row = SplitRow::of(figure, series, f64::from(*count), WORST, &own);
            rows.push(row.told(paper.map(pick), told.map(pick)));
        }
    }
    rows.sort_by(|one, two| one.figure.cmp(&two.figure));
    rows
}

fn drawn(panel: &Panel, rows: &[SplitRow]) -> PlotFigure {
    Drawn {
        figure: panel.name,
        title: &format!("Figure {}", panel.name),
        x: "publishers",
        y: "slowest broker, 99th percentile, ms",
        y_log: true,
    }
    .draw(rows, ours)
}

const CONCENTRATED: Principles = Principles {
    max_min: false,
    correlation: false,
    concentration: true,
};
const LARGE_PARTS: Principles = Principles {
    max_min: true,
    ..CONCENTRATED
};

fn brokers() -> Vec<Broker> {
    let one = |load: u64| Broker {
        capacity: CAPACITY.max(load) * 1_000_000,
        load: load * 1_000_000,
    };
    LOADS.map(one).into()
}

/// What all quotas are of the topic, in percent: the furthest off of all numbers of publishers.
fn quotas_add_up() -> f64 {
    let percent = |count: u32| {
        let rate = u64::from(count) * 10_000;
        let places = quotas(rate, &brokers(), LARGE_PARTS, 1).unwrap_or_default();
        let sum: u64 = places.iter().map(|place| place.quota).sum();
        #[allow(clippy::cast_precision_loss, reason = "a percentage")]
        let part = 100.0 * sum as f64 / rate as f64;
        part
    };
    let all = (100..=9_000).step_by(100).map(percent);
    all.max_by(|one, two| (one - 100.0).abs().total_cmp(&(two - 100.0).abs()))
        .unwrap_or(0.0)
}

/// Concentrated, and by max-min.
fn run_cell(panel: &Panel, count: u32, is_thirds: bool, seed: u64) -> Vec<Figures> {
    let traffic = PublisherTraffic::alone(count, panel.batch, panel.pattern, SECONDS);
    let bursts = traffic.bursts(seed);
    let bucket = profiled(&bursts, 100);
    let publishers = traffic.publishers();
    let beside = LOADS.map(|load| Beside {
        rate: load * 1_000,
        batch: BESIDE_BATCH,
    });
    let place = |principles: Principles| -> Vec<BrokerShare> {
        let mut brokers = brokers();
        if is_thirds && principles.max_min {
            // So much room that three are as good as each other.
            brokers.truncate(3);
            for broker in &mut brokers {
                broker.capacity *= 4;
            }
            return distribute(&publishers, &brokers, principles, 3, seed).unwrap_or_default();
        }
        distribute(&publishers, &brokers, principles, 1, seed).unwrap_or_default()
    };
    [CONCENTRATED, LARGE_PARTS]
        .map(place)
        .iter()
        .map(|places| {
            Placed {
                beside: &beside,
                ..Placed::new(bucket, &publishers, places)
            }
            .measure(&bursts, seed)
        })
        .collect()
}
