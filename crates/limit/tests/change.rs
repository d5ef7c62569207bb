//! What becomes of a key when its policies change: nothing is forgotten that should count, nothing is made up, and
//! no change creates tokens.

mod common;
mod kit;

use common::set_of;
use kit::{DECADE_NS, TestKey, at, bucket, config, set, time_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{
    Algorithm, Inherit, LIMIT_MAX, PERIOD_NS_MAX, Policy, PolicyConfig, PolicySet, Span,
};
use tollgate_oracle::strategy::{Grain, operations, policies};

const PERIOD_NS: u64 = 60_000;
/// Somewhere in the middle of a window.
const NOON: u64 = 1_000 * PERIOD_NS + PERIOD_NS / 2;

/// The key under other policies; `origins` says where each comes from.
fn changed<const N: usize>(
    key: &TestKey<N>,
    new: PolicySet,
    origins: &[Option<usize>],
    now: u64,
) -> TestKey<N> {
    let cell = new.inherit(&key.set, origins, &key.cell, at(now));
    TestKey {
        set: new,
        cell,
        receipts: key.receipts.clone(),
    }
}

/// The key of one policy under another one that grew out of it.
fn changed_to<const N: usize>(key: &TestKey<N>, new: &PolicyConfig, now: u64) -> TestKey<N> {
    changed(key, set([new.clone()]), &[Some(0)], now)
}

fn inheriting(mut config: PolicyConfig, inherit: Inherit) -> PolicyConfig {
    config.inherit = inherit;
    config
}

/// The same policies, with a rule of their own for what is carried over.
fn same_set(old: &PolicySet, inherit: Inherit) -> PolicySet {
    let configs = old.policies().iter().map(Policy::config);
    set(configs.map(|config| inheriting(config.clone(), inherit)))
}

fn algorithms() -> impl Strategy<Value = Algorithm> {
    select(Algorithm::ALL.to_vec())
}

/// Requests by the time since the one before, and their tokens.
fn requests() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((0_u64..=PERIOD_NS / 3, 1_u64..=5), 1..30)
}

/// A bucket and what was taken from it at once, some time ago.
#[derive(Clone, Debug)]
struct Spent {
    config: PolicyConfig,
    tokens: u64,
    elapsed: u64,
}

fn buckets() -> impl Strategy<Value = PolicyConfig> {
    let amounts = || prop_oneof![1_u64..=20, 1_u64..=1 << 20];
    let periods = prop_oneof![1_u64..=100, 1_u64..=1 << 40, Just(1_000_000_000)];
    let algorithms = select(vec![Algorithm::TokenBucket, Algorithm::LeakyBucket]);
    (algorithms, amounts(), periods, amounts()).prop_map(|(algorithm, limit, period_ns, burst)| {
        let mut config = config(algorithm, limit, period_ns);
        config.burst = Some(burst);
        config
    })
}

fn spent_buckets() -> impl Strategy<Value = Spent> {
    (buckets(), 1_u64..=32, 0_u64..=32).prop_map(|(config, tokens, elapsed)| {
        let burst = config.burst.unwrap_or(config.limit);
        // In sixteenths of the burst, so up to twice of it, and of the time that refills it.
        let refill =
            u128::from(burst) * u128::from(config.period.nanos()) / u128::from(config.limit);
        Spent {
            tokens: (burst * tokens / 16).max(1),
            elapsed: u64::try_from(refill).unwrap_or(u64::MAX) / 16 * elapsed,
            config,
        }
    })
}

impl Spent {
    /// Tokens still spent, as a fraction.
    fn fraction(&self) -> (u128, u128) {
        let period = u128::from(self.config.period.nanos());
        let refilled = u128::from(self.elapsed) * u128::from(self.config.limit);
        (
            (u128::from(self.tokens) * period).saturating_sub(refilled),
            period,
        )
    }

