//! Token bucket, its delaying shaper, and the leaky bucket: one level that moves with time.
//!
//! The state is what has been spent and not yet refilled, counted in *grains*. With `L/P` reduced to lowest terms
//! `l/p`, a token is `p` grains and every nanosecond gives `l` grains back, so all steps are whole numbers and
//! nothing is ever rounded except the answers.

use tollgate_kit::gcd;

use crate::config::{OnLimit, PolicyConfig};
use crate::ratio::Ratio;
use crate::state::{Fit, Probe};
use crate::time::{Instant, Span};

/// A compiled bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Tokens it holds when full.
    burst: u64,
    /// Grains in one token.
    token_grains: u64,
    /// Grains that come back each nanosecond.
    refill_grains: u64,
    /// Grains it holds when full.
    depth: u128,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Too few tokens: refused.
    Deny,
    /// Too few tokens: admitted, and held back until they are there.
    Delay { max_wait_ns: Option<u64> },
    /// Admitted work leaves at a fixed rate.
    Leak,
}

impl Bucket {
    /// The token bucket of a checked configuration.
    pub(crate) fn token(config: &PolicyConfig) -> Self {
        let shape = match config.on_limit {
            OnLimit::Deny => Shape::Deny,
            OnLimit::Delay { max_wait_ns } => Shape::Delay { max_wait_ns },
        };
        Self::of(config, shape)
    }

    /// The leaky bucket of a checked configuration.
    pub(crate) fn leaky(config: &PolicyConfig) -> Self {
        Self::of(config, Shape::Leak)
    }

    fn of(config: &PolicyConfig, shape: Shape) -> Self {
        let period_ns = config.period.nanos();
        let common = gcd(config.limit, period_ns).max(1);
        let burst = config.burst.unwrap_or(config.limit);
        let token_grains = period_ns / common;
        Self {
            burst,
            token_grains,
            refill_grains: config.limit / common,
            depth: u128::from(burst) * u128::from(token_grains),
            shape,
        }
    }

    /// Tokens it holds when full.
    pub(crate) const fn burst(&self) -> u64 {
        self.burst
    }

    /// Grains in one token, and grains that come back each nanosecond.
    pub(crate) const fn rate(&self) -> (u64, u64) {
        (self.token_grains, self.refill_grains)
    }

    /// The most grains that may be spent for a request to pass; `None` where any number of requests may wait.
    pub(crate) fn top(&self) -> Option<u128> {
        match self.shape {
            Shape::Deny | Shape::Leak => Some(self.depth),
            Shape::Delay { max_wait_ns: None } => None,
            Shape::Delay {
                max_wait_ns: Some(max),
            } => {
                let waiting = u128::from(max).saturating_mul(u128::from(self.refill_grains));
                Some(self.depth.saturating_add(waiting))
            }
        }
    }

    /// What is still spent after `elapsed_ns` of refill.
    #[inline]
    pub(crate) fn refilled(&self, spent: u128, elapsed_ns: u64) -> u128 {
        spent.saturating_sub(u128::from(elapsed_ns) * u128::from(self.refill_grains))
    }

    /// Would `tokens` pass with `spent` grains out?
    #[inline]
    pub(crate) fn probe(&self, spent: u128, tokens: u64) -> Probe {
        let after = spent.saturating_add(self.grains(tokens));
        let fit = if tokens > self.burst {
            Fit::Never
        } else if after <= self.depth {
            match self.shape {
                Shape::Deny | Shape::Delay { .. } => Fit::Now,
                Shape::Leak => Fit::after(self.nanos_to_refill(spent)),
            }
        } else {
            self.over(after - self.depth)
        };
        Probe {
            fit,
            remaining: self.remaining(spent),
            debt: self.debt(spent),
        }
    }

    /// Tokens that a level is below zero, parts of one as a whole one. Those that wait their turn in a shaper are no
    /// debt.
    #[inline]
    pub(crate) fn debt(&self, spent: u128) -> u64 {
        match self.shape {
            Shape::Delay { .. } => 0,
            _ if spent <= self.depth => 0,
            Shape::Deny | Shape::Leak => {
                let debt = div_ceil(spent - self.depth, self.token_grains);
                u64::try_from(debt).unwrap_or(u64::MAX)
            }
        }
    }

