//! What is assigned when: growth, cuts, nothing, and the end.

use super::envoy::Envoy;
use super::world::{Faults, MS, Mood, QuotaReferenceBucket, QuotaWorld, SECOND};
use crate::quota::{Action, KeyQuota, QuotaBucket, QuotaReport, QuotaRules};
use crate::{Limits, Pool, Rules};
use tollgate_limit::Instant;

const CALM: Faults = Faults {
    delay_max: MS,
    lost: 0,
    twice: 0,
    late: (0, 0),
};

fn world(planes: usize) -> QuotaWorld {
    let mut world = QuotaWorld::new(1, 1_000, 1_000, QuotaRules::default(), CALM);
    for _ in 0..planes {
        world.add(Envoy::new(0, false), SECOND);
    }
    world
}

fn bucket_of(world: &mut QuotaWorld, side: usize) -> QuotaBucket {
    let now = world.now;
    world.sides[side].envoy.bucket(now).expect("a bucket")
}

#[test]
fn one_that_asks_for_all_gets_nearly_all() {
    let mut world = world(1);
    world.sides[0].mood = Mood::Steady(2_000);
    world.run(20 * SECOND);
    let before = world.ghost.admitted;
    world.run(20 * SECOND);
    let admitted = world.ghost.admitted - before;
    println!("{admitted} of 20000");
    assert!((18_000..=20_000).contains(&admitted), "{admitted}");
    assert_eq!(world.ghost.over, 0);
}

#[test]
fn steady_demand_below_the_limit_passes_and_changes_little() {
    let mut world = world(3);
    for side in &mut world.sides {
        side.mood = Mood::Steady(200);
    }
    world.run(15 * SECOND);
    let (before, figures) = (world.ghost.admitted, world.figures());
    world.run(20 * SECOND);
    let admitted = world.ghost.admitted - before;
    println!("{admitted} of 12000");
    assert!(admitted >= 11_900, "{admitted}");
    let changed = world.figures().changed - figures.changed;
    assert!(changed <= 3, "{changed} changes");
}

#[test]
fn who_comes_later_gets_a_share_when_the_first_is_cut() {
    let mut world = world(2);
    world.sides[0].mood = Mood::Steady(2_000);
    world.run(30 * SECOND);
    let alone = bucket_of(&mut world, 0);
    world.sides[1].mood = Mood::Steady(2_000);
    world.run(60 * SECOND);
    let (one, two) = (bucket_of(&mut world, 0), bucket_of(&mut world, 1));
    println!("{alone:?} {one:?} {two:?}");
    assert!(one.tokens_per_fill < alone.tokens_per_fill);
    assert!(two.tokens_per_fill * 3 > one.tokens_per_fill);
    assert_eq!(world.ghost.over, 0);
}

/// How long after demand has moved from one data plane to another, which used 8 % before, that one passes 0.8 of what
/// it asks for.
fn moved_after(rules: QuotaRules, report_every: u64) -> u64 {
    let mut world = QuotaWorld::new(1, 1_000, 1_000, rules, CALM);
    for rate in [2_000, 80] {
        world.add(Envoy::new(0, false), report_every);
        world.sides.last_mut().unwrap().mood = Mood::Steady(rate);
    }
    world.run(30 * SECOND);
    world.sides[0].mood = Mood::Steady(80);
    world.sides[1].mood = Mood::Steady(900);
    let moved = world.now;
    while world.now < moved + 60 * SECOND {
        let before = world.ghost.admitted;
        world.run(500 * MS);
        if world.ghost.admitted - before >= 400 {
            break;
        }
    }
    assert_eq!(world.ghost.over, 0);
    world.now - 500 * MS - moved
}

#[test]
fn quotas_follow_demand_within_three_seconds() {
    for report_s in [1, 2, 5] {
        let after = moved_after(QuotaRules::default(), report_s * SECOND);
        println!("reports every {report_s} s: {} ms", after / MS);
        assert!(after <= report_s * SECOND + 2_500 * MS, "{after}");
        assert!(report_s > 1 || after <= 3 * SECOND, "{after}");
    }
}

/// In a cluster an assignment is known to have arrived later: what was given up for it is free later.
#[test]
fn quotas_of_a_cluster_follow_demand_as_soon_as_assignments_have_surely_arrived() {
    let rules = QuotaRules {
        ttl_s: 20,
        delivery_ns: 2 * SECOND,
        stale_ns: 2 * SECOND,
        ..QuotaRules::default()
    };
    for report_s in [1, 2, 5] {
        let after = moved_after(rules, report_s * SECOND);
        println!("reports every {report_s} s: {} ms", after / MS);
        assert!(
            after <= (report_s + 1) * SECOND + rules.sure_ns(),
            "{after}"
        );
    }
}