    /// Checks a changed bucket in which this many tokens, a fraction, must be spent.
    #[track_caller]
    fn carries_over(&self, new: &PolicyConfig, spent: u128, parts: u128) {
        let mut key = TestKey::<1>::new([self.config.clone()]);
        key.charge(self.tokens, 0);
        let key = changed_to(&key, new, self.elapsed);
        let status = key.status(self.elapsed)[0];
        let burst = u128::from(new.burst.unwrap_or(new.limit));
        let remaining = burst.saturating_sub(spent.div_ceil(parts));
        assert_eq!(u128::from(status.remaining), remaining);
        let refill =
            (spent * u128::from(new.period.nanos())).div_ceil(parts * u128::from(new.limit));
        assert_eq!(status.reset_after.as_nanos(), refill);
    }
}

proptest! {
    #[test]
    fn a_change_to_the_same_policies_changes_nothing(
        (policies, history, afterwards) in policies(1..=3).prop_flat_map(|policies| {
            let history = operations(policies.clone(), Grain::Nanos, 1..=40);
            let afterwards = operations(policies.clone(), Grain::Nanos, 1..=25);
            (Just(policies), history, afterwards)
        }),
        inherit in select(vec![Inherit::AsIs, Inherit::Proportional]),
        pause in prop_oneof![Just(0), 0_u64..=2_000_000_000]
    ) {
        let mut old = TestKey::<2>::over(set_of(&policies));
        old.apply_all(&history);
        let now = old.newest() + pause;
        let origins: Vec<_> = (0..policies.len()).map(Some).collect();
        let mut new = changed(&old, same_set(&old.set, inherit), &origins, now);
        let origin = afterwards.first().map_or(0, |operation| time_of(operation, 0));
        for operation in &afterwards {
            let now = now.saturating_add(time_of(operation, 0).saturating_sub(origin));
            prop_assert_eq!(new.status(now), old.status(now));
            prop_assert_eq!(new.apply(operation, now), old.apply(operation, now));
        }
    }

    #[test]
    fn a_bucket_carries_its_spent_tokens_over_as_they_are(spent in spent_buckets(), mut new in buckets()) {
        new.algorithm = spent.config.algorithm;
        let (tokens, parts) = spent.fraction();
        spent.carries_over(&new, tokens, parts);
    }

    #[test]
    fn a_bucket_carries_its_spent_share_over_in_proportion(spent in spent_buckets(), new in buckets()) {
        let mut new = inheriting(new, Inherit::Proportional);
        new.algorithm = spent.config.algorithm;
        let (tokens, parts) = spent.fraction();
        let depth = |config: &PolicyConfig| u128::from(config.burst.unwrap_or(config.limit));
        spent.carries_over(&new, tokens * depth(&new), parts * depth(&spent.config));
    }

    #[test]
    fn a_bucket_keeps_the_time_at_which_it_is_full(spent in spent_buckets(), new in buckets()) {
        let mut new = inheriting(new, Inherit::Time);
        new.algorithm = spent.config.algorithm;
        let mut key = TestKey::<1>::new([spent.config.clone()]);
        key.charge(spent.tokens, 0);
        let before = key.status(spent.elapsed)[0].reset_after;
        let key = changed_to(&key, &new, spent.elapsed);
        prop_assert_eq!(key.status(spent.elapsed)[0].reset_after, before);
    }

    /// Longer periods too: what counted when the policy changed still counts.
    #[test]
    fn every_algorithm_carries_its_spent_tokens_over_as_they_are(
        algorithm in algorithms(), requests in requests(), limit in 5_u64..=20, new_limit in 1_u64..=40,
        longer in 1_u64..=5
    ) {
        let mut key = TestKey::<1>::new([config(algorithm, limit, PERIOD_NS)]);
        let mut now = NOON;
        for (pause, tokens) in requests {
            now += pause;
            let _ = key.ask(tokens, now);
        }
        let spent = limit - key.left(now)[0];
        let new = config(algorithm, new_limit, PERIOD_NS * longer);
        prop_assert_eq!(changed_to(&key, &new, now).left(now), [new_limit.saturating_sub(spent)]);
    }

    /// As if the other limit had counted all along, at any later time.
    #[test]
    fn windows_take_another_limit_as_if_it_had_always_been(
        algorithm in select(Algorithm::ALL[2..].to_vec()), requests in requests(),
        new_limit in 1_u64..=40, later in vec(0..=PERIOD_NS, 1..6)
    ) {
        let new = config(algorithm, new_limit, PERIOD_NS);
        let mut key = TestKey::<1>::new([config(algorithm, 20, PERIOD_NS)]);
        let mut always = TestKey::<1>::new([new.clone()]);
        let mut now = NOON;
        for (pause, tokens) in requests {
            now += pause;
            if key.ask(tokens, now).decision.verdict.is_allowed() {
                always.charge(tokens, now);
            }
        }
        let key = changed_to(&key, &new, now);
        for pause in later {
            now += pause;
            prop_assert_eq!(key.status(now), always.status(now));
            prop_assert_eq!(key.would(3, now).decision, always.would(3, now).decision);
        }
    }

    #[test]
    fn a_log_takes_a_shorter_period_as_if_it_had_always_been(
        requests in requests(), shorter in 1..=PERIOD_NS, later in vec(0..=PERIOD_NS, 1..6)
    ) {
        let new = config(Algorithm::SlidingLog, 20, shorter);
        let mut key = TestKey::<1>::new([config(Algorithm::SlidingLog, 20, PERIOD_NS)]);
        let mut always = TestKey::<1>::new([new.clone()]);
        let mut now = NOON;
        for (pause, tokens) in requests {
            now += pause;
            if key.ask(tokens, now).decision.verdict.is_allowed() {
                always.charge(tokens, now);
            }
        }
        let key = changed_to(&key, &new, now);
        for pause in later {
            now += pause;
            prop_assert_eq!(key.status(now), always.status(now));
        }
    }

    #[test]
    fn every_algorithm_carries_its_spent_share_over_in_proportion(
        algorithm in algorithms(), limit in 1_u64..=1 << 30, sixteenths in 0_u64..=20, new_limit in 1_u64..=1 << 30
    ) {
        let spent = limit * sixteenths / 16;
        let mut key = TestKey::<1>::new([config(algorithm, limit, PERIOD_NS)]);
        key.charge(spent, NOON);
        let new = inheriting(config(algorithm, new_limit, PERIOD_NS), Inherit::Proportional);
        let share = (u128::from(spent) * u128::from(new_limit)).div_ceil(u128::from(limit));
        let left = u128::from(new_limit).saturating_sub(share);
        prop_assert_eq!(u128::from(changed_to(&key, &new, NOON).left(NOON)[0]), left);
    }

    /// At any later time: what is in use is the share of what would have been, rounded up once.
    #[test]
    fn many_requests_carry_over_in_proportion_as_one(
        algorithm in select(vec![Algorithm::SlidingLog, Algorithm::SlidingCounters]), requests in requests(),
        new_limit in 1_u64..=200, later in vec(0..=PERIOD_NS / 3, 1..6)
    ) {
        let limit = 60;
        let mut old = TestKey::<1>::new([config(algorithm, limit, PERIOD_NS)]);
        let mut now = NOON;
        for (pause, tokens) in requests {
            now += pause / 8;
            let _ = old.ask(tokens, now);
        }
        let new = inheriting(config(algorithm, new_limit, PERIOD_NS), Inherit::Proportional);
        let new = changed_to(&old, &new, now);
        prop_assert_eq!(new.fresh_at(), old.fresh_at());
        for pause in later {
            now += pause;
            let used = limit - old.left(now)[0];
            let share = (used * new_limit).div_ceil(limit);
            prop_assert_eq!(new.left(now), [new_limit - share]);
        }
    }

    #[test]
    fn weighted_windows_lose_less_than_a_token_in_proportion(
        requests in requests(), times in 1_u64..=5, longer in 1_u64..=2, later in vec(0..=PERIOD_NS / 3, 1..6)
    ) {
        let (limit, new_limit) = (60 * times, 60);
        let mut old = TestKey::<1>::new([config(Algorithm::SlidingWeighted, limit, PERIOD_NS)]);
        let mut now = NOON;
        for (pause, tokens) in requests {
            now += pause / 4;
            let _ = old.ask(tokens, now);
        }
        let new = config(Algorithm::SlidingWeighted, new_limit, PERIOD_NS * longer);
        let new = changed_to(&old, &inheriting(new, Inherit::Proportional), now);
        // Other windows fade otherwise, so that only the time of the change can be compared.
        let later = if longer == 1 { later } else { Vec::new() };
        for pause in [0].into_iter().chain(later) {
            now += pause;
            let share = old.left(now)[0] / times;
            prop_assert!((share.saturating_sub(1)..=share).contains(&new.left(now)[0]));
        }
    }

    /// A bucket of the largest promised size, and beyond.
    #[test]
    fn the_largest_buckets_carry_over_in_proportion(
        [old_burst, new_burst] in [1_u64..=LIMIT_MAX, 1..=LIMIT_MAX],
        [old_period, new_period] in [1_u64..=PERIOD_NS_MAX, 1..=PERIOD_NS_MAX], sixteenths in 0_u64..=16
    ) {
        let spent = old_burst / 16 * sixteenths;
        let mut key = TestKey::<1>::new([bucket(1, old_period, old_burst)]);
        key.charge(spent, 0);
        let new = inheriting(bucket(1, new_period, new_burst), Inherit::Proportional);
        let share = (u128::from(spent) * u128::from(new_burst)).div_ceil(u128::from(old_burst));
        let left = u128::from(new_burst) - share;
        prop_assert_eq!(u128::from(changed_to(&key, &new, 0).left(0)[0]), left);
    }

    #[test]
    fn a_reset_or_another_algorithm_starts_fresh(
        from in algorithms(), to in algorithms(), requests in requests()
    ) {
        let mut key = TestKey::<1>::new([config(from, 20, PERIOD_NS)]);
        let mut now = NOON;
        for (pause, tokens) in requests {
            now += pause;
            key.charge(tokens, now);
        }
        let inherit = if from == to { Inherit::Reset } else { Inherit::AsIs };
        let key = changed_to(&key, &inheriting(config(to, 20, PERIOD_NS), inherit), now);
        prop_assert_eq!(key.fresh_at(), now);
        prop_assert_eq!(key.status(now), TestKey::<1>::over(key.set.clone()).status(now));
    }
}

