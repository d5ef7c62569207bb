//! The bucket that is cut, and its parts, in integers fine enough that the parts add up exactly.
//!
//! With the limit over its period reduced to lowest terms `l/p`, a message is `p · 2^20` grains and every nanosecond
//! gives `l · 2^20` grains back. Parts are whole grains, so that many can share a small rate. Not here: who has which
//! part.

use std::fmt;

use tollgate_kit::gcd;
use tollgate_limit::{LIMIT_MAX, PERIOD_NS_MAX, Span};

use crate::portion::portions;

/// The bucket that is cut: so many messages per period, and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicLimits {
    message: u128,
    rate: u128,
    burst: u64,
}

/// One part of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Grains that come back each nanosecond.
    pub rate: u128,
    /// Grains it holds when full.
    pub depth: u128,
}

/// Why a bucket was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTopicLimits {
    /// No messages per period, or more than [`LIMIT_MAX`].
    Rate,
    /// No time, or more than [`PERIOD_NS_MAX`].
    Period,
    /// A burst of zero, or more than [`LIMIT_MAX`].
    Burst,
    /// The burst takes so long to come back that it cannot be counted in 120 bits.
    TooDeep,
}

impl fmt::Display for BadTopicLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rate => "the rate must be between 1 and 2^53 messages per period",
            Self::Period => "the period must be between a nanosecond and 100 years",
            Self::Burst => "the burst must be between 1 and 2^53 messages",
            Self::TooDeep => "the burst is too deep for so long a period",
        })
    }
}

impl std::error::Error for BadTopicLimits {}

impl Share {
    /// Nothing of a bucket.
    pub const NONE: Self = Self { rate: 0, depth: 0 };

    /// Whether no more than `other` of either.
    pub const fn is_within(self, other: Self) -> bool {
        self.rate <= other.rate && self.depth <= other.depth
    }

    /// The smaller of each.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self {
            rate: self.rate.min(other.rate),
            depth: self.depth.min(other.depth),
        }
    }

    /// The larger of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            rate: self.rate.max(other.rate),
            depth: self.depth.max(other.depth),
        }
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            rate: self.rate.saturating_add(other.rate),
            depth: self.depth.saturating_add(other.depth),
        }
    }

    /// What is left without `other`, and nothing where that is more.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            rate: self.rate.saturating_sub(other.rate),
            depth: self.depth.saturating_sub(other.depth),
        }
    }
}

impl TopicLimits {
    /// No count of grains is above that.
    pub const GRAINS_MAX: u128 = 1 << 120;

    /// So many messages per period, and a burst.
    pub fn new(messages: u64, period: Span, burst: u64) -> Result<Self, BadTopicLimits> {
        if !(1..=LIMIT_MAX).contains(&messages) {
            return Err(BadTopicLimits::Rate);
        }
        if !(1..=u128::from(PERIOD_NS_MAX)).contains(&period.as_nanos()) {
            return Err(BadTopicLimits::Period);
        }
        if !(1..=LIMIT_MAX).contains(&burst) {
            return Err(BadTopicLimits::Burst);
        }
        let common = gcd(u128::from(messages), period.as_nanos()).max(1);
        let limits = Self {
            message: (period.as_nanos() / common) << FINE_BITS,
            rate: (u128::from(messages) / common) << FINE_BITS,
            burst,
        };
        if limits.message > Self::GRAINS_MAX / u128::from(burst) {
            return Err(BadTopicLimits::TooDeep);
        }
        Ok(limits)
    }

    /// So many messages per second, and a burst.
    pub fn per_second(messages: u64, burst: u64) -> Result<Self, BadTopicLimits> {
        Self::new(messages, Span::from_nanos(1_000_000_000), burst)
    }

    /// Messages it holds when full.
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// Grains of one message.
    pub const fn message(&self) -> u128 {
        self.message
    }

    /// Grains of so many messages, at most [`TopicLimits::GRAINS_MAX`].
    pub fn messages(&self, count: u64) -> u128 {
        let grains = self.message.saturating_mul(u128::from(count));
        grains.min(Self::GRAINS_MAX)
    }

    /// The whole bucket.
    pub fn whole(&self) -> Share {
        Share {
            rate: self.rate,
            depth: self.messages(self.burst),
        }
    }

    /// How long a full bucket lasts at its own rate, in nanoseconds: `b/r`.
    pub fn lasts_ns(&self) -> u64 {
        low(self.whole().depth / self.rate.max(1))
    }

    /// The time in which a message comes back, in nanoseconds, rounded up.
    pub fn gap_ns(&self) -> u64 {
        low(self.message.div_ceil(self.rate.max(1)))
    }

    /// The bucket cut by weights, so that the parts add up to it exactly, none below `floor` messages where there are
    /// enough.
    pub fn cut(&self, weights: &[u64], floor: u64) -> Vec<Share> {
        let whole = self.whole();
        let floor = self.messages(floor);
        let rates = portions(whole.rate, weights, 0);
        let depths = portions(whole.depth, weights, floor);
        let pairs = rates.into_iter().zip(depths);
        pairs.map(|(rate, depth)| Share { rate, depth }).collect()
    }
}

/// A message and a nanosecond's refill have that many bits more than they need, for parts.
const FINE_BITS: u32 = 20;

fn low(nanos: u128) -> u64 {
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let limits = TopicLimits::per_second(11_000, 25).unwrap();
        let parts = limits.cut(&[1, 2, 3, 1, 7], 1);
        let sum = parts.iter().fold(Share::NONE, |sum, part| sum.plus(*part));
        assert_eq!(sum, limits.whole());
        assert!(parts.iter().all(|part| part.depth >= limits.message()));
        assert_eq!(limits.lasts_ns(), 25_000_000_000 / 11_000);
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let second = Span::from_nanos(1_000_000_000);
        assert_eq!(TopicLimits::new(0, second, 1), Err(BadTopicLimits::Rate));
        assert_eq!(
            TopicLimits::new(1, Span::ZERO, 1),
            Err(BadTopicLimits::Period)
        );
        assert_eq!(TopicLimits::new(1, second, 0), Err(BadTopicLimits::Burst));
        let century = Span::from_nanos(u128::from(PERIOD_NS_MAX));
        assert_eq!(
            TopicLimits::new(1, century, LIMIT_MAX),
            Err(BadTopicLimits::TooDeep)
        );
    }
}
