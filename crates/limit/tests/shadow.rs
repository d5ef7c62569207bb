//! Policies that do not bind: what they report, what they are charged, and what a refusal leaves alone.

mod kit;

use kit::{TestKey, config};
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate_limit::{Algorithm, Decision, Lot, POLICIES_MAX, PolicyConfig, Span, Verdict};

const PERIOD_NS: u64 = 60_000;

/// A policy that binds so many percent of the keys.
fn staged(algorithm: Algorithm, limit: u64, percent: u8) -> PolicyConfig {
    let mut config = config(algorithm, limit, PERIOD_NS);
    config.enforce_percent = percent;
    config
}

fn penalising(algorithm: Algorithm, limit: u64) -> PolicyConfig {
    let mut config = config(algorithm, limit, PERIOD_NS);
    config.count_refused = true;
    config
}

/// Every algorithm once, none of them binding.
fn shadows(limit: u64) -> Vec<PolicyConfig> {
    let shadow = |algorithm| staged(algorithm, limit, 0);
    Algorithm::ALL.into_iter().map(shadow).collect()
}

fn algorithms() -> impl Strategy<Value = Algorithm> {
    proptest::sample::select(Algorithm::ALL.to_vec())
}

proptest! {
    /// The shadows stand beside enforced copies of themselves: what a shadow reports is what the copy decides.
    #[test]
    fn shadows_never_refuse_and_report_what_they_would_have_refused(
        steps in vec((0_u64..=20_000, 0_u64..=7), 1..60)
    ) {
        let mut shadow = TestKey::<1>::new(shadows(5));
        let mut enforced: Vec<TestKey<1>> = Algorithm::ALL.map(|a| TestKey::new([staged(a, 5, 100)])).into();
        let mut now = 0;
        for (pause, tokens) in steps {
            now += pause;
            let outcome = shadow.ask(tokens, now);
            prop_assert_eq!(outcome.decision.verdict, Verdict::Allow);
            prop_assert_eq!(outcome.decision.refused_by, None);
            let mut refused = 0;
            for (place, key) in enforced.iter_mut().enumerate() {
                if !key.ask(tokens, now).decision.verdict.is_allowed() {
                    refused |= 1 << place;
                }
                prop_assert_eq!(shadow.status(now)[place], key.status(now)[0], "{}", place);
            }
            prop_assert_eq!(outcome.shadowed, refused);
            prop_assert_eq!(Some(outcome.decision.remaining), shadow.left(now).into_iter().min());
            let charged = if tokens == 0 { 0 } else { 0b11_1111 & !refused };
            prop_assert_eq!(outcome.receipt.charged, charged);
        }
    }

    #[test]
    fn a_policy_binds_the_lots_below_its_percentage(percent in 0_u8..=100, hash in any::<u64>()) {
        let mut key = TestKey::<1>::new([staged(Algorithm::TokenBucket, 1, percent)]);
        let lot = Lot::from_hash(hash);
        let _ = key.ask_as(1, 0, lot);
        let second = key.ask_as(1, 0, lot);
        let binds = hash % 100 < u64::from(percent);
        prop_assert_eq!(second.decision.verdict.is_allowed(), !binds);
        prop_assert_eq!(second.shadowed, u64::from(!binds));
    }

    #[test]
    fn a_refusal_leaves_every_policy_untouched(
        chosen in vec((algorithms(), 3_u64..=9, prop_oneof![Just(0_u8), Just(100)]), 1..=5),
        steps in vec((0_u64..=20_000, 1_u64..=9), 1..60)
    ) {
        let configs = chosen.into_iter().map(|(algorithm, limit, percent)| staged(algorithm, limit, percent));
        let mut key = TestKey::<2>::new(configs.chain([staged(Algorithm::SlidingLog, 8, 100)]));
        let mut now = 0;
        for (pause, tokens) in steps {
            now += pause;
            let before = key.clone();
            let outcome = key.ask(tokens, now);
            if outcome.decision.verdict.is_allowed() {
                continue;
            }
            prop_assert_eq!(outcome.receipt.charged, 0);
            prop_assert_eq!(key.newest(), before.newest(), "not even the time is written");
            for later in [0, 1, PERIOD_NS / 2, PERIOD_NS, 2 * PERIOD_NS] {
                prop_assert_eq!(key.status(now + later), before.status(now + later));
            }
        }
    }

    /// The answer comes from the policies one by one: the one that refuses longest with all of its own, or the least
    /// that is left of those that bind; the longest wait.
    #[test]
    fn an_answer_names_the_longest_refusal_or_the_least_left_and_the_longest_wait(
        chosen in vec((algorithms(), 1_u64..=9), 1..=5), steps in vec((0_u64..=20_000, 1_u64..=9), 1..40)
    ) {
        let configs: Vec<_> = chosen.into_iter().map(|(algorithm, limit)| staged(algorithm, limit, 100)).collect();
        let mut alone: Vec<TestKey<1>> = configs.iter().map(|config| TestKey::new([config.clone()])).collect();
        let mut key = TestKey::<3>::new(configs);
        let mut now = 0;
        for (pause, tokens) in steps {
            now += pause;
            let each: Vec<_> = alone.iter().map(|key| key.would(tokens, now).decision).collect();
            let outcome = key.ask(tokens, now);
            let decision = outcome.decision;
            let verdicts = || each.iter().map(|decision| decision.verdict);
            let refusals = || each.iter().enumerate().filter(|(_, one)| !one.verdict.is_allowed());
            let lasts = |one: &Decision| (one.verdict == Verdict::Never, one.verdict.retry_after());
            let longest = refusals().rev().max_by_key(|(_, one)| lasts(one));
            prop_assert_eq!(decision.refused_by, longest.map(|(place, _)| place));
            if let Some((place, one)) = longest {
                prop_assert_eq!(decision, Decision { refused_by: Some(place), policy: place, ..*one });
            }
            let several = Some(refusals().map(|(place, _)| place)).filter(|places| places.clone().count() > 1);
            let named = outcome.refusing.iter().map(|refusing| refusing.policy);
            prop_assert_eq!(named.collect::<Vec<_>>(), several.into_iter().flatten().collect::<Vec<_>>());
            match decision.verdict {
                Verdict::Never => prop_assert!(verdicts().any(|verdict| verdict == Verdict::Never)),
                Verdict::Deny { retry_after } => {
                    prop_assert_eq!(verdicts().filter_map(Verdict::retry_after).max(), Some(retry_after));
                }
                verdict => {
                    prop_assert_eq!(verdicts().map(Verdict::wait).max(), Some(verdict.wait()));
                    for key in &mut alone {
                        let _ = key.ask(tokens, now);
                    }
                }
            }
            let left: Vec<_> = alone.iter().map(|key| key.left(now)[0]).collect();
            if longest.is_none() {
                prop_assert_eq!(Some(decision.remaining), left.iter().copied().min());
            }
            prop_assert_eq!(key.left(now), left);
        }
    }
}

