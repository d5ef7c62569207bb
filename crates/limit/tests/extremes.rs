//! The largest limits, the longest and shortest periods, the first and last instants, the largest costs: no panic,
//! no wrapping, and still the exact answer. Tests are compiled with overflow checks.

mod common;
mod kit;

use common::set_of;
use kit::{DECADE_NS, LAST_NS, TestKey, bucket, config, time_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{
    Algorithm, Calendar, Cost, LIMIT_MAX, OnLimit, PERIOD_NS_MAX, Period, PolicyConfig, Span,
};
use tollgate_oracle::strategy::{Grain, operations};
use tollgate_oracle::{self as oracle, Model, Operation};

const COST_MAX: u64 = Cost::MAX.tokens();

fn limits() -> impl Strategy<Value = u64> {
    select(vec![1, 2, (1 << 40) - 1, 1 << 40, LIMIT_MAX - 1, LIMIT_MAX])
}

fn periods() -> impl Strategy<Value = u64> {
    select(vec![
        1,
        2,
        60,
        DECADE_NS - 1,
        DECADE_NS,
        PERIOD_NS_MAX - 1,
        PERIOD_NS_MAX,
    ])
}

fn instants() -> impl Strategy<Value = u64> {
    select(vec![
        0,
        1,
        2,
        DECADE_NS,
        1 << 60,
        1 << 63,
        u64::MAX - PERIOD_NS_MAX,
        u64::MAX - 2,
        u64::MAX - 1,
        u64::MAX,
    ])
}

fn tokens() -> impl Strategy<Value = u64> {
    select(vec![
        0,
        1,
        2,
        1 << 32,
        1 << 40,
        LIMIT_MAX,
        LIMIT_MAX + 1,
        COST_MAX - 1,
        COST_MAX,
    ])
}

fn debts() -> impl Strategy<Value = Option<u64>> {
    select(vec![
        None,
        Some(0),
        Some(1),
        Some(LIMIT_MAX),
        Some(u64::MAX),
    ])
}

/// A policy at the edge of what is allowed.
fn policies() -> impl Strategy<Value = PolicyConfig> {
    let delays = select(vec![None, Some(None), Some(Some(0)), Some(Some(u64::MAX))]);
    let algorithm = select(Algorithm::ALL.to_vec());
    (
        algorithm,
        limits(),
        periods(),
        limits(),
        (debts(), delays, any::<bool>(), instants()),
    )
        .prop_map(
            |(algorithm, limit, period_ns, burst, (max_debt, delay, count_refused, offset_ns))| {
                let mut config = config(algorithm, limit, period_ns);
                config.burst = algorithm.is_bucket().then_some(burst);
                config.max_debt = max_debt;
                config.count_refused = count_refused;
                match (algorithm, delay) {
                    (Algorithm::TokenBucket, Some(max_wait_ns)) => {
                        config.on_limit = OnLimit::Delay { max_wait_ns };
                    }
                    (Algorithm::FixedWindow, _) => config.offset_ns = offset_ns,
                    _ => {}
                }
                config
            },
        )
}

/// What a storm is made of: which operation, how much, when.
fn storms() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    vec((0_u8..4, tokens(), instants()), 1..60)
}

/// Does one thing and sees that nothing moved the wrong way.
#[track_caller]
fn moves_the_right_way<const N: usize>(key: &mut TestKey<N>, act: u8, tokens: u64, now: u64) {
    let now = now.max(key.newest());
    let before = key.left(now);
    match act {
        0 => {
            let outcome = key.ask(tokens, now);
            if outcome.decision.verdict.is_allowed() && tokens > 0 {
                key.receipts.push(outcome.receipt);
            }
        }
        1 => key.charge(tokens, now),
        2 => key.refund(tokens, now),
        _ => {
            let Some(receipt) = key.receipts.pop() else {
                return;
            };
            key.settle(&receipt, tokens, now);
            if tokens <= receipt.cost {
                assert!(
                    rises(&before, &key.left(now)),
                    "settling for less never takes"
                );
            } else {
                assert!(
                    rises(&key.left(now), &before),
                    "settling for more never gives"
                );
            }
        }
    }
    match act {
        0 | 1 => assert!(rises(&key.left(now), &before), "a charge never gives"),
        2 => assert!(rises(&before, &key.left(now)), "a refund never takes"),
        _ => {}
    }
    for (policy, left) in key.set.policies().iter().zip(key.left(now)) {
        assert!(left <= policy.capacity());
    }
    assert!(key.fresh_at() >= key.newest());
}

