//! Every answer equals that of the slow model, for random policies of every algorithm and random histories.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a broken set-up must stop the test"
)]

mod common;

use std::collections::BTreeMap;

use common::set_of;
use proptest::prelude::*;
use tollgate_limit::{Cell, Charge, Cost, Instant, Lot, Outcome, PolicySet};
use tollgate_oracle::strategy::{self, Grain};
use tollgate_oracle::{Model, ModelAnswer, Operation};

/// Cells by key, decided over by one set.
struct Cells<const N: usize> {
    set: PolicySet,
    by_key: BTreeMap<String, Cell<N>>,
    outstanding: Vec<(String, Charge)>,
}

impl<const N: usize> Cells<N> {
    fn new(set: PolicySet) -> Self {
        Self {
            set,
            by_key: BTreeMap::new(),
            outstanding: Vec::new(),
        }
    }

    fn apply(&mut self, operation: &Operation) -> Option<Outcome> {
        let set = &self.set;
        match operation {
            Operation::Check { key, cost, now_ns } => {
                let cell = cell_of(&mut self.by_key, set, key);
                let outcome = set.check(cell, cost_of(*cost), at(*now_ns), Lot::ALWAYS);
                return Some(outcome);
            }
            Operation::Charge {
                key,
                amount,
                now_ns,
            } => {
                let cell = cell_of(&mut self.by_key, set, key);
                set.charge(cell, cost_of(*amount), at(*now_ns));
            }
            Operation::Refund {
                key,
                amount,
                now_ns,
            } => {
                let cell = cell_of(&mut self.by_key, set, key);
                set.refund(cell, cost_of(*amount), at(*now_ns));
            }
            Operation::Settle {
                receipt,
                actual,
                now_ns,
            } => {
                if let Some(index) = Operation::pick(*receipt, self.outstanding.len()) {
                    let (key, receipt) = self.outstanding.remove(index);
                    let cell = cell_of(&mut self.by_key, set, &key);
                    set.settle(cell, &receipt, cost_of(*actual), at(*now_ns));
                }
            }
            Operation::Reset { key } => drop(self.by_key.remove(key)),
        }
        None
    }
}

/// The cell of a key, made where there is none.
fn cell_of<'c, const N: usize>(
    cells: &'c mut BTreeMap<String, Cell<N>>,
    set: &PolicySet,
    key: &str,
) -> &'c mut Cell<N> {
    cells
        .entry(key.to_owned())
        .or_insert_with(|| Cell::fresh(set))
}

#[track_caller]
fn agree(ours: &Outcome, theirs: &ModelAnswer) {
    let verdict = ours.decision.verdict;
    assert_eq!(verdict.is_allowed(), theirs.allowed);
    assert_eq!(ours.decision.refused_by, theirs.policy);
    assert_eq!(ours.decision.remaining, theirs.remaining);
    assert_eq!(
        verdict.retry_after().map(tollgate_limit::Span::as_nanos),
        theirs.retry_after
    );
    assert_eq!(verdict.wait().as_nanos(), theirs.wait);
}

/// Runs the same operations on the model and on cells of `N` words, comparing every answer.
fn compare<const N: usize>(policies: &[tollgate_oracle::Policy], operations: &[Operation]) {
    let mut model = Model::new(policies.to_vec());
    let mut cells = Cells::<N>::new(set_of(policies));
    let mut outstanding = Vec::new();
    for operation in operations {
        let before = outstanding.len();
        let theirs = model.apply(operation, &mut outstanding);
        let ours = cells.apply(operation);
        match (&ours, &theirs) {
            (Some(ours), Some(theirs)) => {
                agree(ours, theirs);
                let Operation::Check { key, .. } = operation else {
                    panic!("only a check has an answer");
                };
                let resets = model.reset_after(key, ours.receipt.at.as_nanos());
                let own = resets[ours.decision.policy];
                assert_eq!(ours.decision.reset_after.as_nanos(), own);
                let told = &theirs.per_policy[ours.decision.policy];
                assert_eq!(
                    (ours.decision.remaining, ours.decision.debt),
                    (told.remaining, told.debt)
                );
                if outstanding.len() > before {
                    cells.outstanding.push((key.clone(), ours.receipt));
                }
            }
            (None, None) => {}
            _ => panic!("one answered and the other did not"),
        }
    }
}

fn cost_of(tokens: u64) -> Cost {
    Cost::new(tokens).unwrap_or(Cost::MAX)
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Two thousand cases, or as many as `PROPTEST_CASES` asks for beyond that.
fn thorough() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig {
        cases: config.cases.max(2_000),
        ..config
    }
}

proptest! {
    #![proptest_config(thorough())]

    #[test]
    fn cells_of_a_word_per_policy_agree_with_the_model(
        (policies, operations) in strategy::contract_and_operations(Grain::Nanos, 1..=60)
    ) {
        match policies.len() {
            1 => compare::<1>(&policies, &operations),
            2 => compare::<2>(&policies, &operations),
            _ => compare::<3>(&policies, &operations),
        }
    }

    #[test]
    fn boxed_cells_agree_with_the_model(
        (policies, operations) in strategy::contract_and_operations(Grain::Nanos, 1..=60)
    ) {
        compare::<0>(&policies, &operations);
    }
}