#[test]
fn a_tenth_in_a_hundred_entries_is_a_tenth() {
    let mut key = TestKey::<1>::new([config(Algorithm::SlidingLog, 1_000, PERIOD_NS)]);
    for now in 0..100 {
        let _ = key.ask(1, now);
    }
    let new = config(Algorithm::SlidingLog, 10, PERIOD_NS);
    let key = changed_to(&key, &inheriting(new, Inherit::Proportional), 100);
    assert_eq!(key.left(100), [9]);
    assert_eq!(key.fresh_at(), 99 + PERIOD_NS, "it leaves with the newest");
}

#[test]
fn a_tenth_in_sixty_slices_is_a_tenth() {
    let mut key = TestKey::<1>::new([config(Algorithm::SlidingCounters, 600, PERIOD_NS)]);
    for slice in 0..60 {
        let _ = key.ask(1, slice * 1_000);
    }
    let new = config(Algorithm::SlidingCounters, 6, PERIOD_NS);
    let key = changed_to(&key, &inheriting(new, Inherit::Proportional), 59_000);
    assert_eq!(key.left(59_000), [5]);
}

#[test]
fn half_of_a_bucket_of_ten_years_is_half() {
    let mut key = TestKey::<1>::new([bucket(1 << 40, DECADE_NS - 1, 1 << 40)]);
    key.charge(1 << 39, 0);
    let new = bucket(1 << 40, DECADE_NS - 3, (1 << 40) - 1);
    let key = changed_to(&key, &inheriting(new, Inherit::Proportional), 0);
    assert_eq!(key.left(0), [(1 << 39) - 1]);
}