fn rises(low: &[u64], high: &[u64]) -> bool {
    low.iter().zip(high).all(|(low, high)| low <= high)
}

/// The model's policies at the largest promised sizes: limits of 2^40, periods of ten years.
fn promised() -> impl Strategy<Value = oracle::Policy> {
    let algorithms = select(vec![
        oracle::ModelAlgorithm::TokenBucket,
        oracle::ModelAlgorithm::LeakyBucket,
        oracle::ModelAlgorithm::FixedWindow,
        oracle::ModelAlgorithm::SlidingLog,
        oracle::ModelAlgorithm::SlidingCounters { slices: 60 },
        oracle::ModelAlgorithm::SlidingCounters { slices: 1 },
        oracle::ModelAlgorithm::SlidingWeighted,
    ]);
    let limits = || select(vec![(1_u64 << 40) - 1, 1 << 40, 1]);
    let periods = select(vec![60, DECADE_NS - 60, DECADE_NS, PERIOD_NS_MAX]);
    let debts = select(vec![None, Some(0), Some(1 << 40)]);
    (algorithms, limits(), periods, limits(), debts).prop_map(
        |(algorithm, limit, period_ns, burst, max_debt)| {
            let mut policy =
                oracle::Policy::new(algorithm, limit, oracle::Period::Nanos(period_ns));
            let is_bucket = matches!(
                algorithm,
                oracle::ModelAlgorithm::TokenBucket | oracle::ModelAlgorithm::LeakyBucket
            );
            policy.burst = is_bucket.then_some(burst);
            policy.max_debt = max_debt;
            policy
        },
    )
}

fn promised_and_operations() -> impl Strategy<Value = (oracle::Policy, Vec<Operation>)> {
    promised().prop_flat_map(|policy| {
        let operations = operations(vec![policy.clone()], Grain::Nanos, 1..=40);
        (Just(policy), operations)
    })
}

/// The same operation so many nanoseconds later, or at the last instant there is.
fn moved(operation: &Operation, later: u64) -> Operation {
    let mut operation = operation.clone();
    match &mut operation {
        Operation::Check { now_ns, .. }
        | Operation::Charge { now_ns, .. }
        | Operation::Refund { now_ns, .. }
        | Operation::Settle { now_ns, .. } => *now_ns = now_ns.saturating_add(later).min(LAST_NS),
        Operation::Reset { .. } => {}
    }
    operation
}

#[track_caller]
fn agrees_with_the_model(policy: &oracle::Policy, operations: &[Operation]) {
    let mut key = TestKey::<1>::over(set_of(std::slice::from_ref(policy)));
    let mut model = Model::new(vec![policy.clone()]);
    let mut receipts = Vec::new();
    for operation in operations {
        let theirs = model.apply(&for_one_key(operation), &mut receipts);
        let ours = key.apply(operation, time_of(operation, 0));
        assert_eq!(ours.is_some(), theirs.is_some());
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            continue;
        };
        let verdict = ours.decision.verdict;
        assert_eq!(verdict.is_allowed(), theirs.allowed);
        assert_eq!(ours.decision.remaining, theirs.remaining);
        assert_eq!(
            verdict.retry_after().map(Span::as_nanos),
            theirs.retry_after
        );
        assert_eq!(verdict.wait().as_nanos(), theirs.wait);
    }
}

/// The same operation on the one key there is here.
fn for_one_key(operation: &Operation) -> Operation {
    let mut operation = operation.clone();
    match &mut operation {
        Operation::Check { key, .. }
        | Operation::Charge { key, .. }
        | Operation::Refund { key, .. }
        | Operation::Reset { key } => "ann".clone_into(key),
        Operation::Settle { .. } => {}
    }
    operation
}

