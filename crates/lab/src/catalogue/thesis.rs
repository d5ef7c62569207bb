//! The data sets of the thesis, with every design.
//!
//! Not here: its figures.

use super::cells::{Making, ms};
use super::figures::View;
use super::plan::{ExperimentCell, ExperimentPlan};
use crate::contender::Contender::{
    self, Counter, CounterFixed, Links, Queue, QueueFreq, QueueFreqLinf, QueueLinf,
};

pub(super) const EVERY: [Contender; 6] =
    [Counter, Queue, QueueLinf, QueueFreq, QueueFreqLinf, Links];
pub(super) const CURVES: [View; 4] = [
    View::Rejections,
    View::Difference,
    View::Memory,
    View::Bandwidth,
];

pub(super) fn a() -> ExperimentPlan {
    let cells = Making::of("a", "A").map(|making| making.plain(&EVERY));
    ExperimentPlan {
        title: "Ten limited users in five minutes".to_owned(),
        about: "Ten users send 68.3 bursts in five minutes, each more than its bucket gives. The thesis compares here its \
                counter with the queue and its extensions."
            .to_owned(),
        ..usual(cells.into_iter().collect(), &CURVES)
    }
}

pub(super) fn b() -> ExperimentPlan {
    let names = [
        ("b-extreme", "B-extreme"),
        ("b-substantial", "B-substantial"),
        ("b-barely", "B-barely"),
        ("b-calm", "B-calm"),
    ];
    let cells = names
        .iter()
        .filter_map(|(name, label)| Making::of(name, label));
    ExperimentPlan {
        title: "One user: extreme, substantial, barely limited, calm".to_owned(),
        about: "One user sends 21.5, 3.2 or 1.1 bursts in a minute, or a little less than the refill for two. How soon a \
                cluster notices, and what it says to itself meanwhile."
            .to_owned(),
        ..usual(cells.map(|making| making.plain(&EVERY)).collect(), &CURVES)
    }
}

pub(super) fn c() -> ExperimentPlan {
    let designs = [Counter, Queue, QueueFreqLinf, Links];
    let cells = Making::of("c", "C").map(|making| making.plain(&designs));
    ExperimentPlan {
        title: "5000 users in an hour".to_owned(),
        about: "Most users send a few requests, three in a thousand too many. What it costs to know them all.".to_owned(),
        ..usual(cells.into_iter().collect(), &[View::Rejections, View::Memory, View::Bandwidth, View::Users])
    }
}

pub(super) fn d() -> ExperimentPlan {
    let designs = [Counter, CounterFixed, Queue, QueueLinf, QueueFreq, Links];
    ExperimentPlan {
        title: "A little faster than the refill, under three gossip intervals".to_owned(),
        about: "One request every 0.9 s against a bucket of five that regains one token a second: only who knows nearly \
                everything notices. The central bucket rejects eight."
            .to_owned(),
        ..usual(intervals(&designs), &[View::Refusals, View::Difference])
    }
}

/// Set D under the three intervals.
pub(super) fn intervals(designs: &[Contender]) -> Vec<ExperimentCell> {
    let one = |millis: u64| {
        let making = Making::of("d", &format!("D, gossip {millis} ms"))?;
        let slower = making.cluster(|cluster| cluster.knobs.interval = ms(millis));
        Some(slower.plain(designs))
    };
    [300, 450, 900].into_iter().filter_map(one).collect()
}

type Tell = fn(&ExperimentCell) -> String;

/// A plan with the usual parameters told, as far as all cells share them.
pub(super) fn usual(cells: Vec<ExperimentCell>, views: &[View]) -> ExperimentPlan {
    let told: [(&str, Tell); 4] = [
        ("nodes", |cell| cell.cluster.nodes.to_string()),
        ("capacity", |cell| cell.cluster.bucket.burst().to_string()),
        ("refill", |cell| {
            let bucket = cell.cluster.bucket;
            let regain = bucket.time_for(bucket.capacity());
            format!("all in {} s", regain.as_nanos() / 1_000_000_000)
        }),
        ("gossip", |cell| {
            let interval = cell.cluster.knobs.interval;
            format!("{} ms", interval.as_nanos() / 1_000_000)
        }),
    ];
    let parameters = told.into_iter().filter_map(|(name, tell)| {
        let mut values: Vec<String> = cells.iter().map(tell).collect();
        values.dedup();
        let value = match values.as_slice() {
            [] => return None,
            [one] => one.clone(),
            _ => "several".to_owned(),
        };
        Some((name.to_owned(), value))
    });
    ExperimentPlan {
        name: String::new(),
        title: String::new(),
        about: String::new(),
        parameters: parameters.collect(),
        cells,
        views: views.to_vec(),
    }
}
