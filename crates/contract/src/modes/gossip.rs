//! The row of `gossip`: what it counts, and what is repaid after a partition.

use tollgate_limit::{Algorithm, PolicyConfig};

use super::{Coordination, Decider, ModeFields, ModeRow};
use crate::contract::NamedPolicy;
use crate::fields::{FieldShape, PolicyField};

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
    fields: &[PolicyField::new(
        "repay",
        FieldShape::Choice(&["bucket", "all"]),
        "How much of what was admitted too much in a partition a key repays once nodes hear of each other again: at most \
         one `bucket`, so that it is refused for no longer than one takes to fill; or `all` of it, so that the limit holds \
         in the long run.",
        "Repays",
    )
    .words(&["one bucket", "everything"])],
    check,
    ..ModeRow::new("gossip", Decider::Each)
};

/// Refuses numbers that gossip has no room for.
fn check(config: &PolicyConfig, fields: &ModeFields) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let is_bucket = matches!(
        config.algorithm,
        Algorithm::TokenBucket | Algorithm::LeakyBucket
    );
    if fields.choice("repay") == 1 && !is_bucket {
        let what = "nothing is owed beyond the end of a window; leave `repay` out";
        wrong.push(("repay", what.to_owned()));
    }
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

impl NamedPolicy {
    /// Whether keys under gossip repay all that was admitted too much in a partition.
    pub fn repays_all(&self) -> bool {
        self.coordination == Coordination::Gossip && self.fields.choice("repay") == 1
    }
}

/// The most tokens that gossip counts, as its buckets and windows say.
const TOKENS_MAX: u64 = 1 << 40;
/// The longest period that gossip has, likewise.
const PERIOD_NS_MAX: u64 = 1 << 60;
