//! Traffic the thesis does not have, and our designs with other knobs.
//!
//! Not here: anything of the thesis.

use tollgate_gossip::Ratio;

use super::cells::{LIMITED, Making};
use super::figures::View;
use super::plan::{Plan, Variant};
use super::thesis::{CURVES, usual};
use crate::contender::Contender::{self, Counter, CounterFixed, Home, QueueFreq, Segments};

pub(super) fn drip() -> Plan {
    let names = [
        ("drip-1.11", "drip at 1.11"),
        ("drip-1.5", "drip at 1.5"),
        ("drip-2.2", "drip at 2.2"),
        ("drip-5", "drip at 5"),
    ];
    Plan {
        title: "A user a little above the refill".to_owned(),
        about: "Requests at a fixed rate, in multiples of the refill, until well after the bucket ran out. Spread over 30 \
                nodes, each sees hardly anything."
            .to_owned(),
        ..some(&names, &[Counter, Segments, Home], &[View::Difference])
    }
}

pub(super) fn idle() -> Plan {
    Plan {
        title: "Long pauses, then a burst".to_owned(),
        about: "Three single requests 1000 s apart, then five bursts in ten seconds. A limit that adds up its refills has \
                grown to several buckets by then."
            .to_owned(),
        ..some(&[("idle", "idle")], &[Counter, CounterFixed, QueueFreq, Segments, Home], &[View::Difference])
    }
}

pub(super) fn split() -> Plan {
    Plan {
        title: "Half of the nodes see what looks harmless".to_owned(),
        about: "Half of the nodes get their exact share of the refill and half get twice that, for 1000 s; then three \
                bursts come."
            .to_owned(),
        ..some(&[("split", "split")], &[Counter, Segments, Home], &CURVES)
    }
}

pub(super) fn shapes() -> Plan {
    let names = [("mob", "mob"), ("two", "two"), ("drip", "drip")];
    Plan {
        title: "A mob, two users in turn, a steady drip".to_owned(),
        about: "Shapes of traffic that no design was tuned on.".to_owned(),
        ..some(&names, &[Counter, Segments, Home], &CURVES)
    }
}

fn some(names: &[(&str, &str)], designs: &[Contender], views: &[View]) -> Plan {
    let cells = names
        .iter()
        .filter_map(|(name, label)| Making::of(name, label));
    usual(cells.map(|making| making.plain(designs)).collect(), views)
}

pub(super) fn variants() -> Plan {
    let cells = LIMITED
        .iter()
        .filter_map(|(name, label)| Making::of(name, label));
    Plan {
        title: "Home and segments with other knobs".to_owned(),
        about: "Beta is how much of the room a node keeps to itself, k the tokens left at which nodes tell each other \
                directly; bare is without copies and repetitions, for a transport that loses nothing."
            .to_owned(),
        ..usual(cells.map(|making| making.clone().variants(tuned(&making))).collect(), &[])
    }
}

fn tuned(making: &Making) -> Vec<Variant> {
    let beta = |(name, design), over, under| {
        making.tuned(name, design, |knobs| {
            knobs.beta = Some(Ratio::new(over, under));
        })
    };
    let direct = |name, k| making.tuned(name, Home, |knobs| knobs.direct = k);
    vec![
        Variant::plain(Counter),
        Variant::plain(Segments),
        beta(("segments beta 0", Segments), 0, 1),
        beta(("segments beta 1", Segments), 1, 1),
        beta(("segments beta 1.5", Segments), 3, 2),
        segments_bare(making),
        Variant::plain(Home),
        beta(("home beta 0", Home), 0, 1),
        beta(("home beta 1", Home), 1, 1),
        direct("home k = 0", Some(0)),
        direct("home k = 5", Some(5)),
        direct("home k = 20", Some(20)),
        direct("home k auto", None),
        home_bare(making),
    ]
}

/// Segments without copies and repair.
pub(super) fn segments_bare(making: &Making) -> Variant {
    making.tuned("segments bare", Segments, |knobs| {
        knobs.buddy = false;
        knobs.digest = tollgate_limit::Span::ZERO;
    })
}

/// Home without standby, copies and repetitions.
pub(super) fn home_bare(making: &Making) -> Variant {
    making.tuned("home bare", Home, |knobs| {
        knobs.standby = false;
        knobs.repeat = false;
    })
}
