//! Buckets as gubernator counts them: examples, and comparison with a slow model.

#![allow(clippy::expect_used)] // Helpers too: a test that cannot begin has failed.

mod model;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tollgate_limit::Instant;
use tollgate_node::{Gubernator, GubernatorAlgorithm, GubernatorAsk, GubernatorError, NodeConfig};
use tollgate_table::{Budget, Seed, WhenFull};

use model::GubernatorModel;

/// 2026-11-15T15:20:30.500Z.
const START: i64 = 1_794_756_030_500;

const ASK: GubernatorAsk<'_> = GubernatorAsk {
    name: "requests",
    key: "account:1",
    cost: 1,
    limit: 10,
    duration: 30_000,
    burst: 0,
    algorithm: GubernatorAlgorithm::TokenBucket,
    is_gregorian: false,
    resets: false,
    drains: false,
    created_at: None,
};

const LEAKY: GubernatorAsk<'_> = GubernatorAsk {
    algorithm: GubernatorAlgorithm::LeakyBucket,
    ..ASK
};

fn gubernator() -> Arc<Gubernator> {
    let budget = Arc::new(Budget::new(1 << 20));
    Gubernator::new(NodeConfig::default(), Seed::new([1, 2]), &budget)
}

fn at(millis: i64) -> Instant {
    Instant::from_millis(u64::try_from(START + millis).expect("after 1970")).expect("an instant")
}

/// Asks one key in turn: milliseconds from the start, cost; and whether it is over, what is left.
#[track_caller]
fn told(ask: GubernatorAsk<'_>, steps: &[(i64, i64, bool, i64)]) {
    let gubernator = gubernator();
    for (step, (after, cost, is_over, remaining)) in steps.iter().enumerate() {
        let cost = *cost;
        let answer = gubernator.check(&GubernatorAsk { cost, ..ask }, at(*after));
        let answer = answer.expect("an answer");
        let told = (answer.is_over, answer.remaining);
        assert_eq!(told, (*is_over, *remaining), "step {step}: {answer:?}");
        assert_eq!(answer.limit, ask.limit);
    }
}

#[test]
fn a_window_begins_with_the_first_request_and_ends_with_the_duration() {
    let limit_2 = GubernatorAsk { limit: 2, ..ASK };
    told(
        limit_2,
        &[
            (0, 1, false, 1),
            (29_000, 1, false, 0),
            (29_500, 1, true, 0),
            (30_000, 1, true, 0),
            (30_001, 1, false, 1),
        ],
    );
}

#[test]
fn asking_for_too_much_takes_nothing_unless_it_drains() {
    let window = GubernatorAsk {
        limit: 2_000,
        duration: 1_000,
        ..ASK
    };
    let steps = [
        (0, 1_000, false, 1_000),
        (0, 1_500, true, 1_000),
        (0, 500, false, 500),
        (0, 400, false, 100),
        (0, 100, false, 0),
        (0, 1, true, 0),
    ];
    told(window, &steps);
    let leaky = GubernatorAlgorithm::LeakyBucket;
    told(
        GubernatorAsk {
            algorithm: leaky,
            ..window
        },
        &steps,
    );
    let drains = [
        (0, 0, false, 10),
        (0, 1, false, 9),
        (0, 100, true, 0),
        (0, 0, false, 0),
    ];
    for ask in [ASK, LEAKY] {
        told(
            GubernatorAsk {
                drains: true,
                ..ask
            },
            &drains,
        );
    }
}

#[test]
fn negative_costs_give_back_even_beyond_the_limit() {
    let limit_2 = GubernatorAsk { limit: 2, ..ASK };
    told(
        limit_2,
        &[
            (0, -1, false, 3),
            (0, -1, false, 4),
            (0, 4, false, 0),
            (0, -1, false, 1),
        ],
    );
    told(
        LEAKY,
        &[
            (0, 1, false, 9),
            (0, -1, false, 10),
            (0, 10, false, 0),
            (0, -1, false, 1),
        ],
    );
}

#[test]
fn a_refusal_is_told_to_peeks_until_something_is_left_again() {
    let limit_1 = GubernatorAsk { limit: 1, ..ASK };
    told(
        limit_1,
        &[
            (0, 1, false, 0),
            (0, 0, false, 0),
            (0, 1, true, 0),
            (0, 0, true, 0),
            (0, -1, false, 1),
            (0, 0, false, 1),
            (0, 1, false, 0),
            (0, 0, false, 0),
        ],
    );
}

