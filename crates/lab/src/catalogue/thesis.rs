//! The data sets of the thesis, with every design.
//!
//! Not here: its figures.

use super::cells::{Making, ms};
use super::contender::{BOTH, COUNTER, FIXED, FREQ, HOME, LINF, QUEUE, SEGMENTS};
use super::figures::View;
use super::plan::{Cell, Plan};
use crate::world::Contender;

const EVERY: [Contender; 7] = [COUNTER, QUEUE, LINF, FREQ, BOTH, SEGMENTS, HOME];
pub(super) const CURVES: [View; 4] = [
    View::Rejections,
    View::Difference,
    View::Memory,
    View::Bandwidth,
];

pub(super) fn a() -> Plan {
    let cells = Making::of("a", "A").map(|making| making.plain(&EVERY));
    Plan {
        title: "Ten limited users in five minutes".to_owned(),
        about: "Ten users send 68.3 bursts in five minutes, each more than its bucket gives. The thesis compares here its \
                counter with the queue and its extensions."
            .to_owned(),
        ..usual(cells.into_iter().collect(), &CURVES)
    }
}

pub(super) fn b() -> Plan {
    let names = [
        ("b-extreme", "B-extreme"),
        ("b-substantial", "B-substantial"),
        ("b-barely", "B-barely"),
        ("b-calm", "B-calm"),
    ];
    let cells = names
        .iter()
        .filter_map(|(name, label)| Making::of(name, label));
    Plan {
        title: "One user: extreme, substantial, barely limited, calm".to_owned(),
        about: "One user sends 21.5, 3.2 or 1.1 bursts in a minute, or a little less than the refill for two. How soon a \
                cluster notices, and what it says to itself meanwhile."
            .to_owned(),
        ..usual(cells.map(|making| making.plain(&EVERY)).collect(), &CURVES)
    }
}

pub(super) fn c() -> Plan {
    let designs = [COUNTER, QUEUE, BOTH, SEGMENTS, HOME];
    let cells = Making::of("c", "C").map(|making| making.plain(&designs));
    Plan {
        title: "5000 users in an hour".to_owned(),
        about: "Most users send a few requests, three in a thousand too many. What it costs to know them all.".to_owned(),
        ..usual(cells.into_iter().collect(), &[View::Rejections, View::Memory, View::Bandwidth, View::Users])
    }
}

pub(super) fn d() -> Plan {
    let designs = [COUNTER, FIXED, QUEUE, LINF, FREQ, SEGMENTS, HOME];
    Plan {
        title: "A little faster than the refill, under three gossip intervals".to_owned(),
        about: "One request every 0.9 s against a bucket of five that regains one token a second: only who knows nearly \
                everything notices. The central bucket rejects eight."
            .to_owned(),
        ..usual(intervals(&designs), &[View::Refusals, View::Difference])
    }
}

/// Set D under the three intervals.
pub(super) fn intervals(designs: &[Contender]) -> Vec<Cell> {
    let one = |millis: u64| {
        let making = Making::of("d", &format!("D, gossip {millis} ms"))?;
        let slower = making.cluster(|cluster| cluster.knobs.interval = ms(millis));
        Some(slower.plain(designs))
    };
    [300, 450, 900].into_iter().filter_map(one).collect()
}

/// A plan with the usual parameters told.
pub(super) fn usual(cells: Vec<Cell>, views: &[View]) -> Plan {
    let mut parameters = Vec::new();
    if let Some(cell) = cells.first() {
        let bucket = cell.cluster.bucket;
        let regain_s = bucket.time_for(bucket.capacity()).as_nanos() / 1_000_000_000;
        parameters.push(("nodes".to_owned(), cell.cluster.nodes.to_string()));
        parameters.push(("capacity".to_owned(), bucket.burst().to_string()));
        parameters.push(("refill".to_owned(), format!("all in {regain_s} s")));
        let gossip_ms = cell.cluster.knobs.interval.as_nanos() / 1_000_000;
        parameters.push(("gossip".to_owned(), format!("{gossip_ms} ms")));
    }
    Plan {
        name: String::new(),
        title: String::new(),
        about: String::new(),
        parameters,
        cells,
        views: views.to_vec(),
    }
}