#[test]
fn a_dry_pool_denies_and_gives_as_soon_as_it_has_something() {
    let limits = Limits::new(10, SECOND, 10).unwrap();
    let at = |millis: u64| Instant::from_nanos(millis * MS);
    let mut pool = Pool::new(limits, Rules::default(), 1, at(0));
    let mut quota = KeyQuota::new(QuotaRules::default(), true);
    pool.draw(10);
    let report = QuotaReport {
        elapsed_ns: 0,
        allowed: 0,
        denied: 1,
    };
    let told = quota.handle_report(&mut pool, 1, &report, at(0));
    assert_eq!(told, Some(Action::Deny(1)));
    // A token is back after 100 ms.
    assert_eq!(quota.due(1), Some(at(100)));
    assert_eq!(quota.handle_due(&mut pool, 1, at(99)), None);
    let told = quota.handle_due(&mut pool, 1, at(100));
    assert!(
        matches!(told, Some(Action::Assign(bucket, 10)) if bucket.max_tokens == 1),
        "{told:?}"
    );
    assert!(pool.level() >= 0);
}

#[test]
fn what_nobody_uses_is_abandoned_and_its_room_comes_back() {
    let mut world = world(1);
    world.sides[0].mood = Mood::Steady(500);
    world.run(5 * SECOND);
    assert!(world.pool().unwrap().reserved().1 > 0);
    world.sides[0].mood = Mood::Quiet;
    world.run(36 * SECOND);
    assert_eq!(world.figures().abandoned, 0);
    world.run(5 * SECOND);
    assert_eq!(world.figures().abandoned, 1);
    assert_eq!(world.grantor().quota_stand().planes, 0);
    world.run(16 * SECOND);
    assert!(world.pool().is_none(), "as if it had never been asked for");
}

#[test]
fn smaller_limits_are_told_and_hold_once_what_was_out_has_ended() {
    let mut world = world(2);
    for side in &mut world.sides {
        side.mood = Mood::Steady(1_000);
    }
    world.run(20 * SECOND);
    let limits = Limits::new(100, SECOND, 100).unwrap();
    let now = world.at();
    world.grantor().change(limits, Rules::default(), now);
    // The longest that anything of before may be in use, and a report.
    world.run(17 * SECOND);
    let (rate, depth) = world.pool().unwrap().reserved();
    assert!(rate <= limits.rate() && depth <= limits.depth());
    let before = world.ghost.admitted;
    world.run(10 * SECOND);
    let admitted = world.ghost.admitted - before;
    println!("{admitted} of 1000");
    assert!((600..=1_100).contains(&admitted), "{admitted}");
}

/// How much passes in the 20 s before and in those after the grantor fell, while so much is asked for; and what passed
/// too many.
fn around_a_fall(per_second: [u64; 2]) -> (u64, u64, u64) {
    let mut world = world(2);
    for (side, rate) in world.sides.iter_mut().zip(per_second) {
        side.mood = Mood::Steady(rate);
    }
    world.run(20 * SECOND);
    let at_first = world.ghost.admitted;
    world.run(20 * SECOND);
    assert_eq!(world.ghost.over, 0);
    let then = world.ghost.admitted;
    world.fall();
    world.run(20 * SECOND);
    let QuotaReferenceBucket { admitted, debt, .. } = world.ghost;
    (then - at_first, admitted - then, debt)
}

#[test]
fn who_uses_less_than_the_limit_notices_nothing_of_a_fall() {
    for rates in [[400, 400], [700, 100], [900, 3]] {
        let (before, after, debt) = around_a_fall(rates);
        assert_eq!(debt, 0);
        assert!(after + 10 >= before, "{rates:?}: {before}, then {after}");
    }
}

#[test]
fn who_asks_for_more_than_the_limit_gets_a_burst_more_at_most_after_a_fall() {
    for rates in [[2_000, 2_000], [2_000, 100], [1_100, 1_100]] {
        let (before, after, debt) = around_a_fall(rates);
        println!("{rates:?}: {before}, then {after}, {debt} too many");
        assert!(after >= before, "{rates:?}: {before}, then {after}");
        assert!(debt <= 1_000, "{rates:?}: {debt}");
    }
}

#[test]
fn a_successor_assigns_nothing_new_while_anything_may_be_out() {
    let mut world = world(2);
    world.sides[0].mood = Mood::Steady(500);
    world.run(5 * SECOND);
    world.sides[0].mood = Mood::Quiet;
    world.run(2 * SECOND);
    world.fall();
    world.sides[1].mood = Mood::Steady(500);
    let hold = QuotaRules::default().hold_ns();
    let before = world.figures().changed;
    world.run(hold - SECOND);
    assert_eq!(world.figures().changed, before);
    assert_eq!(world.figures().restated, 0);
    world.run(5 * SECOND);
    assert!(world.figures().changed > before);
    assert_eq!(world.ghost.over, 0);
}