#[test]
fn a_leaky_bucket_fills_by_whole_tokens() {
    told(
        LEAKY,
        &[
            (0, 1, false, 9),
            (1_000, 1, false, 8),
            (2_000, 1, false, 7),
            (3_500, 0, false, 8),
            (6_500, 0, false, 9),
            (6_500, 9, false, 0),
            (6_500, 1, true, 0),
            (9_500, 0, false, 1),
            (69_500, 0, false, 10),
        ],
    );
    let burst_20 = GubernatorAsk { burst: 20, ..LEAKY };
    told(
        burst_20,
        &[
            (0, 1, false, 19),
            (2_000, 2, false, 17),
            (3_500, 0, false, 18),
            (3_500, 19, true, 18),
            (3_500, 18, false, 0),
            (63_500, 0, false, 20),
        ],
    );
}

#[test]
fn a_reset_of_a_leaky_bucket_is_by_tokens_of_the_limit() {
    let gubernator = gubernator();
    let reset = |ask: &GubernatorAsk<'_>| {
        let answer = gubernator.check(ask, at(0)).expect("an answer");
        answer.reset_at - START
    };
    assert_eq!(reset(&LEAKY), 3_000);
    assert_eq!(reset(&GubernatorAsk { cost: 3, ..LEAKY }), 12_000);
    let other = GubernatorAsk {
        key: "2",
        burst: 20,
        ..LEAKY
    };
    assert_eq!(reset(&other), -27_000);
}

#[test]
fn another_limit_moves_what_is_left_and_another_algorithm_forgets() {
    let gubernator = gubernator();
    let left = |ask: GubernatorAsk<'_>| {
        let answer = gubernator.check(&ask, at(0)).expect("an answer");
        (answer.limit, answer.remaining)
    };
    for (limit, remaining) in [(100, 99), (100, 98), (10, 7), (10, 6), (200, 195)] {
        assert_eq!(left(GubernatorAsk { limit, ..ASK }), (limit, remaining));
    }
    for (limit, remaining) in [(100, 99), (10, 9), (10, 8)] {
        assert_eq!(left(GubernatorAsk { limit, ..LEAKY }), (limit, remaining));
    }
    assert_eq!(left(GubernatorAsk { limit: 10, ..ASK }), (10, 9));
}

#[test]
fn another_duration_moves_the_end_of_a_window() {
    let gubernator = gubernator();
    let check = |duration, after| {
        let ask = GubernatorAsk { duration, ..ASK };
        let answer = gubernator.check(&ask, at(after)).expect("an answer");
        (answer.remaining, answer.reset_at - START)
    };
    assert_eq!(check(30_000, 0), (9, 30_000));
    assert_eq!(check(60_000, 10_000), (8, 60_000));
    // It would have ended, so a new one begins.
    assert_eq!(check(5_000, 10_000), (9, 15_000));
}

#[test]
fn a_reset_forgets_what_was_counted() {
    let gubernator = gubernator();
    let check = |ask: GubernatorAsk<'_>| gubernator.check(&ask, at(0)).expect("an answer");
    assert_eq!(check(ASK).remaining, 9);
    let resets = GubernatorAsk {
        resets: true,
        ..ASK
    };
    let answer = check(resets);
    assert_eq!((answer.remaining, answer.reset_at), (10, 0));
    assert_eq!(gubernator.keys_count(), 0);
    assert_eq!(check(ASK).remaining, 9);
    // Of a leaky bucket it fills, and the request counts.
    let resets = GubernatorAsk {
        resets: true,
        ..LEAKY
    };
    let drained = GubernatorAsk { cost: 10, ..LEAKY };
    assert_eq!(check(drained).remaining, 0);
    assert_eq!(check(resets).remaining, 9);
}

#[test]
fn calendar_windows_end_with_the_calendar() {
    let ends = [
        (0, 1_794_756_059_999),
        (1, 1_794_758_399_999),
        (2, 1_794_787_199_999),
        (3, 1_794_787_199_999),
        (4, 1_796_083_199_999),
        (5, 1_798_761_599_999),
    ];
    for (code, end) in ends {
        let gubernator = gubernator();
        let ask = GubernatorAsk {
            duration: code,
            is_gregorian: true,
            ..ASK
        };
        let answer = gubernator.check(&ask, at(0)).expect("an answer");
        assert_eq!((answer.remaining, answer.reset_at), (9, end), "code {code}");
        let later = gubernator.check(&ask, at(end - START)).expect("an answer");
        assert_eq!(later.remaining, 8, "code {code}");
        let next = gubernator.check(&ask, at(end - START + 1));
        assert_eq!(next.expect("an answer").remaining, 9, "code {code}");
    }
    let ask = GubernatorAsk {
        duration: 6,
        is_gregorian: true,
        ..ASK
    };
    let refused = gubernator().check(&ask, at(0));
    assert_eq!(refused, Err(GubernatorError::UnknownInterval));
}

#[test]
fn a_leaky_minute_of_the_calendar_fills_by_the_whole_minute() {
    let minute = GubernatorAsk {
        limit: 60,
        duration: 0,
        is_gregorian: true,
        ..LEAKY
    };
    told(
        minute,
        &[
            (0, 1, false, 59),
            (500, 1, false, 58),
            (1_700, 1, false, 58),
        ],
    );
}