/// A thousand cases, or as many as `PROPTEST_CASES` asks for beyond that.
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
    fn a_storm_at_the_edges_moves_nothing_the_wrong_way(configs in vec(policies(), 1..=3), storm in storms()) {
        let (mut words, mut boxed) = (TestKey::<1>::new(configs.clone()), TestKey::<0>::new(configs));
        for (act, tokens, now) in storm {
            moves_the_right_way(&mut boxed, act, tokens, now);
            moves_the_right_way(&mut words, act, tokens, now);
            prop_assert_eq!(words.status(now), boxed.status(now));
            prop_assert_eq!(words.would(tokens, now), boxed.would(tokens, now));
            prop_assert_eq!((words.newest(), words.fresh_at()), (boxed.newest(), boxed.fresh_at()));
        }
    }

    #[test]
    fn a_cell_of_one_word_agrees_with_a_boxed_one_to_the_end_of_time(config in policies(), storm in storms()) {
        let (mut word, mut boxed) = (TestKey::<1>::new([config.clone()]), TestKey::<0>::new([config]));
        for (act, tokens, now) in storm {
            moves_the_right_way(&mut word, act, tokens, now);
            moves_the_right_way(&mut boxed, act, tokens, now);
            prop_assert_eq!(word.status(now), boxed.status(now));
            prop_assert_eq!(word.would(tokens, now), boxed.would(tokens, now));
        }
    }

    #[test]
    fn a_refusal_in_the_last_nanoseconds_never_says_to_come_back_at_once(
        configs in vec(policies(), 1..=3), storm in storms(), before in 0_u64..=2
    ) {
        let mut key = TestKey::<1>::new(configs);
        for (_, tokens, _) in storm {
            let retry_after = key.ask(tokens, u64::MAX - before).decision.verdict.retry_after();
            prop_assert_ne!(retry_after, Some(Span::ZERO));
        }
    }

    #[test]
    fn policies_of_the_largest_promised_size_agree_with_the_model(
        (policy, operations) in promised_and_operations()
    ) {
        agrees_with_the_model(&policy, &operations);
    }

    #[test]
    fn the_last_operations_of_all_time_agree_with_the_model(
        (policy, operations) in promised_and_operations(), beyond in 0_u64..=100
    ) {
        let latest = operations.iter().map(|operation| time_of(operation, 0)).max().unwrap_or(0);
        let later = (LAST_NS - latest).saturating_add(beyond);
        let operations: Vec<_> = operations.iter().map(|operation| moved(operation, later)).collect();
        agrees_with_the_model(&policy, &operations);
    }
}

#[test]
fn the_largest_bucket_is_exact_to_the_last_token() {
    let mut key = TestKey::<1>::new([bucket(LIMIT_MAX, PERIOD_NS_MAX, LIMIT_MAX)]);
    assert_eq!(key.ask(LIMIT_MAX, 0).decision.remaining, 0);
    let one = u128::from(PERIOD_NS_MAX).div_ceil(u128::from(LIMIT_MAX));
    let refusal = key.would(1, 0).decision;
    assert_eq!(refusal.verdict.retry_after().map(Span::as_nanos), Some(one));
    assert_eq!(refusal.reset_after.as_nanos(), u128::from(PERIOD_NS_MAX));
    assert_eq!(key.left(PERIOD_NS_MAX - 1), [LIMIT_MAX - 1]);
    assert_eq!(key.left(PERIOD_NS_MAX), [LIMIT_MAX]);
}

#[test]
fn a_debt_beyond_all_time_is_a_long_wait_and_not_a_panic() {
    let mut key = TestKey::<1>::new([bucket(1, PERIOD_NS_MAX, 1)]);
    for _ in 0..1_000 {
        key.charge(COST_MAX, 0);
    }
    let retry_after = key.would(1, u64::MAX).decision.verdict.retry_after();
    assert!(retry_after.is_some_and(|wait| wait.as_nanos() > u128::from(u64::MAX)));
    for _ in 0..1_000 {
        key.refund(COST_MAX, 0);
    }
    assert!(key.left(0)[0] <= 1);
}

#[test]
fn a_period_of_one_nanosecond_grants_the_limit_every_nanosecond() {
    for algorithm in Algorithm::ALL {
        // No part of a nanosecond fades, so weighted windows hold everything back for one more.
        let pause = if algorithm == Algorithm::SlidingWeighted {
            2
        } else {
            1
        };
        let mut key = TestKey::<1>::new([config(algorithm, LIMIT_MAX, 1)]);
        for now in (0..10).step_by(pause) {
            assert!(
                key.ask(LIMIT_MAX, now).decision.verdict.is_allowed(),
                "{}",
                algorithm.name()
            );
            let retry_after = key.ask(1, now).decision.verdict.retry_after();
            let nanos = retry_after.and_then(|wait| usize::try_from(wait.as_nanos()).ok());
            assert_eq!(nanos, Some(pause), "{}", algorithm.name());
        }
    }
}

