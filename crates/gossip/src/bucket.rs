//! A token bucket in whole numbers.
//!
//! Levels are counted in *grains*: a token is a whole number of them, and so is what a nanosecond refills. Multiplying
//! time by that refill gives an axis, the [`Mark`], on which the end of a backlog is a whole number too. Nothing is
//! ever rounded. Not here: any state.

use std::fmt;

use tollgate_kit::gcd;
use tollgate_limit::{Instant, Span};

/// How many tokens a bucket holds and how fast it refills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    burst: u64,
    token: u64,
    refill: u64,
}

/// A point in time on a bucket's own axis: grains that would have been refilled since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub u128);

/// Why there is no such bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBucket {
    /// A burst of no token, or more than 2^40 of them.
    Burst(u64),
    /// A refill of no token, more than 2^40 of them, or in no time or more than 2^60 nanoseconds.
    Refill {
        /// The tokens given.
        tokens: u64,
        /// The nanoseconds given.
        per_ns: u64,
    },
}

impl Bucket {
    /// The most tokens a bucket may hold, or regain in one period.
    pub const TOKENS_MAX: u64 = 1 << 40;
    /// The longest period, about 36 years.
    pub const PER_NS_MAX: u64 = 1 << 60;

    /// A bucket of `burst` tokens that regains `tokens` in every `per_ns` nanoseconds.
    pub fn new(burst: u64, tokens: u64, per_ns: u64) -> Result<Self, BadBucket> {
        if burst == 0 || burst > Self::TOKENS_MAX {
            return Err(BadBucket::Burst(burst));
        }
        if tokens == 0 || tokens > Self::TOKENS_MAX || per_ns == 0 || per_ns > Self::PER_NS_MAX {
            return Err(BadBucket::Refill { tokens, per_ns });
        }
        let shared = gcd(tokens, per_ns);
        Ok(Self {
            burst,
            token: per_ns / shared,
            refill: tokens / shared,
        })
    }

    /// Tokens in a full bucket.
    pub const fn burst(self) -> u64 {
        self.burst
    }

    /// Grains in a full bucket.
    pub fn capacity(self) -> u128 {
        self.grains(self.burst)
    }

    /// Grains in that many tokens.
    pub fn grains(self, tokens: u64) -> u128 {
        u128::from(tokens) * u128::from(self.token)
    }

    /// Whole tokens in that many grains.
    pub fn tokens(self, grains: u128) -> u64 {
        u64::try_from(grains / u128::from(self.token)).unwrap_or(u64::MAX)
    }

    /// Grains refilled in that many nanoseconds.
    pub fn refilled(self, nanos: u64) -> u128 {
        u128::from(nanos) * u128::from(self.refill)
    }

    /// The shortest whole number of nanoseconds that refills that many grains.
    pub fn time_for(self, grains: u128) -> Span {
        Span::from_nanos(grains.div_ceil(u128::from(self.refill)))
    }

    /// The instant on the bucket's own axis.
    pub fn mark(self, now: Instant) -> Mark {
        Mark(self.refilled(now.as_nanos()))
    }

    /// The first instant at or after `mark`.
    pub fn instant(self, mark: Mark) -> Instant {
        let nanos = mark.0.div_ceil(u128::from(self.refill));
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Mark {
    /// Grains from `earlier` to `self`; zero when `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> u128 {
        self.0.saturating_sub(earlier.0)
    }

    /// The mark that many grains later.
    #[must_use]
    pub const fn plus(self, grains: u128) -> Self {
        Self(self.0.saturating_add(grains))
    }
}

impl fmt::Display for BadBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Burst(burst) => write!(
                f,
                "a bucket holds 1 to {} tokens, not {burst}",
                Bucket::TOKENS_MAX
            ),
            Self::Refill { tokens, per_ns } => write!(
                f,
                "a bucket regains 1 to {} tokens in 1 to {} ns, not {tokens} in {per_ns} ns",
                Bucket::TOKENS_MAX,
                Bucket::PER_NS_MAX
            ),
        }
    }
}

impl std::error::Error for BadBucket {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_a_token_per_second_is_exact() {
        let bucket = Bucket::new(300, 3, 10_000_000_000).unwrap();
        let start = bucket.mark(Instant::from_nanos(0));
        let end = start.plus(bucket.grains(3));
        assert_eq!(bucket.instant(end), Instant::from_nanos(10_000_000_000));
        assert_eq!(bucket.time_for(bucket.grains(1)).as_nanos(), 3_333_333_334);
        assert_eq!(bucket.tokens(bucket.capacity()), 300);
    }

    #[test]
    fn absurd_buckets_are_refused() {
        assert_eq!(Bucket::new(0, 1, 1), Err(BadBucket::Burst(0)));
        for (tokens, per_ns) in [(0, 1), (1, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert_eq!(
                Bucket::new(1, tokens, per_ns),
                Err(BadBucket::Refill { tokens, per_ns })
            );
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let bucket = Bucket::new(1 << 40, (1 << 40) - 1, 1 << 60).unwrap();
        let late = bucket.mark(Instant::LAST);
        assert!(late.plus(bucket.grains(u64::MAX)) > late);
    }
}
