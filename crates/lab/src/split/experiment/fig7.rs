//! Figure 7: as few brokers as can carry the topic, or all six.
//!
//! Not here: brokers that carry something already.

use tollgate_split::plan::place::{Broker, Principles, distribute};

use super::{Drawn, P99, bar, cells, find, finish, ours, parameters, profiled};
use crate::catalogue::RunRequest;
use crate::report::{PlotFigure, Report};
use crate::split::measure::{Figures, Placed};
use crate::split::row::SplitRow;
use crate::split::traffic::{Pattern, PublisherTraffic};

const SECONDS: u64 = 60;
const PUBLISHERS: [u32; 6] = [1_000, 2_000, 4_000, 6_000, 8_000, 10_000];
const BALANCED: &str = "balanced over 6";
const CONCENTRATED: &str = "concentrated";

/// A panel: who sends how, and the reference's times, balanced and concentrated.
struct Panel {
    name: &'static str,
    pattern: Pattern,
    batch: u32,
    told: [(f64, f64); 6],
}

#[rustfmt::skip]
const PANELS: [Panel; 4] = [
    Panel { name: "7 Poisson, batch 1", pattern: Pattern::Poisson, batch: 1,
        told: [(10.3, 0.36), (5.9, 0.38), (2.9, 0.43), (2.2, 0.67), (1.8, 0.59), (1.4, 0.56)] },
    Panel { name: "7 Poisson, batch 10", pattern: Pattern::Poisson, batch: 10,
        told: [(67.0, 0.44), (44.0, 0.45), (31.0, 0.48), (19.0, 0.55), (12.0, 0.61), (11.0, 0.73)] },
    Panel { name: "7 periodic, batch 1", pattern: Pattern::Periodic, batch: 1,
        told: [(5.1, 0.35), (2.8, 0.37), (2.2, 0.42), (1.6, 0.53), (1.4, 0.64), (1.3, 0.57)] },
    Panel { name: "7 periodic, batch 10", pattern: Pattern::Periodic, batch: 10,
        told: [(46.0, 0.41), (24.0, 0.44), (19.0, 0.46), (13.0, 0.50), (11.0, 0.58), (9.4, 0.68)] },
];

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let tasks: Vec<(&Panel, u32)> = PANELS
        .iter()
        .flat_map(|panel| PUBLISHERS.map(move |count| (panel, count)))
        .collect();
    let found = cells(&tasks, seeds, ask, |(panel, count), seed| {
        run_cell(panel, *count, seed)
    });
    let mut rows = Vec::new();
    for (at, series) in [BALANCED, CONCENTRATED].into_iter().enumerate() {
        for ((panel, count), runs) in tasks.iter().zip(&found) {
            let own: Vec<Figures> = runs.iter().filter_map(|run| run.get(at).cloned()).collect();
            let told = PUBLISHERS
                .iter()
                .position(|own| own == count)
                .and_then(|at| panel.told.get(at));
            let told = told
                .map(|(balanced, concentrated)| if at == 0 { *balanced } else { *concentrated });
            let x = f64::from(*count);
            rows.push(SplitRow::of(panel.name, series, x, P99, &own).told(None, told));
        }
    }
    rows.sort_by(|one, two| one.figure.cmp(&two.figure));
    let time = |panel: &Panel, series, count: u32| {
        find(&rows, panel.name, series, f64::from(count)).and_then(ours)
    };
    let good = tasks
        .iter()
        .filter(|(panel, count)| {
            time(panel, CONCENTRATED, *count).is_some_and(|ms| ms <= 1.0)
                && time(panel, BALANCED, *count).is_some_and(|ms| ms > 1.0)
        })
        .count();
    finish(Report {
        title: "Figure 7: concentration".to_owned(),
        about: "x publishers with ten messages a second each on idle brokers; b as the trace needs it. Balanced: evenly over six. Concentrated: as few as \
                can carry the topic, taken as 55,000 single messages a second each, or 160,000 in batches of ten."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("seconds", "60")]),
        bars: vec![bar(
            "S6 concentration keeps 1 ms, balancing never does",
            "24 of 24",
            format!("{good} of {}", tasks.len()),
            Some(good == tasks.len()),
        )],
        figures: PANELS.iter().map(|panel| drawn(panel, &rows)).collect(),
        conclusion: format!(
            "In {good} of {} cells concentration keeps a millisecond at the 99th percentile and balancing does not; the penalty falls with the rate and \
             grows with the batch.",
            tasks.len()
        ),
        split: rows,
        ..Report::default()
    })
}

fn drawn(panel: &Panel, rows: &[SplitRow]) -> PlotFigure {
    Drawn {
        figure: panel.name,
        title: &format!("Figure {}", panel.name),
        x: "publishers",
        y: "end to end, 99th percentile, ms",
        y_log: true,
    }
    .draw(rows, ours)
}

/// Balanced, and concentrated.
fn run_cell(panel: &Panel, count: u32, seed: u64) -> Vec<Figures> {
    let traffic = PublisherTraffic::alone(count, panel.batch, panel.pattern, SECONDS);
    let bursts = traffic.bursts(seed);
    let bucket = profiled(&bursts, 100);
    let publishers = traffic.publishers();
    let broker = Broker {
        capacity: if panel.batch > 1 {
            160_000_000
        } else {
            55_000_000
        },
        load: 0,
    };
    let few = Principles {
        correlation: false,
        ..Principles::ALL
    };
    [Principles::NONE, few]
        .into_iter()
        .map(|principles| {
            let places = distribute(&publishers, &[broker; 6], principles, 1, seed);
            let places = places.unwrap_or_default();
            Placed::new(bucket, &publishers, &places).measure(&bursts, seed)
        })
        .collect()
}