#[test]
fn a_bucket_part_of_the_way_through_a_token_carries_over() {
    let mut key = TestKey::<1>::new([bucket(1, 999_999_999_989, 1 << 27)]);
    key.charge((1 << 26) + 1, 0);
    let new = bucket(1, 999_999_999_961, (1 << 27) - 1);
    let key = changed_to(&key, &inheriting(new, Inherit::Proportional), 1);
    assert_eq!(key.left(1), [(1 << 26) - 2]);
}

#[test]
fn a_policy_without_an_origin_starts_fresh() {
    for algorithm in Algorithm::ALL {
        let mut key = TestKey::<1>::new([config(algorithm, 10, PERIOD_NS)]);
        key.charge(7, NOON);
        for origins in [&[None][..], &[], &[Some(1)], &[Some(usize::MAX)]] {
            let new = changed(&key, key.set.clone(), origins, NOON);
            assert_eq!(
                new.left(NOON),
                [10],
                "{} from {origins:?}",
                algorithm.name()
            );
        }
    }
}

#[test]
fn policies_follow_their_origins_wherever_they_move() {
    let configs = Algorithm::ALL.map(|algorithm| config(algorithm, 100, PERIOD_NS));
    let mut key = TestKey::<1>::new(configs.clone());
    key.charge(30, NOON);
    let turned =
        set(configs
            .into_iter()
            .rev()
            .chain([config(Algorithm::SlidingLog, 50, PERIOD_NS)]));
    let origins = [Some(5), Some(4), Some(3), None, Some(1), Some(0), Some(3)];
    let new = changed(&key, turned, &origins, NOON);
    assert_eq!(new.left(NOON), [70, 70, 70, 100, 70, 70, 20]);
}

