//! The short way: enforced token buckets that deny, with numbers that fit in 64 bits; one, or several together.
//!
//! It answers exactly as `bucket` does, or not at all: whatever is out of the ordinary is left to the long way.

use core::num::NonZeroU64;
use core::slice;

use crate::bucket::Bucket;
use crate::cell::Cell;
use crate::config::{Algorithm, OnLimit};
use crate::decision::{Charge, Cost, Decision, Outcome, Verdict};
use crate::policy::{Policy, Rule};
use crate::tally::bit;
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
        if tokens > self.burst.get() || tokens == 0 {
            return None;
        }
        let (at, word) = cell.single()?;
        let now = now.to_stored().max(*at);
        let spent = self.refilled(*word, now.get() - at.get());
        let admitted = spent <= self.most_before(tokens);
        if admitted {
            *at = now;
            *word = spent + self.grains(tokens);
        }
        Some(PlainDecision {
            now,
            tokens,
            spent,
            admitted,
        })
    }

    /// What to say of a request that was decided. It is inlined whole: callers that look at parts of it pay for those.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Else every division of it is made.
    pub fn decision(&self, taken: PlainDecision) -> Decision {
        let level = self.level(taken);
        Decision {
            verdict: self.verdict(taken),
            refused_by: if taken.admitted { None } else { Some(0) },
            policy: 0,
            limit: self.limit,
            remaining: self.remaining(level),
            debt: level
                .saturating_sub(self.depth)
                .div_ceil(self.token_grains.get()),
            reset_after: self.nanos_to_refill(level),
        }
    }

    /// What a request can be settled by.
    #[inline]
    pub fn receipt(&self, taken: PlainDecision) -> Charge {
        Charge {
            at: Instant::from_stored(taken.now),
            cost: taken.tokens,
            charged: u64::from(taken.admitted),
        }
    }

    /// Both together.
    pub(crate) fn outcome(&self, taken: PlainDecision) -> Outcome {
        Outcome {
            decision: self.decision(taken),
            receipt: self.receipt(taken),
            refusing: Vec::new(),
            shadowed: 0,
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn verdict(&self, taken: PlainDecision) -> Verdict {
        if taken.admitted {
            return Verdict::Allow;
        }
        let missing = taken.spent - self.most_before(taken.tokens);
        Verdict::Deny {
            retry_after: self.nanos_to_refill(missing),
        }
    }

    /// What is still spent after so many nanoseconds.
    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn refilled(&self, spent: u64, elapsed_ns: u64) -> u64 {
        let gained = elapsed_ns.checked_mul(self.refill_grains.get());
        gained.map_or(0, |gained| spent.saturating_sub(gained))
    }

    /// Whole tokens left of a level.
    #[inline]
    fn remaining(&self, level: u64) -> u64 {
        self.depth.saturating_sub(level) / self.token_grains
    }

    /// Grains spent once a request was decided.
    #[inline]
    const fn level(&self, taken: PlainDecision) -> u64 {
        if taken.admitted {
            taken.spent + self.grains(taken.tokens)
        } else {
            taken.spent
        }
    }

    /// The most grains spent before so many tokens, no more than the burst, that they still pass.
    #[inline]
    const fn most_before(&self, tokens: u64) -> u64 {
        self.depth - self.grains(tokens)
    }

    /// Grains of so many tokens, no more than the burst.
    #[inline]
    const fn grains(&self, tokens: u64) -> u64 {
        tokens * self.token_grains.get()
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

/// Several of them over one cell, all or nothing.
#[derive(Clone, Debug)]
pub(crate) struct Plains(Box<[Plain]>);

impl Plains {
    /// The short way for a set of several policies, where there is one.
    pub(crate) fn of(policies: &[Policy]) -> Option<Self> {
        let each = policies
            .iter()
            .map(|policy| Plain::of(slice::from_ref(policy)));
        let each: Box<[_]> = each.collect::<Option<_>>()?;
        (each.len() > 1).then_some(Self(each))
    }

    /// Decides one request that every policy admits, and charges it; `None` leaves everything to the long way.
    pub(crate) fn take<const N: usize>(
        &self,
        cell: &mut Cell<N>,
        cost: Cost,
        now: Instant,
    ) -> Option<Outcome> {
        let tokens = cost.tokens();
        let (at, words) = cell.words()?;
        let now = now.to_stored().max(*at);
        let elapsed = now.get() - at.get();
        let mut levels = [0; N];
        let (mut charged, mut least) = (0, None);
        for (index, (plain, level)) in self.0.iter().zip(&mut levels).enumerate() {
            let spent = plain.refilled(*words.get(index)?, elapsed);
            if tokens > plain.burst.get() || tokens == 0 || spent > plain.most_before(tokens) {
                return None;
            }
            *level = spent + plain.grains(tokens);
            charged |= bit(index);
            let left = plain.remaining(*level);
            if least.is_none_or(|(_, _, _, least)| left < least) {
                least = Some((index, plain, *level, left));
            }
        }
        let (policy, plain, level, remaining) = least.filter(|_| self.0.len() == N)?;
        (*at, *words) = (now, levels);
        Some(Outcome {
            decision: Decision {
                verdict: Verdict::Allow,
                refused_by: None,
                policy,
                limit: plain.limit,
                remaining,
                debt: 0,
                reset_after: plain.nanos_to_refill(level),
            },
            receipt: Charge {
                at: Instant::from_stored(now),
                cost: tokens,
                charged,
            },
            refusing: Vec::new(),
            shadowed: 0,
        })
    }
}

/// A request that was decided the short way: what [`Plain::decision`] needs to say so.
///
/// Small, so that it leaves the lock of a cell quickly; the divisions come after.
#[derive(Clone, Copy, Debug)]
pub struct PlainDecision {
    /// When it was decided, as cells keep it.
    now: NonZeroU64,
    tokens: u64,
    /// Grains spent before the request.
    spent: u64,
    admitted: bool,
}
