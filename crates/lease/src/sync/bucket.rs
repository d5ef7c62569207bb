//! A level that fills with time: as it is printed, and in as few bytes as a node can keep of every key.
//!
//! Not here: who has it, and what is taken from it.

use tollgate_limit::Instant;

use crate::amount::Limits;

/// When a bucket is full if nothing comes, to a 2^32nd of a nanosecond; above that it is known what is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FullAt {
    pub(super) at: Instant,
    /// So much later.
    pub(super) part: u32,
}

impl FullAt {
    /// A bucket that is full at `now`.
    pub(super) const fn full(now: Instant) -> Self {
        Self { at: now, part: 0 }
    }

    /// One that has so much at `now`; below zero it is owed.
    pub(super) fn of(limits: &Limits, level: i128, now: Instant) -> Self {
        let missing = limits.depth().saturating_sub(level).max(0);
        let short = missing.cast_unsigned().div_ceil(1 << SHORT_BITS);
        let (limit, period, _) = limits.numbers();
        let (limit, period) = (u128::from(limit), u128::from(period));
        // In two steps, as the product of all need not fit.
        let (many, rest) = (short / limit, short % limit);
        let wait = (rest * period).div_ceil(limit);
        let wait = many.saturating_mul(period).saturating_add(wait);
        let whole = u64::try_from(wait >> PART_BITS).unwrap_or(u64::MAX);
        Self {
            at: Instant::from_nanos(now.as_nanos().saturating_add(whole)),
            part: low(wait),
        }
    }

    /// What it has at `now`.
    pub(super) fn level(self, limits: &Limits, now: Instant) -> i128 {
        let ahead = u128::from(self.at.as_nanos()) << PART_BITS | u128::from(self.part);
        let wait = ahead.saturating_sub(u128::from(now.as_nanos()) << PART_BITS);
        if wait == 0 {
            return limits.depth();
        }
        let (limit, period, _) = limits.numbers();
        let (limit, period) = (u128::from(limit), u128::from(period));
        let (many, rest) = (wait / period, wait % period);
        let short = many
            .saturating_mul(limit)
            .saturating_add(rest * limit / period);
        let missing = short.min(SHORT_MAX) << SHORT_BITS;
        limits.depth().saturating_sub(missing.cast_signed())
    }

    /// The same level at another time.
    pub(super) fn moved(self, from: Instant, to: Instant) -> Self {
        if self.at < from {
            return Self::full(to);
        }
        let ahead = self.at.nanos_since(from);
        Self {
            at: Instant::from_nanos(to.as_nanos().saturating_add(ahead)),
            part: self.part,
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
const fn low(wait: u128) -> u32 {
    wait as u32
}

/// A nanosecond has that many parts, as a power of two.
const PART_BITS: u32 = 32;
/// What is missing is known to that many mites, as a power of two: a 2^32nd of a token.
const SHORT_BITS: u32 = 16;
/// More is never missing.
const SHORT_MAX: u128 = 1 << 110;

/// A level that fills with time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncBucket {
    /// Mites; below zero it is owed.
    pub(crate) level: i128,
    /// What the last refill had beyond whole mites.
    part: u64,
    at: Instant,
}

impl SyncBucket {
    pub(crate) fn full(limits: &Limits, now: Instant) -> Self {
        Self {
            level: limits.depth(),
            part: 0,
            at: now,
        }
    }

    pub(crate) fn fill(&mut self, limits: &Limits, now: Instant) {
        let elapsed = now.nanos_since(self.at);
        self.at = self.at.max(now);
        let earned = limits.refill(elapsed, &mut self.part);
        self.level = self.level.saturating_add(earned).min(limits.depth());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::amount::{TOKEN, mites};

    proptest! {
        #[test]
        fn a_level_is_what_it_was_and_fills_as_a_bucket_does(
            limit in 1..1_000_000_u64, period in 1_000_000_000..4_000_000_000_000_u64, burst in 1..1_000_000_u64,
            steps in prop::collection::vec((0..4_u64, 0..2_000_000_000_u64), 1..50),
        ) {
            let limits = Limits::new(limit, period, burst).unwrap();
            let mut now = Instant::from_nanos(1 << 60);
            let mut bucket = SyncBucket::full(&limits, now);
            let mut full = FullAt::full(now);
            for (cost, nanos) in steps {
                let taken = full.level(&limits, now) - mites(cost);
                full = FullAt::of(&limits, taken, now);
                prop_assert!(full.level(&limits, now) >= taken);
                prop_assert!(full.level(&limits, now) < taken + TOKEN / 1_000_000_000);
                bucket.level -= mites(cost);
                now = Instant::from_nanos(now.as_nanos() + nanos);
                bucket.fill(&limits, now);
                let apart = (bucket.level - full.level(&limits, now)).abs();
                prop_assert!(apart < TOKEN / 1_000_000, "{apart}");
                let to = Instant::from_nanos(now.as_nanos() - 7);
                prop_assert_eq!(full.moved(now, to).level(&limits, to), full.level(&limits, now));
            }
        }
    }
}