#[test]
fn a_cell_may_change_its_width_with_its_policies() {
    let old = set([config(Algorithm::TokenBucket, 10, PERIOD_NS)]);
    let mut key = TestKey::<1>::over(old);
    key.charge(4, NOON);
    let wider = set([
        config(Algorithm::TokenBucket, 10, PERIOD_NS),
        config(Algorithm::FixedWindow, 5, PERIOD_NS),
    ]);
    let cell = wider.inherit::<2, 1>(&key.set, &[Some(0), None], &key.cell, at(NOON));
    assert_eq!(cell.heap_bytes(), 0, "two words suffice");
    let left: Vec<_> = wider
        .status(&cell, at(NOON))
        .iter()
        .map(|status| status.remaining)
        .collect();
    assert_eq!(left, [6, 5]);
    let boxed = wider.inherit::<0, 2>(&wider, &[Some(0), Some(1)], &cell, at(NOON));
    assert_eq!(
        wider.status(&boxed, at(NOON)),
        wider.status(&cell, at(NOON))
    );
}

#[test]
fn a_change_at_an_earlier_time_does_not_turn_the_clock_back() {
    for algorithm in Algorithm::ALL {
        let mut key = TestKey::<1>::new([config(algorithm, 10, PERIOD_NS)]);
        key.charge(7, NOON);
        let new = changed_to(&key, &config(algorithm, 11, PERIOD_NS), 5);
        assert_eq!(
            (new.newest(), new.left(0)),
            (NOON, vec![4]),
            "{}",
            algorithm.name()
        );
    }
}

#[test]
fn a_smaller_bucket_starts_in_debt_for_what_it_cannot_hold() {
    let mut key = TestKey::<1>::new([kit::bucket(10, 1_000, 10)]);
    key.charge(9, 0);
    let key = changed_to(&key, &kit::bucket(10, 1_000, 5), 0);
    assert_eq!(key.left(0), [0]);
    let retry_after = key
        .would(1, 0)
        .decision
        .verdict
        .retry_after()
        .map(Span::as_nanos);
    assert_eq!(retry_after, Some(500), "four of debt and the one asked for");
}
