//! The law of each algorithm that counts in windows, over every window of a random trace.
//!
//! Where windows begin is worked out here again, or written down as instants. The laws of the buckets are in
//! `laws.rs`.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

mod common;
mod kit;

use std::collections::BTreeMap;

use common::set_of;
use jiff::Timestamp;
use kit::{DECADE_NS, LATEST_NS, SECOND_NS, TestKey, config, time_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{Algorithm, Calendar, Period, PolicyConfig, Span, Verdict};
use tollgate_oracle as oracle;
use tollgate_oracle::strategy::{Grain, operations, policy_of};

/// Where traces begin, with room to step back.
const START: u64 = 1_700_000_000 * SECOND_NS + 1;

/// When something was admitted and how much.
type Admission = (u64, u64);

fn periods() -> impl Strategy<Value = u64> {
    let usual = vec![60, SECOND_NS, 999_999_937, 86_400 * SECOND_NS, DECADE_NS];
    prop_oneof![2 => 1_u64..=50, 1 => 51_u64..=5_000, 2 => select(usual)]
}

fn limits() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1_u64..=12, 2 => 1_u64..=1_000, 1 => Just(1 << 40)]
}

/// A policy, and steps that keep it near its limit and the clock near the edges of windows.
fn traces(algorithm: Algorithm) -> impl Strategy<Value = (PolicyConfig, Vec<(i64, u64)>)> {
    (limits(), periods()).prop_flat_map(move |(limit, period_ns)| {
        let period = period_ns.cast_signed();
        let pause = prop_oneof![
            8 => Just(0),
            3 => 1_i64..=3,
            3 => 0..=(period / 8).max(1),
            2 => (period - 1)..=period + 1,
            1 => 0..=3 * period,
            1 => -period..=0,
        ];
        let tokens = prop_oneof![4 => Just(1), 4 => 1..=limit, 1 => Just(limit)];
        let steps = vec((pause, tokens), 1..80);
        (Just(config(algorithm, limit, period_ns)), steps)
    })
}

fn admissions(config: &PolicyConfig, steps: &[(i64, u64)]) -> Vec<Admission> {
    let mut key = TestKey::<1>::new([config.clone()]);
    let mut admitted = Vec::new();
    let mut now = START;
    for &(pause, tokens) in steps {
        now = now.saturating_add_signed(pause).min(LATEST_NS);
        let outcome = key.ask(tokens, now);
        if outcome.decision.verdict == Verdict::Allow {
            admitted.push((outcome.receipt.at.as_nanos(), tokens));
        }
    }
    admitted
}

/// The tokens admitted in each slot.
fn by_slot(admitted: &[Admission], slot: impl Fn(u64) -> i128) -> BTreeMap<i128, u128> {
    let mut slots = BTreeMap::new();
    for &(time, tokens) in admitted {
        *slots.entry(slot(time)).or_default() += u128::from(tokens);
    }
    slots
}

/// The tokens admitted from `first` on, for less than `nanos`.
fn admitted_within(admitted: &[Admission], first: u64, nanos: u64) -> u128 {
    let inside = |time: u64| first <= time && time - first < nanos;
    admitted
        .iter()
        .filter(|entry| inside(entry.0))
        .map(|entry| u128::from(entry.1))
        .sum()
}

/// The number of the window that holds `time`.
fn window(config: &PolicyConfig, time: u64) -> i128 {
    let since = i128::from(time) - i128::from(config.offset_ns);
    since.div_euclid(i128::from(config.period.nanos()))
}

