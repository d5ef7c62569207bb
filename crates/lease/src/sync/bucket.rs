//! A level that fills with time.
//!
//! Not here: who has it, and what is taken from it.

use tollgate_limit::Instant;

use crate::amount::Limits;

/// A level that fills with time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Mites; below zero it is owed.
    pub(crate) level: i128,
    /// What the last refill had beyond whole mites.
    pub(crate) part: u64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn full(limits: &Limits, now: Instant) -> Self {
        Self {
            level: limits.depth(),
            part: 0,
            at: now,
        }
    }

    /// Goes to another time, as the clock was set: it fills by nothing.
    pub(crate) fn move_time(&mut self, limits: &Limits, from: Instant, to: Instant) {
        self.fill(limits, from);
        self.at = to;
    }

    pub(crate) fn fill(&mut self, limits: &Limits, now: Instant) {
        let elapsed = now.nanos_since(self.at);
        self.at = self.at.max(now);
        let earned = limits.refill(elapsed, &mut self.part);
        self.level = self.level.saturating_add(earned).min(limits.depth());
    }
}
