//! The four algorithms that count: every charge ever made, by the slot it fell into.
//!
//! A slot is a window's start, a log entry's time, or the number of a slice or window. Nothing is ever
//! forgotten; slots outside the window are skipped in sums.

use std::collections::BTreeMap;

use num_bigint::BigInt;

use crate::policy::{ModelAlgorithm, Policy};
use crate::search;

/// Cost per slot since the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotCosts {
    slots: BTreeMap<i128, u128>,
}

impl SlotCosts {
    pub(crate) fn admits(&self, policy: &Policy, time: i128, cost: u64) -> bool {
        self.fits(policy, time, cost, u128::from(policy.limit))
    }

    pub(crate) fn remaining(&self, policy: &Policy, time: i128) -> u64 {
        search::largest(policy.limit, |n| self.admits(policy, time, n))
    }

    pub(crate) fn debt(&self, policy: &Policy, time: i128) -> u64 {
        let bound = |debt: i128| u128::from(policy.limit) + debt.unsigned_abs();
        let debt = search::smallest(|debt| self.fits(policy, time, 0, bound(debt)));
        u64::try_from(debt).unwrap_or(u64::MAX)
    }

    /// Adds to the current slot without a check, up to the deepest debt allowed.
    pub(crate) fn charge(&mut self, policy: &Policy, time: i128, amount: u64) {
        self.charge_slot(policy, time, amount, slot(policy, time));
    }

    /// Takes back from the newest slots first.
    pub(crate) fn refund(&mut self, policy: &Policy, time: i128, amount: u64) {
        let mut left = u128::from(amount);
        let counted = counted_at(policy, time);
        for (_, count) in self
            .slots
            .iter_mut()
            .rev()
            .filter(|(slot, _)| counted(**slot))
        {
            let taken = left.min(*count);
            *count -= taken;
            left -= taken;
        }
    }

    /// Adds the extra cost of a request charged at `charged_at`.
    pub(crate) fn settle_more(&mut self, policy: &Policy, time: i128, charged_at: i128, more: u64) {
        let current = slot(policy, time);
        let receipt = slot(policy, charged_at);
        let target = match policy.algorithm {
            ModelAlgorithm::SlidingLog | ModelAlgorithm::SlidingCounters { .. } => {
                if counted_at(policy, time)(receipt) {
                    receipt
                } else {
                    current
                }
            }
            ModelAlgorithm::FixedWindow
            | ModelAlgorithm::SlidingWeighted
            | ModelAlgorithm::TokenBucket
            | ModelAlgorithm::LeakyBucket => current,
        };
        self.charge_slot(policy, time, more, target);
    }

    /// Refunds the unused cost of a request charged at `charged_at`, while its slot still counts.
    pub(crate) fn settle_less(&mut self, policy: &Policy, time: i128, charged_at: i128, less: u64) {
        let receipt = slot(policy, charged_at);
        if counted_at(policy, time)(receipt) {
            let count = self.slots.entry(receipt).or_default();
            *count = count.saturating_sub(u128::from(less));
        }
    }

    pub(crate) fn is_fresh(&self, policy: &Policy, time: i128) -> bool {
        let counted = counted_at(policy, time);
        self.slots
            .iter()
            .all(|(slot, count)| *count == 0 || !counted(*slot))
    }

    fn charge_slot(&mut self, policy: &Policy, time: i128, amount: u64, slot: i128) {
        let charged = match policy.max_debt {
            None => amount,
            Some(max_debt) => {
                let bound = u128::from(policy.limit) + u128::from(max_debt);
                search::largest(amount, |n| self.fits(policy, time, n, bound))
            }
        };
        *self.slots.entry(slot).or_default() += u128::from(charged);
    }

    /// Whether `cost` on top of the sum at `time` stays within `bound`.
    fn fits(&self, policy: &Policy, time: i128, cost: u64, bound: u128) -> bool {
        if policy.algorithm == ModelAlgorithm::SlidingWeighted {
            return self.fits_weighted(policy, time, cost, bound);
        }
        let counted = counted_at(policy, time);
        let sum: u128 = self
            .slots
            .iter()
            .filter(|(slot, _)| counted(**slot))
            .map(|(_, count)| count)
            .sum();
        sum + u128::from(cost) <= bound
    }

    /// The inequality of the weighted windows, as it is written.
    fn fits_weighted(&self, policy: &Policy, time: i128, cost: u64, bound: u128) -> bool {
        let window = slot(policy, time);
        let period = BigInt::from(policy.period_ns());
        let since = BigInt::from(time) - &period * window;
        let count = |window: i128| BigInt::from(self.slots.get(&window).copied().unwrap_or(0));
        count(window - 1) * (&period - since) + (count(window) + cost) * &period <= bound * period
    }
}

fn slot(policy: &Policy, time: i128) -> i128 {
    match policy.algorithm {
        ModelAlgorithm::FixedWindow => policy.window_start(time),
        ModelAlgorithm::SlidingLog => time,
        ModelAlgorithm::SlidingCounters { slices } => {
            time / (policy.period_ns() / i128::from(slices))
        }
        ModelAlgorithm::SlidingWeighted => time / policy.period_ns(),
        ModelAlgorithm::TokenBucket | ModelAlgorithm::LeakyBucket => {
            panic!("a bucket has no slots")
        }
    }
}

/// Selects slots that contribute to the sum at `time`.
fn counted_at(policy: &Policy, time: i128) -> impl Fn(i128) -> bool {
    let current = slot(policy, time);
    let period = policy.period_ns();
    let algorithm = policy.algorithm;
    move |candidate| match algorithm {
        ModelAlgorithm::FixedWindow => candidate == current,
        ModelAlgorithm::SlidingLog => candidate > time - period,
        ModelAlgorithm::SlidingCounters { slices } => {
            current - i128::from(slices) < candidate && candidate <= current
        }
        ModelAlgorithm::SlidingWeighted => candidate == current || candidate == current - 1,
        ModelAlgorithm::TokenBucket | ModelAlgorithm::LeakyBucket => {
            panic!("a bucket has no slots")
        }
    }
}
