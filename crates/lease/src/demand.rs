//! How much is asked for: counts that decay with time, slowly and quickly.
//!
//! Estimates only: they decide how much is lent, never whether a request passes. Not here: what is done about it.

use tollgate_limit::Instant;

use crate::amount::WANT_MAX;

/// A count that loses all but 1/e of itself in `tau`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decayed {
    /// Tokens in 2^-20.
    count: u64,
    at: Instant,
    tau_ns: u64,
}

impl Decayed {
    pub(crate) const fn new(tau_ns: u64, now: Instant) -> Self {
        Self {
            count: 0,
            at: now,
            tau_ns,
        }
    }

    /// One that was counted before.
    pub(crate) const fn known(tau_ns: u64, count: u64, at: Instant) -> Self {
        Self { count, at, tau_ns }
    }

    /// What was counted, and when last.
    pub(crate) const fn counted(&self) -> (u64, Instant) {
        (self.count, self.at)
    }

    pub(crate) fn add(&mut self, tokens: u64, now: Instant) {
        self.count = decay(self.count, now.nanos_since(self.at), self.tau_ns);
        self.at = self.at.max(now);
        self.count = self.count.saturating_add(tokens.min(1 << 40) << 20);
    }

    /// Tokens that still count.
    fn weight(&self, now: Instant) -> u64 {
        decay(self.count, now.nanos_since(self.at), self.tau_ns)
    }

    /// Thousandths of a token per second, for a count that began `age_ns` ago.
    pub(crate) fn rate(&self, now: Instant, age_ns: u64) -> u64 {
        let time = self.tau_ns.min(age_ns.max(self.tau_ns / 2)).max(1);
        let rate = u128::from(self.weight(now)) * 1_000_000_000_000 / u128::from(time);
        u64::try_from(rate >> 20).unwrap_or(WANT_MAX).min(WANT_MAX)
    }
}

/// Demand of one client for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    slow: Decayed,
    fast: Decayed,
    born: Instant,
    last: Instant,
}

impl Demand {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            slow: Decayed::new(SLOW_NS, now),
            fast: Decayed::new(FAST_NS, now),
            born: now,
            last: now,
        }
    }

    pub(crate) fn count(&mut self, tokens: u64, now: Instant) {
        self.slow.add(tokens, now);
        self.fast.add(tokens, now);
        self.last = now;
    }

    /// Thousandths of a token per second: the slow average, or the fast one where it is surely another.
    pub(crate) fn rate(&self, now: Instant) -> u64 {
        let age = now.nanos_since(self.born);
        let (slow, fast) = (self.slow.rate(now, age), self.fast.rate(now, age));
        // Few requests where many were to be expected say as much as many.
        let due = u128::from(slow) * u128::from(FAST_NS) / 1_000_000_000_000;
        let is_sure = self.fast.weight(now) >= SURE << 20 || due >= u128::from(2 * SURE);
        let is_other = fast > slow.saturating_add(slow / 2) || slow > fast.saturating_add(fast / 2);
        let rate = if is_sure && is_other { fast } else { slow };
        let silence = now.nanos_since(self.last).max(1);
        rate.min(6_000_000_000_000 / silence)
    }
}

/// `count * e^(-elapsed / tau)`.
fn decay(count: u64, elapsed_ns: u64, tau_ns: u64) -> u64 {
    if elapsed_ns == 0 {
        return count;
    }
    let x = match elapsed_ns.checked_mul(1 << 20) {
        Some(scaled) => scaled / tau_ns.max(1),
        // What is beyond that leaves nothing either.
        None => u64::try_from((u128::from(elapsed_ns) << 20) / u128::from(tau_ns.max(1)))
            .unwrap_or(u64::MAX),
    };
    let halvings = u32::try_from(x / LN_2).unwrap_or(u32::MAX);
    let f = x % LN_2;
    let squared = (f * f) >> 20;
    let cubed = (squared * f) >> 20;
    let kept = (1 << 20) - f + squared / 2 - cubed / 6 + ((cubed * f) >> 20) / 24;
    let count = (u128::from(count) * u128::from(kept)) >> 20;
    u64::try_from(count.checked_shr(halvings).unwrap_or(0)).unwrap_or(u64::MAX)
}

/// ln 2 in 2^-20.
const LN_2: u64 = 726_817;
const SLOW_NS: u64 = 1_000_000_000;
const FAST_NS: u64 = 100_000_000;
/// Requests after which the fast average is worth something.
const SURE: u64 = 8;

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_count_decays_by_e() {
        for (elapsed, expected) in [(0, 1000), (100, 905), (693, 500), (1000, 368), (3000, 50)] {
            let left = decay(1000 << 20, elapsed * 1_000_000, SLOW_NS) >> 20;
            assert!(left.abs_diff(expected) <= 1, "{elapsed}: {left}");
        }
        assert_eq!(decay(u64::MAX, u64::MAX, 1), 0);
    }

    #[test]
    fn a_stream_that_falls_by_far_is_seen_at_once() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut demand = Demand::new(at(0));
        for millis in 0..3_000 {
            demand.count(1, at(millis));
        }
        // From 1,000 a second to ten.
        for millis in (3_000..3_400).step_by(100) {
            demand.count(1, at(millis));
        }
        assert!(
            demand.rate(at(3_400)) < 60_000,
            "{}",
            demand.rate(at(3_400))
        );
    }

    #[test]
    fn a_steady_stream_is_its_rate_and_silence_bounds_it() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut demand = Demand::new(at(0));
        for millis in (0..5_000).step_by(10) {
            demand.count(1, at(millis));
        }
        assert!(demand.rate(at(4_990)).abs_diff(100_000) < 3_000);
        assert!(demand.rate(at(6_990)) <= 3_000);
    }
}