#[test]
fn a_shadow_is_not_charged_for_what_it_would_have_refused_but_the_others_are() {
    let mut key = TestKey::<2>::new([
        staged(Algorithm::TokenBucket, 2, 0),
        staged(Algorithm::TokenBucket, 10, 100),
    ]);
    assert_eq!(key.ask(2, 0).receipt.charged, 0b11);
    let outcome = key.ask(3, 0);
    assert_eq!((outcome.shadowed, outcome.receipt.charged), (0b01, 0b10));
    assert_eq!(outcome.decision.verdict, Verdict::Allow);
    assert_eq!(outcome.decision.remaining, 5, "of the policy that binds");
    assert_eq!(outcome.decision.limit, 10);
    assert_eq!(key.left(0), [0, 5]);
}

#[test]
fn a_shadow_says_nothing_about_waiting() {
    let mut key = TestKey::<2>::new([
        staged(Algorithm::LeakyBucket, 2, 0),
        staged(Algorithm::TokenBucket, 10, 100),
    ]);
    assert_eq!(key.ask(1, 0).decision.verdict, Verdict::Allow);
    assert_eq!(
        key.ask(1, 0).decision.verdict,
        Verdict::Allow,
        "the queue of the shadow is not waited for"
    );
}

#[test]
fn an_enforced_refusal_does_not_charge_the_shadows() {
    let mut key = TestKey::<2>::new([
        staged(Algorithm::FixedWindow, 1, 100),
        staged(Algorithm::FixedWindow, 1, 0),
    ]);
    let _ = key.ask(1, 0);
    let refusal = key.ask(1, 0);
    assert_eq!(
        (refusal.decision.refused_by, refusal.shadowed),
        (Some(0), 0b10)
    );
    assert_eq!(refusal.receipt.charged, 0);
}

#[test]
fn settling_a_charged_shadow_moves_it_like_any_other() {
    for algorithm in Algorithm::ALL {
        let mut key = TestKey::<2>::new([staged(algorithm, 9, 0), staged(algorithm, 9, 100)]);
        let receipt = key.ask(4, 0).receipt;
        assert_eq!(receipt.charged, 0b11);
        key.settle(&receipt, 6, 0);
        assert_eq!(key.left(0), [3, 3], "{}", algorithm.name());
        let receipt = key.ask(2, 0).receipt;
        key.settle(&receipt, 0, 0);
        assert_eq!(key.left(0), [3, 3], "{}", algorithm.name());
    }
}

#[test]
fn settling_leaves_a_policy_alone_that_was_not_charged() {
    for algorithm in Algorithm::ALL {
        let mut key = TestKey::<2>::new([staged(algorithm, 2, 0), staged(algorithm, 10, 100)]);
        let receipt = key.ask(4, 0).receipt;
        assert_eq!(
            receipt.charged, 0b10,
            "four are more than the shadow would admit"
        );
        for (actual, left) in [(4, 6), (5, 5), (1, 9)] {
            let mut key = key.clone();
            key.settle(&receipt, actual, 0);
            assert_eq!(key.left(0), [2, left], "{}", algorithm.name());
        }
    }
}

