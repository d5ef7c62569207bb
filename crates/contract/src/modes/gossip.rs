//! The row of `gossip`, and what it counts.

use tollgate_limit::{Algorithm, PolicyConfig};

use super::{Coordination, Decider, ModeFields, ModeRow};

pub(super) const ROW: ModeRow = ModeRow {
    algorithms: &[
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::FixedWindow,
        Algorithm::SlidingCounters,
        Algorithm::SlidingWeighted,
    ],
    instead: (&[Coordination::Lease], Algorithm::SlidingCounters),
    how: "nodes gossip",
    check,
    ..ModeRow::new("gossip", Decider::Each)
};

/// Refuses numbers that gossip has no room for.
fn check(config: &PolicyConfig, _: &ModeFields) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    for (field, tokens) in [
        ("limit", config.limit),
        ("burst", config.burst.unwrap_or(0)),
    ] {
        if tokens > TOKENS_MAX {
            let what = format!("gossip counts up to {TOKENS_MAX} tokens, not {tokens}");
            wrong.push((field, what));
        }
    }
    if config.period.nanos() > PERIOD_NS_MAX {
        wrong.push(("per", "gossip has periods of up to 36 years".into()));
    }
    wrong
}

/// The most tokens that gossip counts, as its buckets and windows say.
const TOKENS_MAX: u64 = 1 << 40;
/// The longest period that gossip has, likewise.
const PERIOD_NS_MAX: u64 = 1 << 60;