#[test]
fn the_first_and_the_last_instant_have_an_answer() {
    let calendars = [Calendar::WEEK, Calendar::MONTH, Calendar::YEAR];
    let calendars =
        calendars.map(|unit| PolicyConfig::new(Algorithm::FixedWindow, 1, Period::Calendar(unit)));
    let others = Algorithm::ALL.map(|algorithm| config(algorithm, 1, DECADE_NS));
    for config in calendars.into_iter().chain(others) {
        let mut key = TestKey::<1>::new([config]);
        assert!(key.ask(1, 0).decision.verdict.is_allowed());
        assert!(!key.passes(1, 0));
        assert!(!key.passes(2, u64::MAX), "more than there ever is");
        assert!(key.fresh_at() > 0);
    }
}

#[test]
fn the_last_nanosecond_gives_its_tokens_once() {
    for (period_ns, now) in [(1, u64::MAX), (PERIOD_NS_MAX, u64::MAX - 5)] {
        let config = config(Algorithm::TokenBucket, 1, period_ns);
        let (mut word, mut boxed) = (
            TestKey::<1>::new([config.clone()]),
            TestKey::<0>::new([config]),
        );
        for passes in [true, false, false] {
            let outcome = word.ask(1, now);
            assert_eq!(outcome.decision.verdict.is_allowed(), passes);
            assert_eq!(outcome, boxed.ask(1, now));
        }
    }
}

#[test]
fn a_wait_beyond_the_last_instant_is_still_exact() {
    for algorithm in Algorithm::ALL {
        let mut key = TestKey::<1>::new([config(algorithm, 1, DECADE_NS)]);
        let now = LAST_NS - LAST_NS % DECADE_NS;
        let admitted = key.ask(1, now).decision;
        let whole = if algorithm == Algorithm::SlidingWeighted {
            2
        } else {
            1
        };
        let reset_after = whole * u128::from(DECADE_NS);
        assert_eq!(
            admitted.reset_after.as_nanos(),
            reset_after,
            "{}",
            algorithm.name()
        );
        let elapsed = LAST_NS - now;
        let refused = key.ask(1, u64::MAX).decision;
        let left = reset_after - u128::from(elapsed);
        assert_eq!(refused.reset_after.as_nanos(), left, "{}", algorithm.name());
        let retry_after = refused.verdict.retry_after().map(Span::as_nanos);
        assert_eq!(retry_after, Some(left), "{}", algorithm.name());
    }
}

#[test]
fn the_last_calendar_windows_are_as_long_as_any() {
    let day = 86_400 * kit::SECOND_NS;
    let zone = |unit: Calendar| unit.in_zone("Pacific/Kiritimati").expect("a zone");
    let units = [
        Calendar::DAY,
        Calendar::WEEK,
        Calendar::MONTH,
        Calendar::YEAR,
    ];
    for unit in units
        .into_iter()
        .flat_map(|unit| [zone(unit.clone()), unit])
    {
        let length = unit.nominal_nanos();
        let config = PolicyConfig::new(Algorithm::FixedWindow, 1, Period::Calendar(unit));
        let mut key = TestKey::<1>::new([config]);
        assert!(
            key.ask(1, LAST_NS - length - 2 * day)
                .decision
                .verdict
                .is_allowed()
        );
        assert!(
            key.ask(1, u64::MAX).decision.verdict.is_allowed(),
            "the next window"
        );
        let refused = key
            .ask(1, u64::MAX)
            .decision
            .verdict
            .retry_after()
            .map(Span::as_nanos);
        let longest = u128::from(length + 2 * day);
        assert!(refused.is_some_and(|wait| (1..=longest).contains(&wait)));
    }
}

#[test]
fn counters_beyond_their_width_never_wrap() {
    for algorithm in Algorithm::ALL {
        let mut key = TestKey::<1>::new([config(algorithm, LIMIT_MAX, 60)]);
        for _ in 0..5 {
            key.charge(COST_MAX, 7);
            assert_eq!(key.left(7), [0], "{}", algorithm.name());
        }
        key.refund(1, 7);
        assert_eq!(key.left(7), [0], "{}", algorithm.name());
    }
}