#[test]
fn times_that_make_no_sense_are_ours() {
    let limit_1 = GubernatorAsk { limit: 1, ..ASK };
    for created_at in [1, START - 30_001, START + 3_600_000, i64::MIN, i64::MAX] {
        let gubernator = gubernator();
        let ask = GubernatorAsk {
            created_at: Some(created_at),
            ..limit_1
        };
        let answer = gubernator.check(&ask, at(0)).expect("an answer");
        assert_eq!(answer.reset_at, START + 30_000, "{created_at}");
        let again = gubernator.check(&ask, at(0)).expect("an answer");
        assert!(again.is_over, "{created_at}");
    }
    let gubernator = gubernator();
    let ask = GubernatorAsk {
        created_at: Some(START - 20_000),
        ..limit_1
    };
    let answer = gubernator.check(&ask, at(0)).expect("an answer");
    assert_eq!(answer.reset_at, START + 10_000);
}

#[test]
fn no_number_breaks_it() {
    let extremes = [i64::MIN, -1, 0, 1, 7, i64::MAX];
    let gubernator = gubernator();
    for cost in extremes {
        for limit in extremes {
            for duration in extremes {
                for burst in extremes {
                    for ask in [ASK, LEAKY] {
                        let ask = GubernatorAsk {
                            cost,
                            limit,
                            duration,
                            burst,
                            drains: burst == 7,
                            ..ask
                        };
                        let _ = gubernator.check(&ask, at(cost.rem_euclid(5)));
                        let _ = gubernator.check(&ask, Instant::LAST);
                    }
                }
            }
        }
    }
}

#[test]
fn a_full_table_refuses_new_keys_and_forgets_those_that_are_over() {
    let config = NodeConfig {
        when_full: WhenFull::Refuse,
        ..NodeConfig::default()
    };
    let budget = Arc::new(Budget::new(64 << 10));
    let gubernator = Gubernator::new(config, Seed::new([1, 2]), &budget);
    let fill = |now: Instant| {
        let keys = 0..4_000;
        let refused = keys.filter(|key| {
            let key = key.to_string();
            let ask = GubernatorAsk { key: &key, ..ASK };
            gubernator.check(&ask, now) == Err(GubernatorError::Full)
        });
        refused.count()
    };
    let refused = fill(at(0));
    assert!((1..3_999).contains(&refused), "{refused}");
    assert!(budget.used() <= budget.limit() + (40 << 10));
    // Once they are over there is room again.
    let later = fill(at(60_000));
    assert!(later < 4_000, "{later}");
    assert!(gubernator.counters().dropped_fresh > 0);
}

/// A request after some milliseconds. Few of a key change its policy, or it would never be counted by one for long.
fn request() -> impl Strategy<Value = (u8, i64, [i64; 4], [bool; 3])> {
    let after = prop_oneof![4 => 0_i64..50, 2 => 0_i64..700, 1 => 0_i64..5_000];
    let cost = prop_oneof![6 => 1_i64..4, 2 => Just(0), 1 => -3_i64..0, 1 => 4_i64..30];
    let limit = prop_oneof![9 => Just(10), 1 => 1_i64..20];
    // A part of a token is kept in fractions of the duration: exactly, unless the duration changes.
    let duration = Just(700_i64);
    let burst = prop_oneof![9 => Just(0), 1 => 1_i64..25];
    let rare = || prop::bool::weighted(0.05);
    (
        0_u8..2,
        after,
        (cost, limit, duration, burst).prop_map(Into::into),
        (prop::bool::weighted(0.02), rare(), rare()).prop_map(Into::into),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn counts_as_the_model_does(
        requests in prop::collection::vec(request(), 1..120),
        windows in any::<bool>(),
        durations in prop::collection::vec(100_i64..2_000, 1..4),
    ) {
        let gubernator = gubernator();
        let mut models: BTreeMap<u8, Option<GubernatorModel>> = BTreeMap::new();
        let mut now = 0;
        for (number, (key, after, numbers, flags)) in requests.into_iter().enumerate() {
            let [cost, limit, mut duration, burst] = numbers;
            let [switches, resets, drains] = flags;
            now += after;
            if windows {
                duration = durations[number / 40 % durations.len()];
            }
            let algorithm = if windows == switches {
                GubernatorAlgorithm::LeakyBucket
            } else {
                GubernatorAlgorithm::TokenBucket
            };
            let name = key.to_string();
            let ask = GubernatorAsk {
                key: &name, cost, limit, duration, burst, algorithm, resets, drains, ..ASK
            };
            let answer = gubernator.check(&ask, at(now)).expect("an answer");
            let model = models.entry(key).or_default();
            let expected = GubernatorModel::check(model, &ask, START + now);
            prop_assert_eq!(answer, expected, "request {} at {}: {:?}", number, now, ask);
        }
    }
}
