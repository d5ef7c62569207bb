//! One key under one contract, in the few words the tests need. Not here: any idea of the right answer.

#![allow(dead_code, reason = "every test file uses a part of its own")]
#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use tollgate_limit::{
    Algorithm, Cell, Charge, Cost, Instant, KeyStatus, Lot, Outcome, Period, Policy, PolicyConfig,
    PolicySet,
};
use tollgate_oracle::Operation;

/// The end of the time that traces play in: far enough from the last instant to look ahead.
pub(crate) const LATEST_NS: u64 = 1 << 62;
/// The last instant there is.
pub(crate) const LAST_NS: u64 = Instant::LAST.as_nanos();
pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const DECADE_NS: u64 = 3_650 * 86_400 * SECOND_NS;

/// One key, its contract, and the receipts it holds.
#[derive(Clone, Debug)]
pub(crate) struct TestKey<const N: usize> {
    pub(crate) set: PolicySet,
    pub(crate) cell: Cell<N>,
    pub(crate) receipts: Vec<Charge>,
}

impl<const N: usize> TestKey<N> {
    /// A key never seen, under these policies.
    pub(crate) fn new(configs: impl IntoIterator<Item = PolicyConfig>) -> Self {
        Self::over(set(configs))
    }

    pub(crate) fn over(set: PolicySet) -> Self {
        let cell = Cell::fresh(&set);
        Self {
            set,
            cell,
            receipts: Vec::new(),
        }
    }

    pub(crate) fn ask(&mut self, tokens: u64, now: u64) -> Outcome {
        self.ask_as(tokens, now, Lot::ALWAYS)
    }

    pub(crate) fn ask_as(&mut self, tokens: u64, now: u64, lot: Lot) -> Outcome {
        self.set.check(&mut self.cell, cost(tokens), at(now), lot)
    }

    /// What the answer would be, without taking anything.
    pub(crate) fn would(&self, tokens: u64, now: u64) -> Outcome {
        self.clone().ask(tokens, now)
    }

    pub(crate) fn passes(&self, tokens: u64, now: u64) -> bool {
        self.would(tokens, now).decision.verdict.is_allowed()
    }

    pub(crate) fn charge(&mut self, tokens: u64, now: u64) {
        self.set.charge(&mut self.cell, cost(tokens), at(now));
    }

    pub(crate) fn refund(&mut self, tokens: u64, now: u64) {
        self.set.refund(&mut self.cell, cost(tokens), at(now));
    }

    pub(crate) fn settle(&mut self, receipt: &Charge, actual: u64, now: u64) {
        self.set
            .settle(&mut self.cell, receipt, cost(actual), at(now));
    }

    pub(crate) fn status(&self, now: u64) -> Vec<KeyStatus> {
        self.set.status(&self.cell, at(now))
    }

    /// Whole tokens left in each policy.
    pub(crate) fn left(&self, now: u64) -> Vec<u64> {
        self.status(now)
            .iter()
            .map(|status| status.remaining)
            .collect()
    }

    pub(crate) fn fresh_at(&self) -> u64 {
        self.set.fresh_at(&self.cell).as_nanos()
    }

    /// The newest time the key was charged at.
    pub(crate) fn newest(&self) -> u64 {
        self.cell.at().as_nanos()
    }

    /// The most that any request may cost.
    pub(crate) fn capacity(&self) -> u64 {
        let each = self.set.policies().iter().map(Policy::capacity);
        each.min().expect("a set has policies")
    }

    /// Carries out one operation at a time of its own, whichever key it names.
    pub(crate) fn apply(&mut self, operation: &Operation, now: u64) -> Option<Outcome> {
        let capped = |tokens: u64| tokens.min(Cost::MAX.tokens());
        match operation {
            Operation::Check { cost, .. } => {
                let outcome = self.ask(capped(*cost), now);
                if outcome.decision.verdict.is_allowed() && *cost > 0 {
                    self.receipts.push(outcome.receipt);
                }
                return Some(outcome);
            }
            Operation::Charge { amount, .. } => self.charge(capped(*amount), now),
            Operation::Refund { amount, .. } => self.refund(capped(*amount), now),
            Operation::Settle {
                receipt, actual, ..
            } => {
                if let Some(index) = Operation::pick(*receipt, self.receipts.len()) {
                    let receipt = self.receipts.remove(index);
                    self.settle(&receipt, capped(*actual), now);
                }
            }
            Operation::Reset { .. } => self.cell = Cell::fresh(&self.set),
        }
        None
    }

    /// Carries out operations at their own times.
    pub(crate) fn apply_all(&mut self, operations: &[Operation]) {
        for operation in operations {
            let _ = self.apply(operation, time_of(operation, self.newest()));
        }
    }
}

/// When an operation happens; `otherwise` where it has no time of its own.
pub(crate) fn time_of(operation: &Operation, otherwise: u64) -> u64 {
    match operation {
        Operation::Check { now_ns, .. }
        | Operation::Charge { now_ns, .. }
        | Operation::Refund { now_ns, .. }
        | Operation::Settle { now_ns, .. } => *now_ns,
        Operation::Reset { .. } => otherwise,
    }
}

pub(crate) fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

pub(crate) fn cost(tokens: u64) -> Cost {
    Cost::new(tokens).expect("a cost below 2^63")
}

pub(crate) fn set(configs: impl IntoIterator<Item = PolicyConfig>) -> PolicySet {
    let policies = configs
        .into_iter()
        .map(|config| Policy::new(config).expect("a valid policy"));
    PolicySet::new(policies.collect()).expect("a valid set")
}

/// `limit` per `period_ns` by an algorithm, cut into as many slices as divide the period.
pub(crate) fn config(algorithm: Algorithm, limit: u64, period_ns: u64) -> PolicyConfig {
    let mut config = PolicyConfig::new(algorithm, limit, Period::from_nanos(period_ns));
    let divides = |slices: &u32| period_ns.is_multiple_of(u64::from(*slices));
    config.slices = [60, 7, 4, 3, 2].into_iter().find(divides).unwrap_or(1);
    config
}

/// A token bucket with a depth of its own.
pub(crate) fn bucket(limit: u64, period_ns: u64, burst: u64) -> PolicyConfig {
    let mut config = config(Algorithm::TokenBucket, limit, period_ns);
    config.burst = Some(burst);
    config
}
