//! What goes wrong between nodes and in them, alone and all at once. Messages take 5 ms throughout.
//!
//! Not here: faults that are turned up step by step.

use super::cells::{LIMITED, Making, crash, delay, ms, outage};
use super::contender::{COUNTER, FREQ, HOME, SEGMENTS};
use super::plan::{Cell, Plan, Variant};
use super::sweeps::reordering;
use super::thesis::usual;
use super::told_faults::FAULTS;
use crate::world::{Contender, Fault, Routing};

/// A fault by name.
pub(super) struct Trouble {
    pub(super) name: &'static str,
    pub(super) faults: Vec<Fault>,
    pub(super) routing: Routing,
}

fn trouble(name: &'static str, faults: Vec<Fault>) -> Trouble {
    Trouble {
        name,
        faults,
        routing: Routing::Hash,
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
        trouble("5 % loss", vec![delay(5), Fault::Loss(50_000)]),
        trouble("20 % loss", vec![delay(5), Fault::Loss(200_000)]),
        trouble("50 % loss", vec![delay(5), Fault::Loss(500_000)]),
        trouble(
            "20 % twice, 40 ms reordering",
            vec![reordering(5, ms(40)), Fault::Duplication(200_000)],
        ),
        trouble("clocks off by 50 ms", vec![delay(5), Fault::Skew(ms(50))]),
        half,
    ]
}

/// Nodes that lose their memory or are gone for a while.
pub(super) fn in_nodes() -> Vec<Trouble> {
    let five = [(3, 10), (9, 20), (15, 30), (21, 40), (27, 50)];
    let many = five.into_iter().map(|(node, at_s)| crash(node, at_s));
    vec![
        trouble("one crash", vec![delay(5), crash(7, 30)]),
        trouble(
            "five crashes",
            std::iter::once(delay(5)).chain(many).collect(),
        ),
        trouble("a node gone for 20 s", vec![delay(5), outage(7, 20, 20)]),
        trouble(
            "three nodes gone for 20 s",
            vec![
                delay(5),
                outage(3, 20, 20),
                outage(7, 25, 20),
                outage(11, 30, 20),
            ],
        ),
    ]
}

/// Loss, duplication, reordering, skew and a crash.
pub(super) fn together() -> Trouble {
    trouble(
        "all together",
        vec![
            reordering(5, ms(40)),
            Fault::Loss(50_000),
            Fault::Duplication(200_000),
            Fault::Skew(ms(50)),
            crash(7, 30),
        ],
    )
}

pub(super) fn crashes() -> Plan {
    Plan {
        title: "Nodes that lose their memory, or are gone for a while".to_owned(),
        about: "Nodes restart empty at once, or come back empty after twenty seconds; their requests go to a neighbour \
                meanwhile. Messages take 5 ms."
            .to_owned(),
        ..usual(cells(&in_nodes(), &[COUNTER, SEGMENTS, HOME]), &[])
    }
}

pub(super) fn all() -> Plan {
    let mut troubles = on_the_way();
    troubles.extend(in_nodes());
    troubles.push(together());
    Plan {
        title: "Loss, duplication, reordering, skew, crashes, and all together".to_owned(),
        about:
            "The three limited users of set B under everything that goes wrong. Messages take 5 ms."
                .to_owned(),
        ..usual(cells(&troubles, &[COUNTER, FREQ, SEGMENTS, HOME]), &[])
    }
}

fn cells(troubles: &[Trouble], designs: &[Contender]) -> Vec<Cell> {
    let of_trouble = |trouble: &Trouble| -> Vec<Cell> {
        let one = |(name, label)| {
            let making = making((name, label), trouble)?;
            let bare = super::others::segments_bare(&making);
            let mut variants: Vec<_> = designs.iter().copied().map(Variant::plain).collect();
            variants.push(bare);
            Some(making.variants(variants))
        };
        LIMITED.into_iter().filter_map(one).collect()
    };
    troubles.iter().flat_map(of_trouble).collect()
}

/// A set under a fault.
pub(super) fn making((name, label): (&str, &str), trouble: &Trouble) -> Option<Making> {
    let making = Making::of(name, label)?;
    let making = making.labelled(format!("{label}, {}", trouble.name), FAULTS);
    let routing = trouble.routing;
    Some(
        making
            .with_all(&trouble.faults)
            .cluster(|cluster| cluster.routing = routing),
    )
}
