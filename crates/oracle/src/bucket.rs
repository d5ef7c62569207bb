//! The two buckets, as exact rationals moved from event to event.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use crate::policy::Policy;
use crate::search;

/// Tokens in a bucket at the moment it was last touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    level: BigRational,
    at: i128,
}

impl TokenBucket {
    pub(crate) fn full(policy: &Policy) -> Self {
        TokenBucket {
            level: whole(policy.capacity()),
            at: 0,
        }
    }

    fn level(&self, policy: &Policy, time: i128) -> BigRational {
        let refilled = &self.level + flow(policy, time - self.at);
        refilled.min(whole(policy.capacity()))
    }

    pub(crate) fn admits(&self, policy: &Policy, time: i128, cost: u64) -> bool {
        if cost > policy.capacity() {
            return false;
        }
        match policy.delay {
            None => self.level(policy, time) >= whole(cost),
            Some(None) => true,
            Some(Some(max_wait)) => {
                let latest = time.saturating_add(i128::from(max_wait));
                self.level(policy, latest) >= whole(cost)
            }
        }
    }

    /// How long until the tokens of an admitted request are available.
    pub(crate) fn wait(&self, policy: &Policy, time: i128, cost: u64) -> i128 {
        search::smallest(|d| self.level(policy, time.saturating_add(d)) >= whole(cost))
    }

    pub(crate) fn remaining(&self, policy: &Policy, time: i128) -> u64 {
        floor(&self.level(policy, time))
    }

    pub(crate) fn debt(&self, policy: &Policy, time: i128) -> u64 {
        ceil(&-self.level(policy, time))
    }

    /// Takes the tokens of an admitted request, which may only be available later for a delayed one.
    pub(crate) fn take(&mut self, policy: &Policy, time: i128, cost: u64) {
        self.level = self.level(policy, time) - whole(cost);
        self.at = time;
    }

    /// Takes tokens without a check, down to the deepest debt allowed.
    pub(crate) fn charge(&mut self, policy: &Policy, time: i128, amount: u64) {
        let before = self.level(policy, time);
        let mut after = &before - whole(amount);
        if let Some(max_debt) = policy.max_debt {
            let deepest = before.min(-whole(max_debt));
            after = after.max(deepest);
        }
        self.level = after;
        self.at = time;
    }

    pub(crate) fn refund(&mut self, policy: &Policy, time: i128, amount: u64) {
        let lifted = self.level(policy, time) + whole(amount);
        self.level = lifted.min(whole(policy.capacity()));
        self.at = time;
    }

    pub(crate) fn is_fresh(&self, policy: &Policy, time: i128) -> bool {
        self.level(policy, time) == whole(policy.capacity())
    }
}

/// Work in a queue at the moment it was last touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakyBucket {
    occupancy: BigRational,
    at: i128,
}

impl LeakyBucket {
    pub(crate) fn empty() -> Self {
        LeakyBucket {
            occupancy: BigRational::zero(),
            at: 0,
        }
    }

    fn occupancy(&self, policy: &Policy, time: i128) -> BigRational {
        let drained = &self.occupancy - flow(policy, time - self.at);
        drained.max(BigRational::zero())
    }

    pub(crate) fn admits(&self, policy: &Policy, time: i128, cost: u64) -> bool {
        self.occupancy(policy, time) + whole(cost) <= whole(policy.capacity())
    }

    /// How long until the work in front of an admitted request has drained.
    pub(crate) fn wait(&self, policy: &Policy, time: i128) -> i128 {
        search::smallest(|d| self.occupancy(policy, time.saturating_add(d)).is_zero())
    }

    pub(crate) fn remaining(&self, policy: &Policy, time: i128) -> u64 {
        floor(&(whole(policy.capacity()) - self.occupancy(policy, time)))
    }

    pub(crate) fn debt(&self, policy: &Policy, time: i128) -> u64 {
        ceil(&(self.occupancy(policy, time) - whole(policy.capacity())))
    }

    pub(crate) fn charge(&mut self, policy: &Policy, time: i128, amount: u64) {
        let before = self.occupancy(policy, time);
        let mut after = &before + whole(amount);
        if let Some(max_debt) = policy.max_debt {
            let fullest = before.max(whole(policy.capacity()) + whole(max_debt));
            after = after.min(fullest);
        }
        self.occupancy = after;
        self.at = time;
    }

    pub(crate) fn refund(&mut self, policy: &Policy, time: i128, amount: u64) {
        let lowered = self.occupancy(policy, time) - whole(amount);
        self.occupancy = lowered.max(BigRational::zero());
        self.at = time;
    }

    pub(crate) fn is_fresh(&self, policy: &Policy, time: i128) -> bool {
        self.occupancy(policy, time).is_zero()
    }
}

/// The flow in or out during `elapsed` nanoseconds.
fn flow(policy: &Policy, elapsed: i128) -> BigRational {
    assert!(elapsed >= 0, "time was clamped before it came here");
    BigRational::new(
        BigInt::from(elapsed) * policy.limit,
        BigInt::from(policy.period_ns()),
    )
}

fn whole(number: u64) -> BigRational {
    BigRational::from_integer(BigInt::from(number))
}

fn ceil(number: &BigRational) -> u64 {
    let ceiled = number.ceil().to_integer();
    ceiled.max(BigInt::zero()).to_u64().unwrap_or(u64::MAX)
}

fn floor(number: &BigRational) -> u64 {
    let floored = number.floor().to_integer();
    floored
        .max(BigInt::zero())
        .to_u64()
        .expect("at most the capacity")
}
