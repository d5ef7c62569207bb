//! What all keys of a machine stand on: the home and when it is valid, and the depth that belongs to a rate.
//!
//! Not here: how the home changes.

use tollgate_limit::Instant;

use crate::limits::Limits;
use crate::planted;

/// The home at a time, the same for every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BaseShare {
    pub(crate) home: u64,
    /// The home is valid from here on,
    pub(crate) from: Instant,
    /// and until here.
    pub(crate) until: Instant,
    pub(crate) limits: Limits,
    /// Limits that somebody may still stand on, with a smaller burst for their rate.
    pub(crate) slowest: Option<Limits>,
    /// By how much this node's clock may run wrong, in millionths.
    pub(crate) drift_ppm: u32,
}

impl BaseShare {
    /// No home yet.
    pub(crate) const fn new(limits: Limits, from: Instant, drift_ppm: u32) -> Self {
        Self {
            home: 0,
            from,
            until: Instant::LAST,
            limits,
            slowest: None,
            drift_ppm,
        }
    }

    /// Whether the home may be used then.
    pub(crate) fn is_valid(&self, now: Instant) -> bool {
        self.from <= now && now < self.until
    }

    /// The rate at which tokens are earned by this node's clock, so that they are not too many if it runs fast.
    pub(crate) fn earns(&self, rate: u64) -> u64 {
        let slow = MILLION.saturating_sub(u128::from(self.drift_ppm));
        let part = planted!("earns-by-a-fast-clock", slow, MILLION);
        u64::try_from(u128::from(rate) * part / MILLION).unwrap_or(rate)
    }

    /// The depth that belongs to a rate.
    pub(crate) fn depth(&self, rate: u64) -> u128 {
        let depth = self.limits.depth(rate);
        self.slowest
            .map_or(depth, |limits| limits.depth(rate).min(depth))
    }
}

const MILLION: u128 = 1_000_000;
