//! The short way: one enforced token bucket that denies, with numbers that fit in 64 bits.
//!
//! It answers exactly as `bucket` does, or not at all: whatever is out of the ordinary is left to the long way.

use core::num::NonZeroU64;

use crate::bucket::Bucket;
use crate::cell::Cell;
use crate::config::{Algorithm, OnLimit};
use crate::decision::{Charge, Cost, Decision, Outcome, Verdict};
use crate::policy::{Policy, Rule};
use crate::time::{Instant, Span};

/// A set that is one enforced token bucket that denies, with numbers that fit in 64 bits: the case worth a short way.
#[derive(Clone, Debug)]
pub struct Plain {
    limit: u64,
    burst: NonZeroU64,
    token_grains: NonZeroU64,
    refill_grains: NonZeroU64,
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
        Some(Self {
            limit,
            burst: NonZeroU64::new(bucket.burst())?,
            token_grains: NonZeroU64::new(token_grains)?,
            refill_grains: NonZeroU64::new(refill_grains)?,
            depth,
        })
    }

    /// Decides one request and charges it; `None` leaves everything to the long way.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The short way is worth it only as one function.
    pub fn take<const N: usize>(
        &self,
        cell: &mut Cell<N>,
        cost: Cost,
        now: Instant,
    ) -> Option<PlainDecision> {
        let tokens = cost.tokens();
        let (at, word) = cell.single()?;
        let before = Instant::from_stored(*at);
        let now = now.max(before);
        let elapsed = now.as_nanos() - before.as_nanos();
        let gained = elapsed.checked_mul(self.refill_grains.get());
        let spent = gained.map_or(0, |gained| word.saturating_sub(gained));
        if tokens > self.burst.get() || tokens == 0 {
            return None;
        }
        let after = spent.checked_add(tokens * self.token_grains.get())?;
        let admitted = after <= self.depth;
        if admitted {
            *at = now.to_stored();
            *word = after;
        }
        Some(PlainDecision {
            now,
            tokens,
            spent,
            after,
            admitted,
        })
    }

    /// Whether a request that was decided was admitted, and so charged.
    #[inline]
    pub const fn admits(&self, taken: PlainDecision) -> bool {
        taken.admitted
    }

    /// The limit.
    #[inline]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Whole tokens left after a request that was admitted.
    #[inline]
    pub fn remaining(&self, taken: PlainDecision) -> u64 {
        self.depth.saturating_sub(taken.after) / self.token_grains
    }

    /// Until the bucket is full again, after a request that was admitted.
    #[inline]
    pub fn reset_after(&self, taken: PlainDecision) -> Span {
        self.nanos_to_refill(taken.after)
    }

    /// What a request that was admitted can be settled by.
    #[inline]
    pub const fn receipt(&self, taken: PlainDecision) -> Charge {
        Charge {
            at: taken.now,
            cost: taken.tokens,
            charged: 1,
        }
    }

    /// What to say of a request that was decided.
    #[inline]
    pub fn outcome(&self, taken: PlainDecision) -> Outcome {
        if !self.admits(taken) {
            let PlainDecision {
                now,
                tokens,
                spent,
                after,
                ..
            } = taken;
            return self.refusal(now, tokens, spent, after);
        }
        let remaining = self.remaining(taken);
        let decision = Decision {
            verdict: Verdict::Allow,
            refused_by: None,
            policy: 0,
            limit: self.limit,
            remaining,
            debt: 0,
            reset_after: self.reset_after(taken),
        };
        Outcome {
            decision,
            receipt: self.receipt(taken),
            refusing: Vec::new(),
            shadowed: 0,
        }
    }

    /// Takes its arguments one by one: by address, the short way would have to put them in memory each time.
    #[inline(never)]
    fn refusal(&self, now: Instant, tokens: u64, spent: u64, after: u64) -> Outcome {
        let remaining = self.depth.saturating_sub(spent) / self.token_grains;
        let decision = Decision {
            verdict: Verdict::Deny {
                retry_after: self.nanos_to_refill(after - self.depth),
            },
            refused_by: Some(0),
            policy: 0,
            limit: self.limit,
            remaining,
            debt: spent
                .saturating_sub(self.depth)
                .div_ceil(self.token_grains.get()),
            reset_after: self.nanos_to_refill(spent),
        };
        let receipt = Charge {
            at: now,
            cost: tokens,
            charged: 0,
        };
        Outcome {
            decision,
            receipt,
            refusing: Vec::new(),
            shadowed: 0,
        }
    }

    #[inline]
    fn nanos_to_refill(&self, grains: u64) -> Span {
        let nanos = match self.refill_grains {
            NonZeroU64::MIN => grains,
            several => grains.div_ceil(several.get()),
        };
        Span::from_nanos(u128::from(nanos))
    }
}

/// A request that was decided the short way: what [`Plain::outcome`] needs to say so.
///
/// Small, so that it leaves the lock of a cell quickly; the divisions come after.
#[derive(Clone, Copy, Debug)]
pub struct PlainDecision {
    now: Instant,
    tokens: u64,
    /// Grains spent before the request, and after it if it was admitted.
    spent: u64,
    after: u64,
    admitted: bool,
}
