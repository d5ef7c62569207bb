//! `fresh_at` is exact: from then on a cell answers everything as one that was never used, and a nanosecond before
//! it can still be told apart. This is what lets a table forget a key.

mod common;
mod kit;

use common::set_of;
use kit::{LAST_NS, TestKey, time_of};
use proptest::prelude::*;
use tollgate_limit::Span;
use tollgate_oracle::strategy::{Grain, operations, policies};
use tollgate_oracle::{Operation, Policy};

/// A contract, its history, and what comes afterwards.
#[derive(Clone, Debug)]
struct Life {
    policies: Vec<Policy>,
    history: Vec<Operation>,
    afterwards: Vec<Operation>,
}

fn lives() -> impl Strategy<Value = Life> {
    policies(1..=3).prop_flat_map(|policies| {
        let history = operations(policies.clone(), Grain::Nanos, 1..=40);
        let afterwards = operations(policies.clone(), Grain::Nanos, 1..=25);
        (history, afterwards).prop_map(move |(history, afterwards)| Life {
            policies: policies.clone(),
            history,
            afterwards,
        })
    })
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(u128::from(nanos))
}

/// Nanoseconds until every policy says that it is fresh.
fn longest_reset<const N: usize>(key: &TestKey<N>, now: u64) -> u128 {
    let each = key.status(now).into_iter();
    each.map(|status| status.reset_after.as_nanos())
        .max()
        .unwrap_or(0)
}

/// Whether every policy has its whole capacity at `now`.
fn is_whole<const N: usize>(key: &TestKey<N>, now: u64) -> bool {
    let capacities = key
        .set
        .policies()
        .iter()
        .map(tollgate_limit::Policy::capacity);
    key.left(now).into_iter().eq(capacities)
}

/// Holds a used key against an unused one from `start` on: every answer and every status must be the same.
///
/// The receipts of the used key go to both: they may come in long after everything else was forgotten.
#[track_caller]
fn lives_on_like_a_fresh_one<const N: usize>(
    mut used: TestKey<N>,
    start: u64,
    operations: &[Operation],
) {
    let mut unused = TestKey::<N>::over(used.set.clone());
    unused.receipts.clone_from(&used.receipts);
    let origin = operations
        .first()
        .map_or(0, |operation| time_of(operation, 0));
    for operation in operations {
        let now = start.saturating_add(time_of(operation, 0).saturating_sub(origin));
        assert_eq!(used.status(now), unused.status(now));
        assert_eq!(used.apply(operation, now), unused.apply(operation, now));
    }
}

#[track_caller]
fn is_fresh_exactly_at<const N: usize>(key: &TestKey<N>, fresh_at: u64) {
    assert!(is_whole(key, fresh_at), "fresh means full");
    for status in key.status(fresh_at) {
        assert_eq!(
            (status.reset_after, status.next_token_after),
            (Span::ZERO, Span::ZERO)
        );
    }
    if fresh_at > key.newest() {
        let before = fresh_at - 1;
        assert!(
            !is_whole(key, before),
            "one nanosecond earlier something is missing"
        );
        let statuses = key.status(before);
        let resets = statuses.iter().map(|status| status.reset_after);
        assert_eq!(resets.max(), Some(span(1)));
        let told = key.would(0, before).decision;
        assert_eq!(told.reset_after, statuses[told.policy].reset_after);
    }
}

fn a_used_cell_becomes_fresh<const N: usize>(life: &Life, later: u64) {
    let mut key = TestKey::<N>::over(set_of(&life.policies));
    key.apply_all(&life.history);
    let fresh_at = key.fresh_at();
    let exactly = u128::from(key.newest()) + longest_reset(&key, key.newest());
    assert_eq!(u128::from(fresh_at), exactly.min(u128::from(LAST_NS)));
    if exactly <= u128::from(LAST_NS) {
        is_fresh_exactly_at(&key, fresh_at);
    } else {
        assert!(!is_whole(&key, u64::MAX), "it does not recover in time");
    }
    if fresh_at < u64::MAX / 2 {
        lives_on_like_a_fresh_one(key, fresh_at + later, &life.afterwards);
    }
}

fn thorough() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig {
        cases: config.cases.max(1_000),
        ..config
    }
}

proptest! {
    #![proptest_config(thorough())]

    #[test]
    fn a_cell_of_words_is_fresh_from_fresh_at_on(
        life in lives(), later in prop_oneof![Just(0), 0_u64..=1_000_000_000_000]
    ) {
        match life.policies.len() {
            1 => a_used_cell_becomes_fresh::<1>(&life, later),
            2 => a_used_cell_becomes_fresh::<2>(&life, later),
            _ => a_used_cell_becomes_fresh::<3>(&life, later),
        }
    }

    #[test]
    fn a_boxed_cell_is_fresh_from_fresh_at_on(
        life in lives(), later in prop_oneof![Just(0), 0_u64..=1_000_000_000_000]
    ) {
        a_used_cell_becomes_fresh::<0>(&life, later);
    }

    #[test]
    fn every_answer_says_how_long_until_the_policy_it_names_is_fresh(life in lives()) {
        let mut key = TestKey::<1>::over(set_of(&life.policies));
        for operation in &life.history {
            let now = time_of(operation, 0);
            if let Some(outcome) = key.apply(operation, now) {
                let answered_at = outcome.receipt.at.as_nanos();
                let told = outcome.decision;
                prop_assert_eq!(told.reset_after, key.status(answered_at)[told.policy].reset_after);
            }
            let clamped = now.max(key.newest());
            let exactly = u128::from(key.newest()) + longest_reset(&key, key.newest());
            prop_assert_eq!(longest_reset(&key, now), exactly.saturating_sub(u128::from(clamped)));
        }
    }
}

#[test]
fn a_key_that_was_given_everything_back_is_fresh_at_once() {
    for algorithm in tollgate_limit::Algorithm::ALL {
        let mut key = TestKey::<1>::new([kit::config(algorithm, 10, 60_000)]);
        let receipt = key.ask(7, 90_000).receipt;
        assert!(key.fresh_at() > 90_000, "{}", algorithm.name());
        key.settle(&receipt, 0, 90_000);
        assert_eq!(key.fresh_at(), 90_000, "{}", algorithm.name());
    }
}

#[test]
fn a_peek_and_a_refusal_leave_a_fresh_key_fresh() {
    for algorithm in tollgate_limit::Algorithm::ALL {
        let mut key = TestKey::<1>::new([kit::config(algorithm, 10, 60_000)]);
        let peek = key.ask(0, 5);
        let refusal = key.ask(11, 7);
        assert_eq!(
            peek.decision.reset_after,
            Span::ZERO,
            "{}",
            algorithm.name()
        );
        assert_eq!(
            refusal.decision.reset_after,
            Span::ZERO,
            "{}",
            algorithm.name()
        );
        assert_eq!(key.fresh_at(), 0, "not even the time was written");
    }
}
