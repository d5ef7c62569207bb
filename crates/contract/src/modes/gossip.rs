//! The row of `gossip`: its designs, and what they count.

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
    fields: &[PolicyField {
        of_contract: true,
        restarts: true,
        ..PolicyField::new(
            "design",
            FieldShape::Choice(&Design::NAMES),
            "What nodes that gossip keep, and when they speak.",
            "Design",
        )
        .absent("the contract's")
    }],
    check,
    ..ModeRow::new("gossip", Decider::Each)
};

/// How nodes that gossip agree: what they keep, and when they speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Design {
    /// `segments` where that sends less, else `home`.
    #[default]
    Auto,
    /// Busy-period segments with silent shares.
    Segments,
    /// One node per key collects and announces.
    Home,
    /// Reports that count once on their link, and one level per key.
    Links,
}

impl Design {
    /// Every design, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Segments, Self::Home, Self::Links];

    /// Their names, in the same order.
    pub const NAMES: [&'static str; 4] = ["auto", "segments", "home", "links"];

    /// The name used in contract files.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether the algorithm can be counted this way.
    pub const fn allows(self, algorithm: Algorithm) -> bool {
        match (self, algorithm) {
            (_, Algorithm::SlidingLog) => false,
            (Self::Auto | Self::Segments | Self::Links, _) | (_, Algorithm::TokenBucket) => true,
            (Self::Home, algorithm) => matches!(algorithm, Algorithm::LeakyBucket),
        }
    }

    fn of(fields: &ModeFields) -> Self {
        Self::ALL[fields.choice("design")]
    }
}

impl NamedPolicy {
    /// How nodes that gossip agree about it.
    pub fn design(&self) -> Design {
        Design::of(&self.fields)
    }
}

/// Refuses designs that do not count the algorithm, and numbers that gossip has no room for.
fn check(config: &PolicyConfig, fields: &ModeFields) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let design = Design::of(fields);
    if !design.allows(config.algorithm) && Coordination::Gossip.allows(config.algorithm) {
        let (name, algorithm) = (design.name(), config.algorithm.name());
        let what = format!("the design {name} does not count {algorithm}; use `design: segments`");
        wrong.push(("design", what));
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

/// The most tokens that gossip counts, as its buckets and windows say.
const TOKENS_MAX: u64 = 1 << 40;
/// The longest period that gossip has, likewise.
const PERIOD_NS_MAX: u64 = 1 << 60;
