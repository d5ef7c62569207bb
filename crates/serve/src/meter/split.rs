//! How cut buckets stand, for Prometheus. Labels are contract and policy, never keys.

#![allow(clippy::cast_precision_loss)] // As Prometheus wants them.

use super::text::{Kind, OfPolicy, Text};
use crate::shared::Shared;
use crate::supply::split::SplitPolicyView;

/// The families of cut buckets; none where no policy is under `split`.
pub(crate) fn split(shared: &Shared) -> String {
    let view = crate::supply::split::view(shared);
    let mut text = Text::new();
    if view.policies.is_empty() {
        return String::new();
    }
    text.of_policies(&POLICIES, &view.policies, |policy| {
        (&policy.contract, &policy.policy)
    });
    text.finish()
}

const POLICIES: [OfPolicy<SplitPolicyView, f64>; 16] = [
    (
        "tollgate_split_rate",
        Kind::Gauge,
        "The rate of the bucket that is cut, messages per second.",
        |p| p.rate,
    ),
    (
        "tollgate_split_own_rate",
        Kind::Gauge,
        "This node's part of it.",
        |p| p.own_rate,
    ),
    (
        "tollgate_split_own_burst",
        Kind::Gauge,
        "This node's part of the depth, in messages.",
        |p| p.own_burst,
    ),
    (
        "tollgate_split_hired_rate",
        Kind::Gauge,
        "Of this node's part, what is hired of other nodes.",
        |p| p.hired_rate,
    ),
    (
        "tollgate_split_let_rate",
        Kind::Gauge,
        "What other nodes have hired of this node's part.",
        |p| p.let_rate,
    ),
    (
        "tollgate_split_tokens",
        Kind::Gauge,
        "Tokens of the first key that is known, as are the next two.",
        |p| p.tokens,
    ),
    (
        "tollgate_split_owed",
        Kind::Gauge,
        "What messages were told to wait for and has not come back yet.",
        |p| p.owed,
    ),
    (
        "tollgate_split_held",
        Kind::Gauge,
        "Room kept for tokens that were given away.",
        |p| p.held,
    ),
    (
        "tollgate_split_keys",
        Kind::Gauge,
        "Keys that are known.",
        |p| p.keys as f64,
    ),
    (
        "tollgate_split_admitted_total",
        Kind::Counter,
        "Messages that were admitted.",
        |p| p.counts.admitted as f64,
    ),
    (
        "tollgate_split_delayed_total",
        Kind::Counter,
        "Of these, those that were told to wait.",
        |p| p.counts.delayed as f64,
    ),
    (
        "tollgate_split_asks_total",
        Kind::Counter,
        "Asks for tokens of other nodes.",
        |p| p.counts.asks as f64,
    ),
    (
        "tollgate_split_hits_total",
        Kind::Counter,
        "Asks that got some.",
        |p| p.counts.hits as f64,
    ),
    (
        "tollgate_split_hires_total",
        Kind::Counter,
        "Questions for a part of the bucket.",
        |p| p.counts.hires as f64,
    ),
    (
        "tollgate_split_borrowed_total",
        Kind::Counter,
        "Tokens that came from other nodes.",
        |p| p.counts.borrowed,
    ),
    (
        "tollgate_split_frames_total",
        Kind::Counter,
        "Frames that were sent to other nodes.",
        |p| p.counts.frames as f64,
    ),
];
