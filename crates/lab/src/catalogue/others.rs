//! Traffic the thesis does not have, and links with other knobs.
//!
//! Not here: anything of the thesis.

use tollgate_gossip::Ratio;

use super::cells::{LIMITED, Making};
use super::figures::View;
use super::plan::{ExperimentPlan, Variant};
use super::thesis::{CURVES, usual};
use crate::contender::Contender::{self, Counter, CounterFixed, Links, QueueFreq};

pub(super) fn drip() -> ExperimentPlan {
    let names = [
        ("drip-1.11", "drip at 1.11"),
        ("drip-1.5", "drip at 1.5"),
        ("drip-2.2", "drip at 2.2"),
        ("drip-5", "drip at 5"),
    ];
    ExperimentPlan {
        title: "A user a little above the refill".to_owned(),
        about: "Requests at a fixed rate, in multiples of the refill, until well after the bucket ran out. Spread over 30 \
                nodes, each sees hardly anything."
            .to_owned(),
        ..some(&names, &[Counter, Links], &[View::Difference])
    }
}

pub(super) fn idle() -> ExperimentPlan {
    ExperimentPlan {
        title: "Long pauses, then a burst".to_owned(),
        about: "Three single requests 1000 s apart, then five bursts in ten seconds. A limit that adds up its refills has \
                grown to several buckets by then."
            .to_owned(),
        ..some(&[("idle", "idle")], &[Counter, CounterFixed, QueueFreq, Links], &[View::Difference])
    }
}

pub(super) fn split() -> ExperimentPlan {
    ExperimentPlan {
        title: "Half of the nodes see what looks harmless".to_owned(),
        about: "Half of the nodes get their exact share of the refill and half get twice that, for 1000 s; then three \
                bursts come."
            .to_owned(),
        ..some(&[("split", "split")], &[Counter, Links], &CURVES)
    }
}

pub(super) fn shapes() -> ExperimentPlan {
    let names = [("mob", "mob"), ("two", "two"), ("drip", "drip")];
    ExperimentPlan {
        title: "A mob, two users in turn, a steady drip".to_owned(),
        about: "Shapes of traffic that no design was tuned on.".to_owned(),
        ..some(&names, &[Counter, Links], &CURVES)
    }
}

fn some(names: &[(&str, &str)], designs: &[Contender], views: &[View]) -> ExperimentPlan {
    let cells = names
        .iter()
        .filter_map(|(name, label)| Making::of(name, label));
    usual(cells.map(|making| making.plain(designs)).collect(), views)
}

pub(super) fn variants() -> ExperimentPlan {
    let cells = LIMITED
        .iter()
        .filter_map(|(name, label)| Making::of(name, label));
    ExperimentPlan {
        title: "Links with other knobs".to_owned(),
        about: "Beta is how much of the room a node keeps to itself; bare is without copies."
            .to_owned(),
        ..usual(
            cells
                .map(|making| making.clone().variants(tuned(&making)))
                .collect(),
            &[],
        )
    }
}

fn tuned(making: &Making) -> Vec<Variant> {
    let beta =
        |name, over, under| making.tuned(name, Links, |knobs| knobs.beta = Ratio::new(over, under));
    vec![
        Variant::plain(Counter),
        Variant::plain(Links),
        beta("links beta 0", 0, 1),
        beta("links beta 0.5", 1, 2),
        beta("links beta 1.5", 3, 2),
        bare(making),
    ]
}

/// Links without copies.
pub(super) fn bare(making: &Making) -> Variant {
    making.tuned("links bare", Links, |knobs| knobs.buddy = false)
}
