//! Tokens and rates in whole numbers: a token is 2^48 *mites*, a rate is mites per nanosecond.
//!
//! One unit for all contracts, so that messages need not say which contract their figures are of. Rates that are lent
//! are whole; what a limit has beyond that is carried as a remainder, so the pool fills exactly. Not here: who has how
//! much.

use core::fmt;

use tollgate_limit::Instant;

/// Mites in a token.
pub const TOKEN: i128 = 1 << 48;
/// No amount in a message is above that.
pub(crate) const AMOUNT_MAX: i128 = 1 << 113;
/// Demand is counted in thousandths of a token per second, up to that.
pub(crate) const WANT_MAX: u64 = 1 << 50;

/// Limit, period and burst of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    limit: u64,
    period_ns: u64,
    burst: u64,
    /// Mites that come back each nanosecond, and what they are short of the limit in a period.
    rate: i128,
    rest: u64,
}

/// Why there is no such bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLimits {
    /// Nothing ever comes back.
    NoLimit,
    /// No time in which it comes back.
    NoPeriod,
    /// Nothing ever passes.
    NoBurst,
}

impl fmt::Display for BadLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLimit => "the limit is zero",
            Self::NoPeriod => "the period is zero",
            Self::NoBurst => "the burst is zero",
        })
    }
}

impl core::error::Error for BadLimits {}

impl Limits {
    /// `limit` tokens per `period_ns` nanoseconds, at most `burst` at once.
    #[allow(
        clippy::cast_lossless,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "2^112 at most, and a rest of a number of 64 bits"
    )]
    pub const fn new(limit: u64, period_ns: u64, burst: u64) -> Result<Self, BadLimits> {
        if limit == 0 {
            return Err(BadLimits::NoLimit);
        }
        if period_ns == 0 {
            return Err(BadLimits::NoPeriod);
        }
        if burst == 0 {
            return Err(BadLimits::NoBurst);
        }
        let mites = (limit as u128) << 48;
        Ok(Self {
            limit,
            period_ns,
            burst,
            rate: (mites / period_ns as u128) as i128,
            rest: (mites % period_ns as u128) as u64,
        })
    }

    /// Mites that come back each nanosecond, rounded down.
    pub const fn rate(&self) -> i128 {
        self.rate
    }

    /// Mites it holds when full.
    pub fn depth(&self) -> i128 {
        i128::from(self.burst) * TOKEN
    }

    /// Tokens it holds when full.
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// Limit, period and burst.
    pub(crate) const fn numbers(&self) -> (u64, u64, u64) {
        (self.limit, self.period_ns, self.burst)
    }

    /// Thousandths of a token per second.
    pub(crate) fn want(&self) -> u64 {
        self.want_in(self.period_ns)
    }

    /// The demand that uses the limit up in a time.
    pub(crate) fn want_in(&self, time_ns: u64) -> u64 {
        let want = i128::from(self.limit) * 1_000_000_000_000 / i128::from(time_ns.max(1));
        u64::try_from(want).unwrap_or(WANT_MAX).min(WANT_MAX)
    }

    /// Mites that come back in `elapsed_ns`, given the remainder of the last time, which is replaced.
    pub(crate) fn refill(&self, elapsed_ns: u64, part: &mut u64) -> i128 {
        let period = u128::from(self.period_ns);
        // At most (2^64 - 1)^2 + 2^64, which fits.
        let parts = u128::from(elapsed_ns) * u128::from(self.rest) + u128::from(*part);
        let whole = parts / period;
        *part = u64::try_from(parts - whole * period).unwrap_or(0);
        let whole = i128::try_from(whole).unwrap_or(0);
        self.rate()
            .saturating_mul(i128::from(elapsed_ns))
            .saturating_add(whole)
    }
}

/// How long `missing` mites take, exactly, where `lent` mites of each nanosecond go elsewhere and `part` is already
/// there; `None` where they never come.
pub(crate) fn wait_ns(limits: &Limits, missing: i128, lent: i128, part: u64) -> Option<u64> {
    let period = i128::from(limits.period_ns);
    let gained = (i128::from(limits.limit) << 48) - lent.saturating_mul(period);
    let needed = missing.saturating_mul(period) - i128::from(part);
    if needed <= 0 {
        return Some(0);
    }
    if gained <= 0 {
        return None;
    }
    let down = needed / gained;
    let whole = down + i128::from(down * gained != needed);
    Some(u64::try_from(whole).unwrap_or(u64::MAX))
}

/// Whole tokens in an amount; zero for a debt.
pub(crate) fn tokens(amount: i128) -> u64 {
    u64::try_from(amount.max(0) / TOKEN).unwrap_or(u64::MAX)
}

/// The amount of so many tokens.
pub(crate) fn mites(tokens: u64) -> i128 {
    i128::from(tokens) * TOKEN
}

/// What a demand uses in a time.
pub(crate) fn used(want: u64, time_ns: u64) -> i128 {
    let millionths = i128::from(want.min(WANT_MAX)) * i128::from(time_ns.min(1 << 44)) / 1_000_000;
    (millionths << 46) / (1_000_000 >> 2)
}

/// `amount * numerator / denominator`, rounded down; nothing where there is no denominator.
pub(crate) fn part(amount: i128, numerator: u64, denominator: u64) -> i128 {
    let of = i128::from(denominator.max(1));
    let (whole, rest) = (amount / of, amount % of);
    let numerator = i128::from(numerator);
    whole
        .saturating_mul(numerator)
        .saturating_add(rest.saturating_mul(numerator) / of)
}

/// An instant `nanos` later.
pub(crate) fn after(at: Instant, nanos: u64) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_add(nanos))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_limit_that_does_not_divide_comes_back_exactly() {
        let limits = Limits::new(7, 3_000_000_011, 7).unwrap();
        let (mut part, mut sum, mut time) = (0, 0, 0_u64);
        for step in [1, 2, 999_999_999, 13, 1_999_999_996] {
            sum += limits.refill(step, &mut part);
            time += step;
        }
        assert_eq!(time, 3_000_000_011);
        assert_eq!((sum, part), (7 * TOKEN, 0));
    }

    #[test]
    fn extremes_saturate() {
        let limits = Limits::new(u64::MAX, 1, u64::MAX).unwrap();
        let mut part = 0;
        assert!(limits.refill(u64::MAX, &mut part) > limits.depth());
        assert_eq!(tokens(limits.depth()), u64::MAX);
        assert_eq!(tokens(-1), 0);
    }

    #[test]
    fn a_demand_of_one_a_second_uses_one_token_a_second() {
        assert_eq!(used(1_000, 1_000_000_000), TOKEN);
        assert_eq!(used(500, 4_000_000_000), 2 * TOKEN);
    }
}
