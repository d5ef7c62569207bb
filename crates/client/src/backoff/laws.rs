//! What holds for every refusal, every clock and every draw.

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn spans() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        (0_u64..10_000_000_000).prop_map(Duration::from_nanos),
        (0_u64..u64::MAX).prop_map(Duration::from_secs),
        Just(Duration::MAX),
    ]
}

fn told() -> impl Strategy<Value = RetryAfter> {
    prop_oneof![
        3 => spans().prop_map(RetryAfter::After),
        2 => Just(RetryAfter::Unknown),
        1 => Just(RetryAfter::Never),
    ]
}

fn configs() -> impl Strategy<Value = BackoffConfig> {
    (spans(), spans(), 0_u32..40, spans()).prop_map(|(base, cap, tries_max, time_max)| {
        BackoffConfig {
            base,
            cap,
            tries_max,
            time_max,
        }
    })
}

/// What a refusal asks for at least.
fn least(told: RetryAfter) -> Duration {
    match told {
        RetryAfter::After(span) => span,
        RetryAfter::Never | RetryAfter::Unknown => Duration::ZERO,
    }
}

proptest! {
    #[test]
    fn nobody_comes_earlier_than_told_nor_later_than_the_spread_and_the_time_allow(
        config in configs(),
        refusals in proptest::collection::vec((told(), any::<u64>(), any::<u64>()), 1..50),
    ) {
        let mut backoff = Backoff::new(config);
        let mut waited = Duration::ZERO;
        let mut waits = 0_u32;
        for (told, now, bits) in refusals {
            let times = 2_u32.checked_pow(backoff.tries()).unwrap_or(u32::MAX);
            let spread = config.base.saturating_mul(times).min(config.cap);
            match backoff.refused(told, Instant::from_nanos(now), bits) {
                Ok(wait) => {
                    prop_assert!(told != RetryAfter::Never);
                    prop_assert!(wait >= least(told));
                    prop_assert!(wait <= least(told).saturating_add(spread));
                    waited = waited.saturating_add(wait);
                    waits += 1;
                }
                Err(GiveUp::Never) => prop_assert_eq!(told, RetryAfter::Never),
                Err(GiveUp::Tries { tries }) => prop_assert!(tries >= config.tries_max),
                Err(GiveUp::Time { retry_after }) => prop_assert_eq!(retry_after, least(told)),
            }
        }
        prop_assert!(waited <= config.time_max);
        prop_assert!(waits < config.tries_max.max(1));
    }

    #[test]
    fn it_ends_whatever_is_drawn(config in configs(), seed: u64) {
        let mut draws = Draws::seeded(seed);
        let mut backoff = Backoff::new(config);
        let ended = (0..40).any(|_| {
            backoff.refused(RetryAfter::Unknown, Instant::default(), draws.draw()).is_err()
        });
        prop_assert!(ended);
    }

    #[test]
    fn one_seed_is_one_row_of_waits(seed: u64, refusals in proptest::collection::vec(told(), 1..20)) {
        let waits = || {
            let (mut backoff, mut draws) = (Backoff::new(BackoffConfig::default()), Draws::seeded(seed));
            let each = refusals.iter().map(|told| backoff.refused(*told, Instant::default(), draws.draw()));
            each.collect::<Vec<_>>()
        };
        prop_assert_eq!(waits(), waits());
    }

    #[test]
    fn a_part_is_never_more_than_the_whole_and_grows_with_the_bits(span in spans(), low: u64, high: u64) {
        let (low, high) = (low.min(high), low.max(high));
        prop_assert!(part_of(span, low) <= part_of(span, high));
        prop_assert!(part_of(span, high) <= span);
        prop_assert_eq!(part_of(span, 0), Duration::ZERO);
    }
}

#[test]
fn spreads_double_up_to_the_cap() {
    let config = BackoffConfig {
        base: SECOND,
        cap: 5 * SECOND,
        tries_max: 100,
        time_max: 1_000 * SECOND,
    };
    let mut backoff = Backoff::new(config);
    let waits = std::array::from_fn::<_, 6, _>(|_| {
        let wait = backoff.refused(RetryAfter::Unknown, Instant::default(), u64::MAX);
        wait.unwrap().as_secs()
    });
    assert_eq!(waits, [1, 2, 4, 5, 5, 5]);
}

#[test]
fn what_is_left_of_the_time_cuts_the_spread_but_not_what_was_told() {
    let config = BackoffConfig {
        base: 60 * SECOND,
        cap: 60 * SECOND,
        tries_max: 100,
        time_max: 10 * SECOND,
    };
    let told = |seconds: u32| RetryAfter::After(seconds * SECOND);
    let mut backoff = Backoff::new(config);
    let start = Instant::from_nanos(5_000_000_000);
    assert_eq!(backoff.refused(told(4), start, 0), Ok(4 * SECOND));
    let later = Instant::from_nanos(10_000_000_000);
    assert_eq!(backoff.refused(told(4), later, u64::MAX), Ok(5 * SECOND));
    let refused = backoff.refused(told(2), later, 0);
    assert_eq!(
        refused,
        Err(GiveUp::Time {
            retry_after: 2 * SECOND
        })
    );
}

#[test]
fn time_that_passed_while_trying_counts() {
    let config = BackoffConfig {
        time_max: 10 * SECOND,
        ..BackoffConfig::default()
    };
    let mut backoff = Backoff::new(config);
    assert!(
        backoff
            .refused(RetryAfter::Unknown, Instant::default(), 0)
            .is_ok()
    );
    let late = Instant::from_nanos(10_000_000_000);
    assert!(backoff.refused(RetryAfter::Unknown, late, 0).is_err());
}

#[test]
fn callers_that_were_refused_together_come_back_apart() {
    let mut draws = Draws::seeded(42);
    let config = BackoffConfig {
        base: SECOND,
        ..BackoffConfig::default()
    };
    let mut tenths = [0; 10];
    for _ in 0..1_000 {
        let mut backoff = Backoff::new(config);
        let told = RetryAfter::After(SECOND);
        let wait = backoff.refused(told, Instant::default(), draws.draw());
        let above = wait.unwrap().saturating_sub(SECOND).as_millis() / 100;
        tenths[usize::try_from(above.min(9)).unwrap()] += 1;
    }
    assert!(
        tenths.iter().all(|count| (50..200).contains(count)),
        "{tenths:?}"
    );
}

#[test]
fn two_machines_draw_differently() {
    let mut first = Draws::from_machine().unwrap();
    let mut second = Draws::from_machine().unwrap();
    assert_ne!(first.draw(), second.draw());
}
