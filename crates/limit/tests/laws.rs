//! The long-run law of each bucket, over every pair of admissions of a random trace.
//!
//! All sums are whole numbers: an inequality over `L / P` is multiplied by `P` first. The laws of the windows are
//! in `windows.rs`.

mod kit;

use kit::{DECADE_NS, LATEST_NS, SECOND_NS, TestKey, bucket, config};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{Algorithm, OnLimit, PolicyConfig, Verdict};

/// Where traces begin: not at zero, so that a clock has room to step back.
const START: u64 = 1_700_000_000 * SECOND_NS + 1;

/// How the clock moves, and what is asked for then.
type Step = (i64, u64);

/// What left, and when.
#[derive(Clone, Copy, Debug)]
struct Event {
    time: u128,
    tokens: u128,
}

/// `L`, `P` and `B`.
#[derive(Clone, Copy, Debug)]
struct Rate {
    limit: u128,
    period: u128,
    burst: u128,
}

impl Rate {
    fn of(config: &PolicyConfig) -> Self {
        Self {
            limit: u128::from(config.limit),
            period: u128::from(config.period.nanos()),
            burst: u128::from(config.burst.unwrap_or(config.limit)),
        }
    }

    /// What is granted within `nanos`, times `P`.
    fn granted(self, nanos: u128) -> u128 {
        self.burst * self.period + nanos * self.limit
    }

    /// Whether every refill lands on a whole nanosecond.
    fn is_whole(self) -> bool {
        self.period.is_multiple_of(self.limit)
    }
}

fn periods() -> impl Strategy<Value = u64> {
    let usual = vec![
        1_000_000,
        SECOND_NS,
        999_999_937,
        86_400 * SECOND_NS,
        DECADE_NS,
    ];
    prop_oneof![2 => 1_u64..=50, 1 => 51_u64..=5_000, 2 => select(usual)]
}

fn amounts() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1_u64..=12, 2 => 1_u64..=1_000, 1 => Just(1 << 40)]
}

fn buckets(algorithm: Algorithm) -> impl Strategy<Value = PolicyConfig> {
    (amounts(), periods(), amounts()).prop_map(move |(limit, period_ns, burst)| {
        let mut config = config(algorithm, limit, period_ns);
        config.burst = Some(burst);
        config
    })
}

fn shapers() -> impl Strategy<Value = PolicyConfig> {
    let longest = prop_oneof![Just(None), periods().prop_map(Some)];
    (buckets(Algorithm::TokenBucket), longest).prop_map(|(mut config, max_wait_ns)| {
        config.on_limit = OnLimit::Delay { max_wait_ns };
        config
    })
}

/// Steps that keep a bucket near its edges, with a clock that now and then steps back.
fn steps(config: &PolicyConfig) -> impl Strategy<Value = Vec<Step>> + use<> {
    let period = config.period.nanos().cast_signed();
    let burst = config.burst.unwrap_or(config.limit);
    let unit = (config.period.nanos() / config.limit).cast_signed();
    let pause = prop_oneof![
        6 => Just(0),
        2 => 1_i64..=3,
        3 => (0_i64..=5).prop_map(move |count| count * unit),
        3 => (unit - 1).max(0)..=unit + 1,
        2 => 0..=period,
        1 => 0..=3 * period,
        1 => -period..=0,
    ];
    let tokens = prop_oneof![5 => Just(1), 4 => 1..=burst, 1 => Just(burst), 1 => Just(burst + 1)];
    vec((pause, tokens), 1..80)
}

fn with_steps(
    configs: impl Strategy<Value = PolicyConfig>,
) -> impl Strategy<Value = (PolicyConfig, Vec<Step>)> {
    configs.prop_flat_map(|config| {
        let steps = steps(&config);
        (Just(config), steps)
    })
}

