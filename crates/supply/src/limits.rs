//! The limit that is divided: a rate and a burst, in integers fine enough that nothing leaks.
//!
//! Rates are in 10^-9 requests per second, times in nanoseconds, tokens in 10^-18 requests, so that a rate times a time
//! is a whole number of tokens. Not here: who has which part.

use std::fmt;

use tollgate_limit::Span;

/// The limit of one policy: a bucket of `burst` tokens that refills at `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    rate: u64,
    burst: u64,
}

/// Why a limit was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLimits {
    /// A rate of zero, or below 10^-9 requests per second.
    NoRate,
    /// A rate above [`Limits::RATE_MAX`].
    RateTooLarge,
    /// A burst of zero.
    NoBurst,
    /// A burst above [`Limits::BURST_MAX`].
    BurstTooLarge,
    /// A period of no time.
    NoPeriod,
}

impl fmt::Display for BadLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRate => "the rate must be at least 10^-9 requests per second",
            Self::RateTooLarge => "the rate must be at most 9,223,372,036 requests per second",
            Self::NoBurst => "the burst must be at least one request",
            Self::BurstTooLarge => "the burst must be at most 2^60 requests",
            Self::NoPeriod => "the period must take some time",
        })
    }
}

impl std::error::Error for BadLimits {}

impl Limits {
    /// The largest rate, so that two of them can be added in 64 bits: 2^63 - 1, which is 9,223,372,036 requests per
    /// second or a little more than 2^33. A rate times any time in nanoseconds is below 2^127 then. 2^40 requests per
    /// second would be 2^70 of these units; whoever needs that much has no use for single tokens.
    pub const RATE_MAX: u64 = i64::MAX as u64;
    /// The largest burst, so that a level fits into 127 bits with room to spare.
    pub const BURST_MAX: u64 = 1 << 60;
    /// Tokens of one request.
    pub const REQUEST: u128 = 1_000_000_000_000_000_000;
    /// The rate of one request per second.
    pub const PER_SECOND: u64 = 1_000_000_000;

    /// A rate in 10^-9 requests per second, and a burst in requests.
    pub const fn new(rate: u64, burst: u64) -> Result<Self, BadLimits> {
        if rate == 0 {
            return Err(BadLimits::NoRate);
        }
        if rate > Self::RATE_MAX {
            return Err(BadLimits::RateTooLarge);
        }
        if burst == 0 {
            return Err(BadLimits::NoBurst);
        }
        if burst > Self::BURST_MAX {
            return Err(BadLimits::BurstTooLarge);
        }
        Ok(Self { rate, burst })
    }

    /// So many requests per period; the rate is rounded down, which is never one token over.
    pub fn per(limit: u64, period: Span, burst: u64) -> Result<Self, BadLimits> {
        let period = period.as_nanos();
        if period == 0 {
            return Err(BadLimits::NoPeriod);
        }
        let rate = u128::from(limit) * Self::REQUEST / period;
        Self::new(
            u64::try_from(rate).map_err(|_| BadLimits::RateTooLarge)?,
            burst,
        )
    }

    /// The rate in 10^-9 requests per second.
    pub const fn rate(self) -> u64 {
        self.rate
    }

    /// The burst in requests.
    pub const fn burst(self) -> u64 {
        self.burst
    }

    /// Tokens of that many requests.
    pub const fn tokens(cost: u64) -> u128 {
        cost as u128 * Self::REQUEST
    }

    /// Whole requests of so many tokens.
    pub fn requests(tokens: u128) -> u64 {
        u64::try_from(tokens / Self::REQUEST).unwrap_or(u64::MAX)
    }

    /// The depth that belongs to a part of the rate, rounded down: all of it has the whole burst, and the depths of
    /// parts never add up to more than the depth of their sum.
    pub fn depth(self, share: u64) -> u128 {
        let share = u128::from(share.min(self.rate));
        let (burst, rate) = (Self::tokens(self.burst), u128::from(self.rate));
        // The remainder and the share are below 2^63 each.
        burst / rate * share + burst % rate * share / rate
    }

    /// The least share whose depth holds that many tokens; `None` where nobody's does.
    pub fn share_for(self, tokens: u128) -> Option<u64> {
        let burst = Self::tokens(self.burst);
        if tokens > burst {
            return None;
        }
        // By bisection: the product would not fit.
        let (mut low, mut high) = (0, self.rate);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.depth(middle) >= tokens {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }
}
