//! What goes wrong between nodes and in them, alone and all at once. Messages take 5 ms throughout.
//!
//! Not here: faults that are turned up step by step.

use tollgate_gossip::Key;

use super::cells::{LIMITED, Making, apart, beside, crash, delay, ms, outage};
use super::plan::{Cell, Plan, Variant};
use super::sweeps::reordering;
use super::thesis::usual;
use super::told_faults::FAULTS;
use crate::contender::Contender::{self, Counter, Home, QueueFreq, Segments};
use crate::world::{Fault, Routing, collectors_of};

/// A fault by name.
pub(super) struct Trouble {
    pub(super) name: &'static str,
    pub(super) faults: Vec<Fault>,
    pub(super) routing: Routing,
    /// Whether the home dies when the bucket runs out, which is not at the same time in every set.
    pub(super) kills_home: bool,
    /// The one user.
    pub(super) key: Key,
}

fn trouble(name: &'static str, faults: Vec<Fault>) -> Trouble {
    Trouble {
        name,
        faults,
        routing: Routing::Hash,
        kills_home: false,
        key: apart(),
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

/// Nodes that lose their memory or are gone for a while. Seven is some node; the home matters only to one design.
pub(super) fn in_nodes() -> Vec<Trouble> {
    let five = [(3, 10), (9, 20), (15, 30), (21, 40), (27, 50)];
    let many = five.into_iter().map(|(node, at_s)| crash(node, at_s));
    let (home, standby) = collectors_of(apart(), 30);
    let (next_home, next_standby) = collectors_of(beside(), 30);
    let down = |node, at_s: u64| outage(node, ms(at_s * 1000), ms(20_000));
    vec![
        trouble("one crash", vec![delay(5), crash(7, 30)]),
        trouble(
            "five crashes",
            std::iter::once(delay(5)).chain(many).collect(),
        ),
        trouble("home loses its memory", vec![delay(5), crash(home, 30)]),
        trouble("home down 20 s", vec![delay(5), down(home, 20)]),
        trouble(
            "home and standby down 20 s",
            vec![delay(5), down(home, 20), down(standby, 25)],
        ),
        // What one of them kept to itself must not be copied to the other.
        Trouble {
            key: beside(),
            ..trouble(
                "home and standby, neighbours, down 20 s",
                vec![delay(5), down(next_home, 20), down(next_standby, 25)],
            )
        },
        Trouble {
            kills_home: true,
            ..trouble("home dies at exhaustion", vec![delay(5)])
        },
    ]
}

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
        ..usual(cells(&in_nodes(), &[Counter, Segments, Home]), &[])
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
        ..usual(cells(&troubles, &[Counter, QueueFreq, Segments, Home]), &[])
    }
}

fn cells(troubles: &[Trouble], designs: &[Contender]) -> Vec<Cell> {
    let of_trouble = |trouble: &Trouble| -> Vec<Cell> {
        let one = |(name, label)| {
            let making = making(name, label, trouble)?;
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
pub(super) fn making(name: &str, label: &str, trouble: &Trouble) -> Option<Making> {
    let making = Making::of(name, label)?;
    let making = making.labelled(format!("{label}, {}", trouble.name), FAULTS);
    let routing = trouble.routing;
    let making = making
        .known(trouble.key)
        .with_all(&trouble.faults)
        .cluster(|cluster| cluster.routing = routing);
    if !trouble.kills_home {
        return Some(making);
    }
    let (home, _) = collectors_of(trouble.key, 30);
    Some(making.with(outage(home, ms(exhausted_ms(label)), ms(20_000))))
}