/// What left the key, at the times it was told to leave.
fn departures(config: &PolicyConfig, steps: &[Step]) -> Vec<Event> {
    let mut key = TestKey::<1>::new([config.clone()]);
    let mut events = Vec::new();
    let mut now = START;
    for &(pause, tokens) in steps {
        now = now.saturating_add_signed(pause).min(LATEST_NS);
        let outcome = key.ask(tokens, now);
        let verdict = outcome.decision.verdict;
        if verdict.is_allowed() {
            events.push(Event {
                time: u128::from(outcome.receipt.at.as_nanos()) + verdict.wait().as_nanos(),
                tokens: u128::from(tokens),
            });
        }
    }
    events
}

/// Calls `law` with the time between each two events and the tokens of all from the first to the last of them.
fn for_all_intervals(events: &[Event], law: impl Fn(u128, u128)) {
    for (place, first) in events.iter().enumerate() {
        let mut tokens = 0;
        for last in &events[place..] {
            tokens += last.tokens;
            assert!(last.time >= first.time, "first come, first served");
            law(last.time - first.time, tokens);
        }
    }
}

/// A bucket deep enough that a client asking for `tokens` at a time loses nothing to the brim.
fn greedy(periods: impl Strategy<Value = u64>) -> impl Strategy<Value = (PolicyConfig, u64)> {
    (amounts(), periods, 1_u64..=5, 0_u64..=20).prop_map(|(limit, period_ns, tokens, spare)| {
        let burst = tokens + limit.div_ceil(period_ns) + spare;
        (bucket(limit, period_ns, burst), tokens)
    })
}

/// The most that requests of `tokens` each can have taken `nanos` after the first.
fn due(rate: Rate, tokens: u64, nanos: u128) -> u128 {
    let tokens = u128::from(tokens);
    rate.granted(nanos) / (rate.period * tokens) * tokens
}

