//! The bucket of one node: supply fills it, its depth is a time of that supply.
//!
//! Not here: where supply comes from.

use crate::supply::stage::{REQUEST, WHOLE, part};

/// A supply as finely as any design counts it.
pub(crate) fn fine(supply: i64) -> i128 {
    1_000 * i128::from(supply)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Purse {
    tokens: u64,
    at: u64,
    depth_us: u64,
    /// Clocks may be fast by that many millionths, so nothing is gained for them.
    drift: u64,
}

impl Purse {
    pub(crate) fn full(supply: i64, now: u64, depth_us: u64, drift: u64) -> Self {
        let mut purse = Self {
            tokens: 0,
            at: now,
            depth_us,
            drift,
        };
        purse.tokens = purse.depth(supply);
        purse
    }

    /// Gains what a supply brings until now. To be called before the supply changes.
    pub(crate) fn refill(&mut self, supply: i64, now: u64) {
        let elapsed = now.saturating_sub(self.at).min(2 * self.depth_us);
        self.at = self.at.max(now);
        let rate = u64::try_from(supply).unwrap_or(0);
        let gained = part(rate.saturating_mul(elapsed), WHOLE - self.drift, WHOLE);
        self.tokens = (self.tokens.saturating_add(gained)).min(self.depth(supply));
    }

    /// Takes one request's tokens, if they are there.
    pub(crate) fn spend(&mut self) -> bool {
        let has = self.tokens >= REQUEST;
        if has {
            self.tokens -= REQUEST;
        }
        has
    }

    /// Takes out the tokens that go with `given` of a supply.
    pub(crate) fn give(&mut self, given: u64, of: i64) -> u64 {
        let share = part(self.tokens, given, u64::try_from(of).unwrap_or(0)).min(self.tokens);
        self.tokens -= share;
        share
    }

    /// Puts tokens in, as far as a supply has room for them.
    pub(crate) fn take(&mut self, tokens: u64, supply: i64) {
        self.tokens = (self.tokens.saturating_add(tokens)).min(self.depth(supply));
    }

    fn depth(&self, supply: i64) -> u64 {
        u64::try_from(supply)
            .unwrap_or(0)
            .saturating_mul(self.depth_us)
    }
}
