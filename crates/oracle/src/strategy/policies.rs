//! Random policies. Options that an algorithm ignores stay at their defaults.

use std::ops::RangeInclusive;

use proptest::bool::weighted as chance;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

use crate::policy::{ModelAlgorithm, Period, Policy};

/// Any policy of any algorithm.
pub fn policy() -> impl Strategy<Value = Policy> {
    algorithm().prop_flat_map(policy_of)
}

/// Several policies, as one contract holds them.
pub fn policies(count: RangeInclusive<usize>) -> impl Strategy<Value = Vec<Policy>> {
    vec(policy(), count)
}

/// Any policy of one algorithm. The period is rounded so that slices divide it.
pub fn policy_of(algorithm: ModelAlgorithm) -> impl Strategy<Value = Policy> {
    let debt = (weighted(0.4, prop_oneof![Just(0), amount()]), chance(0.15));
    let offset = prop_oneof![Just(0), 1..=2 * DECADE_NS];
    let special = (weighted(0.4, weighted(0.7, nanos())), offset, zone());
    (amount(), period(), weighted(0.5, amount()), special, debt).prop_map(
        move |(limit, period, burst, (delay, offset_ns, time_zone), (max_debt, count_refused))| {
            let is_bucket = matches!(
                algorithm,
                ModelAlgorithm::TokenBucket | ModelAlgorithm::LeakyBucket
            );
            let is_fixed = algorithm == ModelAlgorithm::FixedWindow;
            let is_calendar = !matches!(period, Period::Nanos(_));
            Policy {
                algorithm,
                limit,
                period: divisible(algorithm, period),
                burst: burst.filter(|_| is_bucket),
                delay: delay.filter(|_| algorithm == ModelAlgorithm::TokenBucket),
                offset_ns: if is_fixed && !is_calendar {
                    offset_ns
                } else {
                    0
                },
                time_zone: time_zone.filter(|_| is_fixed && is_calendar),
                max_debt,
                count_refused,
            }
        },
    )
}

fn algorithm() -> impl Strategy<Value = ModelAlgorithm> {
    prop_oneof![
        2 => Just(ModelAlgorithm::TokenBucket),
        1 => Just(ModelAlgorithm::LeakyBucket),
        2 => Just(ModelAlgorithm::FixedWindow),
        1 => Just(ModelAlgorithm::SlidingLog),
        2 => slices().prop_map(|slices| ModelAlgorithm::SlidingCounters { slices }),
        1 => Just(ModelAlgorithm::SlidingWeighted),
    ]
}

fn slices() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..=12, select(vec![1, 7, 60, 100, 4096])]
}

/// Limits, bursts and debts.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 1_u64..=12,
        2 => 1_u64..=1_000,
        1 => 1_u64..=AMOUNT_MAX,
        1 => AMOUNT_MAX - 2..=AMOUNT_MAX,
    ]
}

fn period() -> impl Strategy<Value = Period> {
    prop_oneof![
        6 => nanos().prop_map(Period::Nanos),
        2 => select(vec![Period::Day, Period::Week, Period::Month, Period::Year]),
    ]
}

fn nanos() -> impl Strategy<Value = u64> {
    let usual = [1, 10, 100, 1_000, 60_000, 3_600_000, 86_400_000].map(|ms| ms * 1_000_000);
    let odd = vec![
        1,
        2,
        7,
        999_999_937,
        10_000_001,
        86_400_000_000_001,
        DECADE_NS - 1,
        DECADE_NS,
    ];
    prop_oneof![
        5 => select(usual.to_vec()),
        2 => select(odd),
        1 => 1_u64..=1_000,
        1 => 1_u64..=2_000_000_000,
        1 => 1_u64..=DECADE_NS,
    ]
}

/// Zones without summer time, with it in either half of the year, by half an hour, one that
/// skips midnight or steps back over it, and one that skipped a day.
fn zone() -> impl Strategy<Value = Option<String>> {
    let names = [
        "Europe/Ljubljana",
        "America/New_York",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "America/Sao_Paulo",
        "America/St_Johns",
        "America/Havana",
        "Pacific/Apia",
    ];
    weighted(0.85, select(names.map(str::to_owned).to_vec()))
}

fn divisible(algorithm: ModelAlgorithm, period: Period) -> Period {
    let ModelAlgorithm::SlidingCounters { slices } = algorithm else {
        return period;
    };
    let nanos = period.nominal_ns();
    if nanos.is_multiple_of(slices) {
        period
    } else {
        Period::Nanos((nanos / slices).max(1) * slices)
    }
}

const AMOUNT_MAX: u64 = 1 << 40;
const DECADE_NS: u64 = 3_650 * 86_400 * 1_000_000_000;