#[test]
fn settling_what_nobody_was_charged_for_does_nothing() {
    for algorithm in Algorithm::ALL {
        for percent in [0, 100] {
            let mut key = TestKey::<1>::new([staged(algorithm, 5, percent)]);
            let _ = key.ask(3, 0);
            let receipt = key.ask(3, 1).receipt;
            assert_eq!(receipt.charged, 0);
            for actual in [0, 2, 3, 4] {
                key.settle(&receipt, actual, 2);
                assert_eq!(
                    (key.newest(), key.left(0)),
                    (0, vec![2]),
                    "{}",
                    algorithm.name()
                );
            }
        }
    }
}

#[test]
fn settling_a_refusal_moves_only_the_policies_that_counted_it() {
    let mut key = TestKey::<2>::new([
        penalising(Algorithm::TokenBucket, 9),
        config(Algorithm::TokenBucket, 2, PERIOD_NS),
    ]);
    let receipt = key.ask(3, 0).receipt;
    assert_eq!((receipt.charged, key.left(0)), (0b01, vec![6, 2]));
    key.settle(&receipt, 1, 0);
    assert_eq!(key.left(0), [8, 2]);
}

#[test]
fn a_shadow_that_would_refuse_keeps_what_it_has() {
    let mut key = TestKey::<1>::new([staged(Algorithm::TokenBucket, 5, 0)]);
    let _ = key.ask(3, 0);
    let outcome = key.ask(3, 0);
    assert_eq!((outcome.shadowed, outcome.decision.remaining), (1, 2));
    assert_eq!(key.left(0), [2]);
}

#[test]
fn the_least_left_is_that_of_the_policy_with_the_least_after_the_charge() {
    let mut key = TestKey::<2>::new([
        staged(Algorithm::TokenBucket, 2, 0),
        staged(Algorithm::TokenBucket, 4, 0),
    ]);
    let outcome = key.ask(3, 0);
    assert_eq!(outcome.shadowed, 0b01);
    assert_eq!((outcome.decision.limit, outcome.decision.remaining), (4, 1));
}

#[test]
fn only_the_policies_that_count_refusals_are_charged_for_one() {
    let mut key = TestKey::<3>::new([
        config(Algorithm::TokenBucket, 2, PERIOD_NS),
        penalising(Algorithm::FixedWindow, 10),
        config(Algorithm::SlidingWeighted, 10, PERIOD_NS),
    ]);
    assert_eq!(key.ask(2, 0).receipt.charged, 0b111);
    let refusal = key.ask(2, 0);
    assert_eq!(
        (refusal.decision.refused_by, refusal.receipt.charged),
        (Some(0), 0b010)
    );
    assert_eq!(key.left(0), [0, 6, 8]);
    let peek = key.ask(0, 0);
    assert!(!peek.decision.verdict.is_allowed());
    assert_eq!((peek.receipt.charged, key.left(0)), (0, vec![0, 6, 8]));
}

#[test]
fn a_refusal_that_counts_answers_for_the_state_it_leaves_behind() {
    for algorithm in Algorithm::ALL {
        let mut key = TestKey::<1>::new([penalising(algorithm, 4)]);
        let _ = key.ask(3, 0);
        let refusal = key.ask(2, 0);
        assert_eq!(
            (refusal.decision.remaining, refusal.receipt.charged),
            (0, 1)
        );
        let retry_after = refusal
            .decision
            .verdict
            .retry_after()
            .map_or(0, Span::as_nanos);
        let then = u64::try_from(retry_after).unwrap_or(0);
        assert!(key.passes(2, then), "{}", algorithm.name());
        assert!(!key.passes(2, then - 1), "{}", algorithm.name());
    }
}

#[test]
fn somebody_elses_refusal_is_charged_where_refusals_count() {
    let mut key = TestKey::<2>::new([
        penalising(Algorithm::TokenBucket, 5),
        config(Algorithm::TokenBucket, 5, PERIOD_NS),
    ]);
    let receipt = key.set.refuse(&key.cell, kit::cost(2), kit::at(0));
    assert_eq!(receipt.charged, 0b01);
    key.set.penalise(&mut key.cell, &receipt);
    assert_eq!(key.left(0), [3, 5]);
    assert_eq!(
        key.set.refuse(&key.cell, kit::cost(0), kit::at(0)).charged,
        0,
        "a peek never counts"
    );
}

#[test]
fn a_full_set_of_policies_reports_each_in_its_own_bit() {
    let config = |place: usize| {
        staged(
            Algorithm::TokenBucket,
            1,
            if place.is_multiple_of(2) { 0 } else { 100 },
        )
    };
    let mut key = TestKey::<1>::new((0..POLICIES_MAX).map(config));
    assert_eq!(key.ask(1, 0).receipt.charged, u64::MAX);
    let second = key.ask(1, 0);
    assert_eq!(second.shadowed, 0x5555_5555_5555_5555);
    assert_eq!(second.decision.refused_by, Some(1));
}
