//! Waits are exact: a refused request passes after `retry_after` and not a nanosecond before, an admitted one waits
//! no longer than it must, and only a cost beyond the capacity is refused for ever.

mod common;
mod kit;

use common::set_of;
use kit::{DECADE_NS, LAST_NS, LATEST_NS, SECOND_NS, TestKey, bucket};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{OnLimit, PolicyConfig, Span, Verdict};
use tollgate_oracle::strategy::{Grain, contract_and_operations, operations, policy_of};
use tollgate_oracle::{self as oracle, Operation};

/// How much a question asks for.
#[derive(Clone, Copy, Debug)]
enum Amount {
    Exactly(u64),
    /// So many sixteenths of the capacity; seventeen are too many.
    Sixteenths(u64),
}

fn amounts() -> impl Strategy<Value = Amount> {
    prop_oneof![
        (0_u64..=3).prop_map(Amount::Exactly),
        (1_u64..=17).prop_map(Amount::Sixteenths),
    ]
}

impl Amount {
    fn tokens(self, capacity: u64) -> u64 {
        match self {
            Self::Exactly(tokens) => tokens,
            Self::Sixteenths(17) => capacity + 1,
            Self::Sixteenths(count) => (capacity / 16 * count + capacity % 16 * count / 16).max(1),
        }
    }
}

/// One policy of an algorithm and a history of it.
fn histories(
    algorithm: oracle::ModelAlgorithm,
) -> impl Strategy<Value = (oracle::Policy, Vec<Operation>)> {
    policy_of(algorithm).prop_flat_map(|policy| {
        let operations = operations(vec![policy.clone()], Grain::Nanos, 1..=40);
        (Just(policy), operations)
    })
}

/// A moment after everything that happened: so many sixteenths of the first policy's period later.
fn moment<const N: usize>(key: &TestKey<N>, sixteenths: u64) -> u64 {
    let period = key.set.policies()[0].config().period.nanos();
    (key.newest() + period / 16 * sixteenths).min(LATEST_NS)
}

/// Asks, and holds the answer against what the key says later. `after` nanoseconds more change nothing.
#[track_caller]
fn waits_are_exact<const N: usize>(key: &mut TestKey<N>, tokens: u64, now: u64, after: u64) {
    let capacity = key.capacity();
    let outcome = key.ask(tokens, now);
    let asked_at = u128::from(outcome.receipt.at.as_nanos());
    let verdict = outcome.decision.verdict;
    assert_eq!(
        verdict == Verdict::Never,
        tokens > capacity,
        "never, only beyond the capacity"
    );
    let Some(retry_after) = verdict.retry_after() else {
        return;
    };
    assert!(
        retry_after.as_nanos() > 0,
        "what passes at once is not refused"
    );
    match u64::try_from(asked_at + retry_after.as_nanos()) {
        Ok(then) if then <= LAST_NS => {
            assert!(!key.passes(tokens, then - 1), "told to come too late");
            assert!(key.passes(tokens, then), "told to come too early");
            let later = then.saturating_add(after);
            assert!(key.passes(tokens, later), "and for good");
        }
        // Beyond the last instant there is nobody to ask.
        Ok(_) | Err(_) => assert!(!key.passes(tokens, u64::MAX)),
    }
}

/// The tests of one algorithm, so that each gets its full number of cases.
macro_rules! retries {
    ($($name:ident: $algorithm:expr,)*) => {
        proptest! {
            $(
                #[test]
                fn $name(
                    (policy, operations) in histories($algorithm),
                    amount in amounts(), sixteenths in 0_u64..=20, after in 0_u64..=2 * DECADE_NS
                ) {
                    let mut key = TestKey::<1>::over(set_of(&[policy]));
                    key.apply_all(&operations);
                    let (tokens, now) = (amount.tokens(key.capacity()), moment(&key, sixteenths));
                    waits_are_exact(&mut key, tokens, now, after);
                }
            )*
        }
    };
}

retries! {
    a_token_bucket_says_exactly_when_to_come_back: oracle::ModelAlgorithm::TokenBucket,
    a_leaky_bucket_says_exactly_when_to_come_back: oracle::ModelAlgorithm::LeakyBucket,
    a_fixed_window_says_exactly_when_to_come_back: oracle::ModelAlgorithm::FixedWindow,
    a_sliding_log_says_exactly_when_to_come_back: oracle::ModelAlgorithm::SlidingLog,
    sliding_counters_say_exactly_when_to_come_back: oracle::ModelAlgorithm::SlidingCounters { slices: 12 },
    weighted_windows_say_exactly_when_to_come_back: oracle::ModelAlgorithm::SlidingWeighted,
}