proptest! {
    #[test]
    fn a_fixed_window_admits_at_most_its_limit(
        (mut config, steps) in traces(Algorithm::FixedWindow), offset_ns in 0..=DECADE_NS
    ) {
        config.offset_ns = offset_ns;
        let admitted = admissions(&config, &steps);
        for tokens in by_slot(&admitted, |time| window(&config, time)).values() {
            prop_assert!(*tokens <= u128::from(config.limit));
        }
    }

    #[test]
    fn a_client_that_always_asks_gets_the_whole_limit_in_every_window(
        limit in 1_u64..=20, period_ns in periods(), offset_ns in 0..=DECADE_NS,
        pauses in vec((0_u64..=3, 0_u64..=9), 1..40)
    ) {
        let mut config = config(Algorithm::FixedWindow, limit, period_ns);
        config.offset_ns = offset_ns;
        let mut key = TestKey::<1>::new([config.clone()]);
        let mut admitted = Vec::new();
        let mut now = START;
        for (periods, tenths) in pauses {
            now = (now + periods * period_ns + period_ns / 10 * tenths).min(LATEST_NS);
            while key.ask(1, now).decision.verdict.is_allowed() {
                admitted.push((now, 1));
            }
            let slots = by_slot(&admitted, |time| window(&config, time));
            prop_assert!(slots.values().all(|tokens| *tokens == u128::from(limit)));
            let wait = key.would(1, now).decision.verdict.retry_after().map_or(0, Span::as_nanos);
            let next = now + u64::try_from(wait).unwrap_or(0);
            prop_assert_eq!(window(&config, next), window(&config, now) + 1);
            prop_assert_eq!(window(&config, next - 1), window(&config, now));
        }
    }

    #[test]
    fn a_sliding_log_admits_at_most_its_limit_in_any_period(
        (config, steps) in traces(Algorithm::SlidingLog)
    ) {
        let admitted = admissions(&config, &steps);
        for (first, _) in &admitted {
            let tokens = admitted_within(&admitted, *first, config.period.nanos());
            prop_assert!(tokens <= u128::from(config.limit));
        }
    }

    #[test]
    fn a_client_of_a_sliding_log_that_always_asks_gets_the_limit_every_period(
        limit in 1_u64..=20, period_ns in periods(), gaps in vec(0_u64..=5, 20)
    ) {
        let mut key = TestKey::<1>::new([config(Algorithm::SlidingLog, limit, period_ns)]);
        let mut admitted: Vec<u64> = Vec::new();
        let mut now = START;
        for gap in gaps.iter().chain([&0; 60]) {
            if let Verdict::Deny { retry_after } = key.ask(1, now).decision.verdict {
                let wait = u64::try_from(retry_after.as_nanos()).unwrap_or(u64::MAX);
                let limit = usize::try_from(limit).expect("small");
                let leaving = admitted[admitted.len() - limit];
                prop_assert_eq!(now + wait, leaving + period_ns, "when the oldest that counts leaves");
                now += wait;
            } else {
                admitted.push(now);
                now += gap;
            }
            if now > LATEST_NS {
                break;
            }
        }
    }

    #[test]
    fn sliding_counters_admit_at_most_their_limit_in_as_many_slices_as_a_period_has(
        (config, steps) in traces(Algorithm::SlidingCounters)
    ) {
        let slices = i128::from(config.slices);
        let width = config.period.nanos() / u64::from(config.slices);
        let counts = by_slot(&admissions(&config, &steps), |time| i128::from(time / width));
        for first in counts.keys() {
            let tokens: u128 = counts.range(first..&(first + slices)).map(|slot| slot.1).sum();
            prop_assert!(tokens <= u128::from(config.limit));
        }
    }

    #[test]
    fn one_slice_is_the_fixed_window_answer_by_answer(
        (policy, operations) in policy_of(oracle::ModelAlgorithm::SlidingCounters { slices: 1 })
            .prop_flat_map(|mut policy| {
                policy.period = oracle::Period::Nanos(policy.period.nominal_ns());
                let operations = operations(vec![policy.clone()], Grain::Nanos, 1..=60);
                (Just(policy), operations)
            })
    ) {
        let fixed = oracle::Policy { algorithm: oracle::ModelAlgorithm::FixedWindow, ..policy.clone() };
        let mut counters = TestKey::<1>::over(set_of(&[policy]));
        let mut window = TestKey::<1>::over(set_of(&[fixed]));
        for operation in &operations {
            let now = time_of(operation, 0);
            prop_assert_eq!(counters.apply(operation, now), window.apply(operation, now));
            prop_assert_eq!(counters.status(now), window.status(now));
        }
    }

    #[test]
    fn weighted_windows_hold_their_inequality_at_every_admission(
        (config, steps) in traces(Algorithm::SlidingWeighted)
    ) {
        let period = u128::from(config.period.nanos());
        let admitted = admissions(&config, &steps);
        for (place, (time, _)) in admitted.iter().enumerate() {
            let counts = by_slot(&admitted[..=place], |time| window(&config, time));
            let count = |window: i128| counts.get(&window).copied().unwrap_or(0);
            let elapsed = u128::from(*time) % period;
            let here = window(&config, *time);
            let used = count(here - 1) * (period - elapsed) + count(here) * period;
            prop_assert!(used <= u128::from(config.limit) * period);
        }
    }

    /// With `x` nanoseconds of its window gone when an interval begins, the next window gives at most what the
    /// first has faded by until the interval ends: `L * (x - 1) / P` on top of `L`, always less than twice `L`.
    #[test]
    fn weighted_windows_admit_less_than_twice_their_limit_in_any_period(
        (config, steps) in traces(Algorithm::SlidingWeighted)
    ) {
        let (period, limit) = (u128::from(config.period.nanos()), u128::from(config.limit));
        let admitted = admissions(&config, &steps);
        for tokens in by_slot(&admitted, |time| window(&config, time)).values() {
            prop_assert!(*tokens <= limit, "one aligned window");
        }
        for (first, _) in &admitted {
            let gone = u128::from(*first) % period;
            let tokens = admitted_within(&admitted, *first, config.period.nanos());
            prop_assert!(tokens * period <= limit * period + limit * gone.saturating_sub(1));
        }
    }
}

