//! Tokens of one key on one node: they fill at the usable rate, up to the room there is.
//!
//! Not here: why the rate changes.

use tollgate_limit::Instant;

/// Tokens at an instant; below zero they are promised to requests that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SupplyBucket {
    pub(crate) tokens: i128,
    pub(crate) at: Instant,
}

impl SupplyBucket {
    pub(crate) const fn empty(at: Instant) -> Self {
        Self { tokens: 0, at }
    }

    /// Fills at `rate` until `now`, up to `room`.
    pub(crate) fn fill(&mut self, rate: u64, room: i128, now: Instant) {
        let earned = u128::from(rate) * u128::from(now.nanos_since(self.at));
        self.at = self.at.max(now);
        let earned = i128::try_from(earned).unwrap_or(i128::MAX);
        self.tokens = self.tokens.saturating_add(earned).min(room);
    }

    /// Throws away what has no room.
    pub(crate) fn clamp(&mut self, room: i128) {
        self.tokens = self.tokens.min(room);
    }

    /// Adds tokens that came from elsewhere, up to `room`.
    pub(crate) fn add(&mut self, tokens: u128, room: i128) {
        self.tokens = self.tokens.saturating_add(signed(tokens)).min(room);
    }

    /// Takes tokens, below zero if need be.
    pub(crate) fn take(&mut self, tokens: u128) {
        self.tokens = self.tokens.saturating_sub(signed(tokens));
    }
}

/// Tokens as a number that may be below zero; there are never as many as that can hold.
pub(crate) fn signed(tokens: u128) -> i128 {
    i128::try_from(tokens).unwrap_or(i128::MAX)
}