/// A shaper without a bound on debt, and requests for it.
fn shaped() -> impl Strategy<Value = (PolicyConfig, Vec<(u64, u64)>)> {
    let periods = prop_oneof![1_u64..=100, select(vec![SECOND_NS, 999_999_937, DECADE_NS])];
    let limits = prop_oneof![1_u64..=12, Just(1 << 40)];
    (limits, periods, 1_u64..=12).prop_flat_map(|(limit, period_ns, burst)| {
        let pause = prop_oneof![Just(0), 1_u64..=3, 0..=period_ns];
        let steps = vec((pause, 1..=burst), 1..40);
        (Just(bucket(limit, period_ns, burst)), steps)
    })
}

proptest! {
    #[test]
    fn several_policies_together_say_exactly_when_to_come_back(
        (policies, operations) in contract_and_operations(Grain::Nanos, 0..=40),
        amount in amounts(), sixteenths in 0_u64..=20, after in 0_u64..=2 * DECADE_NS
    ) {
        let mut key = TestKey::<2>::over(set_of(&policies));
        key.apply_all(&operations);
        let (tokens, now) = (amount.tokens(key.capacity()), moment(&key, sixteenths));
        waits_are_exact(&mut key, tokens, now, after);
    }

    #[test]
    fn the_status_says_exactly_when_the_next_token_comes(
        (policies, operations) in contract_and_operations(Grain::Nanos, 0..=40), sixteenths in 0_u64..=20
    ) {
        let mut key = TestKey::<2>::over(set_of(&policies));
        key.apply_all(&operations);
        let now = moment(&key, sixteenths);
        let waits = key.status(now).into_iter().map(|status| status.next_token_after.as_nanos());
        let longest = waits.max().unwrap_or(0);
        match key.would(0, now).decision.verdict {
            Verdict::Allow => prop_assert_eq!(longest, 0),
            Verdict::Delay { wait } => prop_assert_eq!(longest, wait.as_nanos()),
            // Where one policy would only delay, it may have the longest wait of all.
            Verdict::Deny { retry_after } => prop_assert!(longest >= retry_after.as_nanos()),
            Verdict::Never => prop_assert!(false, "one token always fits"),
        }
    }

    /// A bucket that only refuses, charged with what the shaper admitted, holds the same level: its `retry_after`
    /// is the shortest wait there can be.
    #[test]
    fn a_shaper_makes_a_request_wait_exactly_until_its_tokens_are_there(
        (config, steps) in shaped(), longest in prop_oneof![Just(None), (0_u64..=200).prop_map(Some)]
    ) {
        let mut shaping = config.clone();
        shaping.on_limit = OnLimit::Delay { max_wait_ns: longest };
        let (mut shaper, mut denier) = (TestKey::<1>::new([shaping]), TestKey::<1>::new([config]));
        let mut now = 0;
        for (pause, tokens) in steps {
            now += pause;
            let needed = denier.would(tokens, now).decision.verdict.retry_after();
            let needed = needed.map_or(0, Span::as_nanos);
            let verdict = shaper.ask(tokens, now).decision.verdict;
            if verdict.is_allowed() {
                prop_assert_eq!(verdict.wait().as_nanos(), needed);
                denier.charge(tokens, now);
            } else {
                let longest = u128::from(longest.unwrap_or(u64::MAX));
                prop_assert!(needed > longest);
                prop_assert_eq!(verdict.retry_after().map(Span::as_nanos), Some(needed - longest));
            }
        }
    }

    #[test]
    fn a_leaky_bucket_makes_a_request_wait_exactly_until_the_queue_is_empty(
        (policy, operations) in histories(oracle::ModelAlgorithm::LeakyBucket), sixteenths in 0_u64..=20
    ) {
        let mut key = TestKey::<1>::over(set_of(&[policy]));
        key.apply_all(&operations);
        let now = moment(&key, sixteenths);
        let empty_after = key.status(now)[0].reset_after;
        let verdict = key.ask(1, now).decision.verdict;
        if verdict.is_allowed() {
            prop_assert_eq!(verdict.wait(), empty_after);
        }
    }
}
