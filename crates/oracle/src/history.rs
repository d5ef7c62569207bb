//! The state of one policy for one key, for any algorithm.

use crate::bucket::{LeakyBucket, TokenBucket};
use crate::policy::{ModelAlgorithm, Policy};
use crate::search;
use crate::window::SlotCosts;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum History {
    Token(TokenBucket),
    Leaky(LeakyBucket),
    Counts(SlotCosts),
}

impl History {
    pub(crate) fn fresh(policy: &Policy) -> Self {
        match policy.algorithm {
            ModelAlgorithm::TokenBucket => History::Token(TokenBucket::full(policy)),
            ModelAlgorithm::LeakyBucket => History::Leaky(LeakyBucket::empty()),
            ModelAlgorithm::FixedWindow
            | ModelAlgorithm::SlidingLog
            | ModelAlgorithm::SlidingCounters { .. }
            | ModelAlgorithm::SlidingWeighted => History::Counts(SlotCosts::default()),
        }
    }

    pub(crate) fn admits(&self, policy: &Policy, time: i128, cost: u64) -> bool {
        match self {
            History::Token(bucket) => bucket.admits(policy, time, cost),
            History::Leaky(bucket) => bucket.admits(policy, time, cost),
            History::Counts(counts) => counts.admits(policy, time, cost),
        }
    }

    /// The delay of a request that is admitted.
    pub(crate) fn wait(&self, policy: &Policy, time: i128, cost: u64) -> u128 {
        let wait = match self {
            History::Token(bucket) => bucket.wait(policy, time, cost),
            History::Leaky(bucket) => bucket.wait(policy, time),
            History::Counts(_) => 0,
        };
        wait.unsigned_abs()
    }

    pub(crate) fn remaining(&self, policy: &Policy, time: i128) -> u64 {
        match self {
            History::Token(bucket) => bucket.remaining(policy, time),
            History::Leaky(bucket) => bucket.remaining(policy, time),
            History::Counts(counts) => counts.remaining(policy, time),
        }
    }

    /// Tokens below zero, rounded up. Waiting requests of a shaper are not debt.
    pub(crate) fn debt(&self, policy: &Policy, time: i128) -> u64 {
        match self {
            History::Token(_) if policy.delay.is_some() => 0,
            History::Token(bucket) => bucket.debt(policy, time),
            History::Leaky(bucket) => bucket.debt(policy, time),
            History::Counts(counts) => counts.debt(policy, time),
        }
    }

    /// How long until `cost` is admitted without other requests; `None` if that is never.
    pub(crate) fn retry_after(&self, policy: &Policy, time: i128, cost: u64) -> Option<u128> {
        if cost > policy.capacity() {
            return None;
        }
        let retry = search::smallest(|d| self.admits(policy, time.saturating_add(d), cost));
        Some(retry.unsigned_abs())
    }

    /// How long until this equals a history without any charge.
    pub(crate) fn reset_after(&self, policy: &Policy, time: i128) -> u128 {
        let fresh = |time| match self {
            History::Token(bucket) => bucket.is_fresh(policy, time),
            History::Leaky(bucket) => bucket.is_fresh(policy, time),
            History::Counts(counts) => counts.is_fresh(policy, time),
        };
        search::smallest(|d| fresh(time.saturating_add(d))).unsigned_abs()
    }

    /// Charges a request that was admitted, which no bound on debt ever cuts.
    pub(crate) fn admit(&mut self, policy: &Policy, time: i128, cost: u64) {
        match self {
            History::Token(bucket) => bucket.take(policy, time, cost),
            History::Leaky(bucket) => bucket.charge(policy, time, cost),
            History::Counts(counts) => counts.charge(policy, time, cost),
        }
    }

    /// Charges without a check, within the bound on debt.
    pub(crate) fn charge(&mut self, policy: &Policy, time: i128, amount: u64) {
        match self {
            History::Token(bucket) => bucket.charge(policy, time, amount),
            History::Leaky(bucket) => bucket.charge(policy, time, amount),
            History::Counts(counts) => counts.charge(policy, time, amount),
        }
    }

    pub(crate) fn refund(&mut self, policy: &Policy, time: i128, amount: u64) {
        match self {
            History::Token(bucket) => bucket.refund(policy, time, amount),
            History::Leaky(bucket) => bucket.refund(policy, time, amount),
            History::Counts(counts) => counts.refund(policy, time, amount),
        }
    }

    /// Adds the extra cost of a request charged at `charged_at`.
    pub(crate) fn settle_more(&mut self, policy: &Policy, time: i128, charged_at: i128, more: u64) {
        match self {
            History::Token(bucket) => bucket.charge(policy, time, more),
            History::Leaky(bucket) => bucket.charge(policy, time, more),
            History::Counts(counts) => counts.settle_more(policy, time, charged_at, more),
        }
    }

    /// Refunds the unused cost of a request charged at `charged_at`.
    pub(crate) fn settle_less(&mut self, policy: &Policy, time: i128, charged_at: i128, less: u64) {
        match self {
            History::Token(bucket) => bucket.refund(policy, time, less),
            History::Leaky(bucket) => bucket.refund(policy, time, less),
            History::Counts(counts) => counts.settle_less(policy, time, charged_at, less),
        }
    }
}