fn instant(text: &str) -> u64 {
    let timestamp: Timestamp = text.parse().expect("a timestamp");
    u64::try_from(timestamp.as_nanosecond()).expect("after the epoch")
}

/// A client that asks every nine minutes, and around every edge, gets the limit once between each two edges.
#[track_caller]
fn grants_once_between(unit: &Calendar, zone: &str, edges: &[&str]) {
    let calendar = unit.in_zone(zone).expect("a zone");
    let policy = PolicyConfig::new(Algorithm::FixedWindow, 3, Period::Calendar(calendar));
    let mut key = TestKey::<1>::new([policy]);
    let edges: Vec<u64> = edges.iter().map(|edge| instant(edge)).collect();
    for pair in edges.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let every_nine_minutes = (start..end).step_by(540_000_000_000);
        let mut admitted = 0;
        for now in every_nine_minutes.chain([end - 1]) {
            while key.ask(1, now).decision.verdict.is_allowed() {
                assert_eq!(now, start, "the limit is there at the first instant");
                admitted += 1;
            }
            let refusal = key.would(1, now).decision;
            let until_end = Some(u128::from(end - now));
            assert_eq!(refusal.verdict.retry_after().map(Span::as_nanos), until_end);
            assert_eq!(Some(refusal.reset_after.as_nanos()), until_end);
        }
        assert_eq!(admitted, 3, "{zone} from {start}");
    }
}

#[test]
fn days_of_23_and_25_hours_grant_the_limit_once() {
    let spring = [
        "2026-03-27T23:00:00Z",
        "2026-03-28T23:00:00Z",
        "2026-03-29T22:00:00Z",
        "2026-03-30T22:00:00Z",
    ];
    grants_once_between(&Calendar::DAY, "Europe/Ljubljana", &spring);
    let autumn = [
        "2026-10-23T22:00:00Z",
        "2026-10-24T22:00:00Z",
        "2026-10-25T23:00:00Z",
        "2026-10-26T23:00:00Z",
    ];
    grants_once_between(&Calendar::DAY, "Europe/Ljubljana", &autumn);
}

#[test]
fn a_day_whose_midnight_is_skipped_or_comes_twice_grants_the_limit_once() {
    let skipped = [
        "2018-11-03T03:00:00Z",
        "2018-11-04T03:00:00Z",
        "2018-11-05T02:00:00Z",
        "2018-11-06T02:00:00Z",
    ];
    grants_once_between(&Calendar::DAY, "America/Sao_Paulo", &skipped);
    let twice = [
        "2025-11-01T04:00:00Z",
        "2025-11-02T04:00:00Z",
        "2025-11-03T05:00:00Z",
        "2025-11-04T05:00:00Z",
    ];
    grants_once_between(&Calendar::DAY, "America/Havana", &twice);
    let back_over = [
        "2002-10-26T02:30:00Z",
        "2002-10-27T02:30:00Z",
        "2002-10-28T03:30:00Z",
    ];
    grants_once_between(&Calendar::DAY, "America/St_Johns", &back_over);
}

#[test]
fn a_day_that_never_was_grants_nothing() {
    let edges = [
        "2011-12-28T10:00:00Z",
        "2011-12-29T10:00:00Z",
        "2011-12-30T10:00:00Z",
        "2011-12-31T10:00:00Z",
    ];
    grants_once_between(&Calendar::DAY, "Pacific/Apia", &edges);
}

#[test]
fn weeks_months_and_years_across_clock_changes_grant_the_limit_once() {
    let weeks = [
        "2026-03-15T23:00:00Z",
        "2026-03-22T23:00:00Z",
        "2026-03-29T22:00:00Z",
        "2026-04-05T22:00:00Z",
    ];
    grants_once_between(&Calendar::WEEK, "Europe/Ljubljana", &weeks);
    let months = [
        "2026-01-31T23:00:00Z",
        "2026-02-28T23:00:00Z",
        "2026-03-31T22:00:00Z",
        "2026-04-30T22:00:00Z",
    ];
    grants_once_between(&Calendar::MONTH, "Europe/Ljubljana", &months);
    let years = [
        "2023-12-31T11:00:00Z",
        "2024-12-31T11:00:00Z",
        "2025-12-31T11:00:00Z",
    ];
    grants_once_between(&Calendar::YEAR, "Pacific/Auckland", &years);
}
