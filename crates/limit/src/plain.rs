//! The short way: one enforced token bucket that denies, with numbers that fit in 64 bits.
//!
//! It answers exactly as `bucket` does, or not at all: whatever is out of the ordinary is left to the long way.

use core::num::NonZeroU64;

use crate::bucket::Bucket;
use crate::cell::stored;
use crate::config::{Algorithm, OnLimit};
use crate::decision::{Decision, Outcome, Receipt, Verdict};
use crate::policy::{Policy, Rule};
use crate::time::{Instant, Span};

/// The numbers of a plain bucket; see `bucket` for grains.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    limit: u64,
    burst: u64,
    token_grains: u64,
    refill_grains: u64,
    depth: u64,
}

impl Plain {
    /// The short way for a set of policies, where there is one.
    pub(crate) fn of(policies: &[Policy]) -> Option<Self> {
        let [policy] = policies else { return None };
        let config = policy.config();
        let ordinary = config.algorithm == Algorithm::TokenBucket
            && config.on_limit == OnLimit::Deny
            && config.enforce_percent == 100
            && !config.count_refused;
        match &policy.rule {
            Rule::Bucket(bucket) if ordinary => Self::of_bucket(config.limit, bucket),
            _ => None,
        }
    }

    fn of_bucket(limit: u64, bucket: &Bucket) -> Option<Self> {
        let (token_grains, refill_grains) = bucket.rate();
        let depth = token_grains.checked_mul(bucket.burst())?;
        Some(Self { limit, burst: bucket.burst(), token_grains, refill_grains, depth })
    }

    /// Decides and charges, given the stored time and spent grains of a cell.
    #[inline]
    pub(crate) fn check(
        &self,
        at: &mut NonZeroU64,
        word: &mut u64,
        tokens: u64,
        now: Instant,
    ) -> Option<Outcome> {
        let now = now.as_nanos().max(at.get() - 1);
        let elapsed = now - (at.get() - 1);
        let gained = elapsed.checked_mul(self.refill_grains);
        let spent = gained.map_or(0, |gained| word.saturating_sub(gained));
        if tokens > self.burst || tokens == 0 {
            return None;
        }
        let after = spent.checked_add(tokens * self.token_grains)?;
        let receipt = Receipt { at: Instant::from_nanos(now), cost: tokens, charged: 1 };
        if after > self.depth {
            return Some(self.refuse(spent, after - self.depth, receipt));
        }
        *at = stored(receipt.at);
        *word = after;
        let remaining = (self.depth - after) / self.token_grains;
        let decision = Decision {
            verdict: Verdict::Allow,
            refused_by: None,
            limit: self.limit,
            remaining,
            reset_after: self.nanos_to_refill(after),
        };
        Some(Outcome { decision, receipt, remaining_before: remaining + tokens, shadowed: 0 })
    }

    /// The refusal of a request that finds `missing` grains too few.
    #[inline]
    fn refuse(&self, spent: u64, missing: u64, receipt: Receipt) -> Outcome {
        let remaining = self.depth.saturating_sub(spent) / self.token_grains;
        let decision = Decision {
            verdict: Verdict::Deny { retry_after: self.nanos_to_refill(missing) },
            refused_by: Some(0),
            limit: self.limit,
            remaining,
            reset_after: self.nanos_to_refill(spent),
        };
        let receipt = Receipt { charged: 0, ..receipt };
        Outcome { decision, receipt, remaining_before: remaining, shadowed: 0 }
    }

    #[inline]
    fn nanos_to_refill(&self, grains: u64) -> Span {
        let nanos = match self.refill_grains {
            1 => grains,
            several => grains.div_ceil(several),
        };
        Span::from_nanos(u128::from(nanos))
    }
}