proptest! {
    #[test]
    fn a_token_bucket_grants_at_most_its_burst_and_the_refill_over_any_interval(
        (config, steps) in with_steps(buckets(Algorithm::TokenBucket))
    ) {
        let rate = Rate::of(&config);
        for_all_intervals(&departures(&config, &steps), |nanos, tokens| {
            assert!(tokens * rate.period <= rate.granted(nanos), "{tokens} within {nanos} ns");
        });
    }

    #[test]
    fn a_client_that_comes_back_when_told_gets_exactly_the_floor_of_the_bound(
        (config, tokens) in greedy(periods())
    ) {
        let rate = Rate::of(&config);
        let mut key = TestKey::<1>::new([config]);
        let (mut now, mut taken, mut refusals) = (START, 0, 0);
        while refusals < 40 && now < LATEST_NS {
            match key.ask(tokens, now).decision.verdict {
                Verdict::Allow => taken += u128::from(tokens),
                Verdict::Deny { retry_after } => {
                    refusals += 1;
                    let (elapsed, wait) = (u128::from(now - START), retry_after.as_nanos());
                    prop_assert_eq!(taken, due(rate, tokens, elapsed));
                    prop_assert_eq!(taken, due(rate, tokens, elapsed + wait - 1), "told to come too late");
                    prop_assert!(taken < due(rate, tokens, elapsed + wait), "told to come too early");
                    now = now.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX));
                }
                verdict @ (Verdict::Delay { .. } | Verdict::Never) => prop_assert!(false, "{:?}", verdict),
            }
            if taken > u128::from(tokens) * 3_000 {
                break;
            }
        }
    }

    #[test]
    fn a_client_that_asks_every_nanosecond_gets_exactly_the_floor_of_the_bound(
        (config, tokens) in greedy(1_u64..=60)
    ) {
        let rate = Rate::of(&config);
        let mut key = TestKey::<1>::new([config]);
        let mut taken = 0;
        for elapsed in 0..200 {
            if due(rate, tokens, elapsed) > u128::from(tokens) * 3_000 {
                break;
            }
            let now = START + u64::try_from(elapsed).unwrap_or(0);
            while key.ask(tokens, now).decision.verdict.is_allowed() {
                taken += u128::from(tokens);
            }
            prop_assert_eq!(taken, due(rate, tokens, elapsed), "after {} ns", elapsed);
        }
    }

    #[test]
    fn work_leaves_a_leaky_bucket_when_the_work_in_front_of_it_has_drained(
        (config, steps) in with_steps(buckets(Algorithm::LeakyBucket))
    ) {
        let rate = Rate::of(&config);
        let mut key = TestKey::<1>::new([config]);
        // In units of 1 / L ns: when the queue will be empty.
        let (mut now, mut empty_at) = (START, 0_u128);
        for (pause, tokens) in steps {
            now = now.saturating_add_signed(pause).min(LATEST_NS);
            let outcome = key.ask(tokens, now);
            let arrival = u128::from(outcome.receipt.at.as_nanos());
            let turn = empty_at.max(arrival * rate.limit);
            let full_at = turn + u128::from(tokens) * rate.period;
            let fits = full_at - arrival * rate.limit <= rate.burst * rate.period;
            let verdict = outcome.decision.verdict;
            prop_assert_eq!(verdict.is_allowed(), fits);
            if fits {
                prop_assert_eq!(arrival + verdict.wait().as_nanos(), turn.div_ceil(rate.limit));
                empty_at = full_at;
            }
        }
    }

    /// Between two departures there is time for all the work from the first to the one before the last, but for
    /// the nanosecond that rounding the waits up may move the first one.
    #[test]
    fn a_leaky_bucket_lets_work_out_no_faster_than_its_rate(
        (config, steps) in with_steps(buckets(Algorithm::LeakyBucket))
    ) {
        let rate = Rate::of(&config);
        let events = departures(&config, &steps);
        for (place, first) in events.iter().enumerate() {
            let mut tokens = 0;
            for (last, next) in events[place..].iter().zip(&events[place + 1..]) {
                tokens += last.tokens;
                prop_assert!(next.time >= first.time, "first come, first served");
                let work = tokens * rate.period;
                let room = (next.time - first.time) * rate.limit;
                if rate.is_whole() {
                    prop_assert!(work <= room);
                } else {
                    prop_assert!(work < room + rate.limit);
                }
            }
        }
    }

    /// Departures are rounded up to a nanosecond each, so the first of an interval may be late by less than the
    /// refill of one; where refills land on whole nanoseconds the law is exact.
    #[test]
    fn departures_of_a_shaper_obey_the_law_of_the_token_bucket(
        (config, steps) in with_steps(shapers())
    ) {
        let rate = Rate::of(&config);
        for_all_intervals(&departures(&config, &steps), |nanos, tokens| {
            let rounding = if rate.is_whole() { 0 } else { rate.limit - 1 };
            assert!(tokens * rate.period <= rate.granted(nanos) + rounding, "{tokens} within {nanos} ns");
        });
    }

    #[test]
    fn a_shaper_never_makes_anyone_wait_longer_than_the_longest_wait(
        (config, steps) in with_steps(shapers())
    ) {
        let longest = match config.on_limit {
            OnLimit::Delay { max_wait_ns: Some(nanos) } => u128::from(nanos),
            OnLimit::Delay { max_wait_ns: None } | OnLimit::Deny => u128::MAX,
        };
        let burst = config.burst.unwrap_or(config.limit);
        let mut key = TestKey::<1>::new([config]);
        let mut now = START;
        for (pause, tokens) in steps {
            now = now.saturating_add_signed(pause).min(LATEST_NS);
            let before = key.clone();
            match key.ask(tokens, now).decision.verdict {
                Verdict::Never => prop_assert!(tokens > burst),
                Verdict::Deny { .. } => {
                    prop_assert!(longest < u128::MAX, "without a longest wait nothing is refused");
                    prop_assert_eq!(key.status(now), before.status(now), "a refusal takes nothing");
                }
                verdict => prop_assert!(verdict.wait().as_nanos() <= longest),
            }
        }
    }
}

#[test]
fn a_shaper_spaces_a_burst_of_requests_evenly() {
    let mut config = bucket(7, SECOND_NS, 1);
    config.on_limit = OnLimit::Delay { max_wait_ns: None };
    let mut key = TestKey::<1>::new([config]);
    for place in 0..1_000_u128 {
        let wait = key.ask(1, START).decision.verdict.wait().as_nanos();
        assert_eq!(wait, (place * u128::from(SECOND_NS)).div_ceil(7));
    }
}
