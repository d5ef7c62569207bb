//! What goes wrong between nodes and in them, alone and all at once. Messages take 5 ms throughout.
//!
//! Not here: faults that are turned up step by step.

use super::cells::{LIMITED, Making, crash, delay, ms, outage};
use super::plan::{ExperimentCell, ExperimentPlan, Variant};
use super::sweeps::reordering;
use super::thesis::usual;
use super::told_faults::FAULTS;
use crate::contender::Contender::{self, Counter, Links, QueueFreq};
use crate::world::{Routing, WorldFault};

pub(super) struct Trouble {
    pub(super) name: &'static str,
    pub(super) faults: Vec<WorldFault>,
    pub(super) routing: Routing,
    /// Whether a node dies when the bucket runs out, which is not at the same time in every set.
    pub(super) kills: bool,
}

fn trouble(name: &'static str, faults: Vec<WorldFault>) -> Trouble {
    Trouble {
        name,
        faults,
        routing: Routing::Hash,
        kills: false,
    }
}

/// Everything that goes wrong on the way.
pub(super) fn on_the_way() -> Vec<Trouble> {
    let half = Trouble {
        routing: Routing::HotNode,
        ..trouble("half on one node", vec![delay(5)])
    };
    vec![
        trouble("none", vec![delay(5)]),
        trouble("5 % loss", vec![delay(5), WorldFault::Loss(50_000)]),
        trouble("20 % loss", vec![delay(5), WorldFault::Loss(200_000)]),
        trouble("50 % loss", vec![delay(5), WorldFault::Loss(500_000)]),
        trouble(
            "20 % twice, 40 ms reordering",
            vec![reordering(5, ms(40)), WorldFault::Duplication(200_000)],
        ),
        trouble(
            "clocks off by 50 ms",
            vec![delay(5), WorldFault::Skew(ms(50))],
        ),
        half,
    ]
}

/// Nodes that lose their memory or are gone for a while.
pub(super) fn in_nodes() -> Vec<Trouble> {
    let five = [(3, 10), (9, 20), (15, 30), (21, 40), (27, 50)];
    let many = five.into_iter().map(|(node, at_s)| crash(node, at_s));
    let down = |node, at_s: u64| outage(node, ms(at_s * 1000), ms(20_000));
    vec![
        trouble("one crash", vec![delay(5), crash(SOME, 30)]),
        trouble(
            "five crashes",
            std::iter::once(delay(5)).chain(many).collect(),
        ),
        trouble("one down 20 s", vec![delay(5), down(SOME, 20)]),
        // The second keeps copies of what the first kept to itself.
        trouble(
            "neighbours down 20 s",
            vec![delay(5), down(SOME, 20), down(SOME + 1, 25)],
        ),
        Trouble {
            kills: true,
            ..trouble("one dies at exhaustion", vec![delay(5)])
        },
    ]
}

/// Some node.
const SOME: u16 = 7;

/// About when a limited user of set B has used up its bucket: burst / (rate - refill).
fn exhausted_ms(label: &str) -> u64 {
    match label {
        "B-extreme" => 2_800,
        "B-substantial" => 19_100,
        _ => 57_700,
    }
}

/// Loss, duplication, reordering, skew and a crash.
pub(super) fn together() -> Trouble {
    trouble(
        "all together",
        vec![
            reordering(5, ms(40)),
            WorldFault::Loss(50_000),
            WorldFault::Duplication(200_000),
            WorldFault::Skew(ms(50)),
            crash(SOME, 30),
        ],
    )
}

pub(super) fn crashes() -> ExperimentPlan {
    ExperimentPlan {
        title: "Nodes that lose their memory, or are gone for a while".to_owned(),
        about: "Nodes restart empty at once, or come back empty after twenty seconds; their requests go to a neighbour \
                meanwhile. Messages take 5 ms."
            .to_owned(),
        ..usual(cells(&in_nodes(), &[Counter, Links]), &[])
    }
}

pub(super) fn all() -> ExperimentPlan {
    let mut troubles = on_the_way();
    troubles.extend(in_nodes());
    troubles.push(together());
    ExperimentPlan {
        title: "Loss, duplication, reordering, skew, crashes, and all together".to_owned(),
        about:
            "The three limited users of set B under everything that goes wrong. Messages take 5 ms."
                .to_owned(),
        ..usual(cells(&troubles, &[Counter, QueueFreq, Links]), &[])
    }
}

fn cells(troubles: &[Trouble], designs: &[Contender]) -> Vec<ExperimentCell> {
    let of_trouble = |trouble: &Trouble| -> Vec<ExperimentCell> {
        let one = |(name, label)| {
            let making = making(name, label, trouble)?;
            let bare = super::others::bare(&making);
            let mut variants: Vec<_> = designs.iter().copied().map(Variant::plain).collect();
            variants.push(bare);
            Some(making.variants(variants))
        };
        LIMITED.into_iter().filter_map(one).collect()
    };
    troubles.iter().flat_map(of_trouble).collect()
}

/// A set under a fault.
pub(super) fn making(name: &str, label: &str, trouble: &Trouble) -> Option<Making> {
    let making = Making::of(name, label)?;
    let making = making.labelled(format!("{label}, {}", trouble.name), FAULTS);
    let routing = trouble.routing;
    let making = making
        .with_all(&trouble.faults)
        .cluster(|cluster| cluster.routing = routing);
    if !trouble.kills {
        return Some(making);
    }
    Some(making.with(outage(SOME, ms(exhausted_ms(label)), ms(20_000))))
}