    /// The answer to a request that finds `missing` grains too few.
    #[inline]
    fn over(&self, missing: u128) -> Fit {
        let wait = self.nanos_to_refill(missing);
        match self.shape {
            Shape::Deny | Shape::Leak => Fit::Retry(Span::from_nanos(wait)),
            Shape::Delay { max_wait_ns: None } => Fit::after(wait),
            Shape::Delay {
                max_wait_ns: Some(max),
            } => match wait.checked_sub(u128::from(max)) {
                None | Some(0) => Fit::after(wait),
                Some(excess) => Fit::Retry(Span::from_nanos(excess)),
            },
        }
    }

    /// Whole tokens left.
    #[inline]
    pub(crate) fn remaining(&self, spent: u128) -> u64 {
        let gone = div_ceil(spent, self.token_grains);
        u64::try_from(gone).map_or(0, |gone| self.burst.saturating_sub(gone))
    }

    /// Nanoseconds until `grains` have come back.
    #[inline]
    pub(crate) fn nanos_to_refill(&self, grains: u128) -> u128 {
        div_ceil(grains, self.refill_grains)
    }

    /// The nanosecond from which a level last written at `at` is full.
    pub(crate) fn fresh_at_ns(&self, spent: u128, at: Instant) -> u128 {
        u128::from(at.as_nanos()).saturating_add(self.nanos_to_refill(spent))
    }

    /// Takes tokens that were admitted.
    #[inline]
    pub(crate) fn take(&self, spent: u128, tokens: u64) -> u128 {
        spent.saturating_add(self.grains(tokens))
    }

    /// Takes tokens without asking; a debt beyond `max_debt` tokens is forgiven.
    pub(crate) fn charge(&self, spent: u128, tokens: u64, max_debt: Option<u64>) -> u128 {
        let after = self.take(spent, tokens);
        match max_debt {
            None => after,
            Some(debt) => after.min(self.depth_with(debt).max(spent)),
        }
    }

    /// Grains that a bucket holds, and so many tokens of debt.
    pub(crate) fn depth_with(&self, debt: u64) -> u128 {
        self.depth.saturating_add(self.grains(debt))
    }

    /// Gives tokens back, never above full.
    pub(crate) fn refund(&self, spent: u128, tokens: u64) -> u128 {
        spent.saturating_sub(self.grains(tokens))
    }

    /// The ratio that keeps the spent tokens of a bucket `old`.
    pub(crate) fn tokens_ratio(&self, old: &Self) -> Ratio {
        Ratio {
            numerator: u128::from(self.token_grains),
            denominator: u128::from(old.token_grains),
        }
    }

    /// The ratio that keeps the spent fraction of a bucket `old`.
    pub(crate) const fn fraction_ratio(&self, old: &Self) -> Ratio {
        Ratio {
            numerator: self.depth,
            denominator: old.depth,
        }
    }

    /// The ratio that keeps the time until a bucket `old` is full.
    pub(crate) fn time_ratio(&self, old: &Self) -> Ratio {
        Ratio {
            numerator: u128::from(self.refill_grains),
            denominator: u128::from(old.refill_grains),
        }
    }

    #[inline]
    fn grains(&self, tokens: u64) -> u128 {
        u128::from(tokens) * u128::from(self.token_grains)
    }
}

/// `a / b` rounded up; one machine division where the dividend is small, as it nearly always is.
#[inline]
#[allow(clippy::cast_possible_truncation)] // the high half is zero
fn div_ceil(a: u128, b: u64) -> u128 {
    if a >> 64 == 0 {
        u128::from((a as u64).div_ceil(b))
    } else {
        a.div_ceil(u128::from(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Algorithm, Period};

    fn seven_per_second() -> Bucket {
        let mut config =
            PolicyConfig::new(Algorithm::TokenBucket, 7, Period::from_nanos(1_000_000_000));
        config.burst = Some(2);
        Bucket::token(&config)
    }

    #[test]
    fn a_period_that_does_not_divide_is_exact() {
        let bucket = seven_per_second();
        let spent = bucket.take(0, 2);
        assert_eq!(bucket.remaining(spent), 0);
        assert_eq!(bucket.nanos_to_refill(spent), 285_714_286, "ceil(2e9 / 7)");
        assert_eq!(bucket.remaining(bucket.refilled(spent, 142_857_142)), 0);
        assert_eq!(bucket.remaining(bucket.refilled(spent, 142_857_143)), 1);
    }

    #[test]
    fn debt_beyond_the_bound_is_forgiven_but_never_lowers_what_is_there() {
        let bucket = seven_per_second();
        let indebted = bucket.charge(0, 100, Some(3));
        assert_eq!(indebted, bucket.take(0, 5));
        assert_eq!(
            bucket.charge(bucket.take(0, 9), 1, Some(3)),
            bucket.take(0, 9)
        );
    }
}
