//! Named scenes: what one node, two or three do in cases that were thought of.

use tollgate_limit::{Span, Verdict};
use tollgate_sim::SimClock;
use tollgate_supply::{Limits, Machine, SupplyConfig};

use super::world::{MS, Plan, SECOND, World};
use crate::nodes::contracts;

pub(super) fn span(nanos: u64) -> Span {
    Span::from_nanos(u128::from(nanos))
}

pub(super) fn plan(nodes: u16, rate: u64, burst: u64) -> Plan {
    Plan {
        seed: 3,
        nodes,
        limits: Limits::new(rate * Limits::PER_SECOND, burst).unwrap(),
        config: SupplyConfig::default(),
        wait_max: Span::ZERO,
        costs_max: 1,
        drift_ppm: 0,
    }
}

pub(super) fn passes(world: &mut World, node: u16, cost: u64) -> bool {
    world.request(node, cost).is_some_and(Verdict::is_allowed)
}

/// Asks again and again for a while; says whether it passed.
fn insists(world: &mut World, node: u16, cost: u64, seconds: u64) -> bool {
    let end = world.now() + seconds * SECOND;
    while world.now() < end {
        if passes(world, node, cost) {
            return true;
        }
        world.run_until(world.now() + 20 * MS);
    }
    false
}

pub(super) fn sound(world: &World) {
    let limits = world.plan.limits;
    assert_eq!(world.seen.broken, None);
    assert_eq!(world.malformed(), 0);
    assert_eq!(world.over(limits.rate(), limits.burst()), 0);
}

/// From the beginning a node's clock runs too fast by so many millionths.
fn drift(world: &mut World, node: u16, drift: i64) {
    let ahead = world.net.sim.clock(node).ahead;
    world.net.sim.set_clock(node, SimClock { ahead, drift });
}

#[test]
fn one_node_that_holds_everything_has_the_whole_burst() {
    let mut world = World::new(plan(1, 7, 20));
    assert!((0..20).all(|_| passes(&mut world, 0, 1)));
    assert!(!passes(&mut world, 0, 1));
    world.run_until(10 * SECOND);
    assert!(passes(&mut world, 0, 20));
    assert_eq!(world.request(0, 21), Some(Verdict::Never));
    sound(&world);
}

#[test]
fn a_cost_above_the_share_collects_what_it_needs() {
    let mut world = World::new(plan(3, 30, 30));
    assert!(!passes(&mut world, 0, 25));
    assert!(insists(&mut world, 0, 25, 3));
    assert!(
        insists(&mut world, 0, 30, 10),
        "all of it, when the others are idle"
    );
    sound(&world);
}

#[test]
fn a_hot_node_borrows_from_idle_ones_and_gives_back_when_it_is_idle() {
    let mut world = World::new(plan(3, 300, 30));
    world.set_demands(&[300, 0, 0]);
    world.run_until(3 * SECOND);
    let hot = world.inspect(0);
    assert!(hot.borrowed > 180 * Limits::PER_SECOND, "{hot:?}");
    assert_eq!(world.inspect(1).lent + world.inspect(2).lent, hot.borrowed);
    world.set_demands(&[0, 0, 0]);
    world.run_until(9 * SECOND);
    for node in 0..3 {
        let keys = world.look(node, |machine, _, _| machine.keys_count());
        assert_eq!(
            keys,
            Some(0),
            "nothing is kept of a key that is as if never seen"
        );
        assert_eq!(world.inspect(node).usable, 100 * Limits::PER_SECOND);
        let rests =
            |machine: &Machine, _, _| machine.is_quiet() && machine.poll_timeout().is_none();
        assert_eq!(
            world.look(node, rests),
            Some(true),
            "nobody has anything to do"
        );
    }
    sound(&world);
}

#[test]
fn a_restarted_lender_uses_nothing_until_its_loans_have_ended() {
    let mut world = World::new(plan(2, 100, 10));
    world.set_demands(&[100, 0]);
    world.run_until(SECOND);
    let lent = world.inspect(1).lent;
    assert!(lent > 0);
    world.crash(1);
    world.restart(1, true);
    assert_eq!(world.inspect(1).usable, 0);
    assert!(world.inspect(1).quarantine_until.is_some());
    assert!(!passes(&mut world, 1, 1));
    world.run_until(world.now() + 1_100 * MS);
    assert!(world.inspect(1).usable > 0);
    sound(&world);
}

#[test]
fn a_node_that_says_goodbye_leaves_its_home_to_its_buddy() {
    let config = SupplyConfig {
        lease: Some(span(4 * SECOND)),
        ..SupplyConfig::default()
    };
    let mut world = World::new(Plan {
        config,
        ..plan(3, 300, 30)
    });
    world.set_demands(&[100, 100, 100]);
    world.run_until(SECOND);
    world.with(1, |whole, now| whole.handle_leave(now));
    assert_eq!(world.inspect(1).usable, 0);
    world.run_until(6 * SECOND);
    let heir = world.heir(1);
    assert_eq!(world.inspect(heir).home, 200 * Limits::PER_SECOND);
    assert_eq!(world.inspect(1).usable, 0, "and asks for nothing");
    sound(&world);
}

#[test]
fn a_clock_that_runs_wrong_is_not_lent_to() {
    let mut world = World::new(plan(2, 100, 10));
    drift(&mut world, 0, -50_000);
    world.set_demands(&[100, 10]);
    world.run_until(5 * SECOND);
    let figures = world.look(1, |machine, _, _| machine.figures()).unwrap();
    assert!(figures.ignored.drift > 0, "{figures:?}");
    assert_eq!(world.inspect(0).borrowed, 0);
    assert_eq!(world.inspect(1).lent, 0);
}

#[test]
fn clocks_that_run_as_fast_as_they_may_earn_no_more() {
    let mut world = World::new(plan(3, 100, 10));
    for node in 0..3 {
        drift(&mut world, node, 1_000);
    }
    world.set_demands(&[100, 100, 100]);
    world.run_until(40 * SECOND);
    let limits = world.limits;
    assert_eq!(world.over(limits.rate(), limits.burst()), 0);
}

#[test]
fn promised_waits_hold_when_the_lender_is_gone() {
    let mut world = World::new(Plan {
        wait_max: span(3 * SECOND),
        ..plan(2, 100, 2)
    });
    world.set_demands(&[95, 0]);
    world.run_until(SECOND);
    assert!(world.inspect(0).borrowed > 0);
    world.net.sim.links.split(vec![0, 1]);
    world.set_demands(&[300, 0]);
    world.run_until(2 * SECOND);
    assert!(world.inspect(0).tokens < 0, "some wait");
    world.run_until(8 * SECOND);
    assert_eq!(world.inspect(0).borrowed, 0);
    // The lender has its home again, and uses it.
    world.set_demands(&[300, 300]);
    world.run_until(12 * SECOND);
    sound(&world);
}

#[test]
fn a_restart_brings_no_tokens_along() {
    let mut world = World::new(plan(2, 10, 100));
    for node in 0..2 {
        assert!((0..50).all(|_| passes(&mut world, node, 1)));
    }
    world.crash(1);
    world.restart(1, true);
    world.run_until(1_200 * MS);
    assert!(world.inspect(1).usable > 0);
    while passes(&mut world, 1, 1) {}
    while passes(&mut world, 0, 1) {}
    sound(&world);
}

#[test]
fn what_is_promised_is_not_given_back_but_not_renewed_for_ever() {
    let mut world = World::new(Plan {
        wait_max: span(SECOND),
        ..plan(2, 100, 20)
    });
    world.set_demands(&[95, 0]);
    world.run_until(SECOND);
    world.set_demands(&[300, 0]);
    world.run_until(2 * SECOND);
    assert!(world.inspect(0).tokens < 0, "some wait");
    assert!(world.inspect(0).borrowed > 30 * Limits::PER_SECOND);
    // The lender wants it back.
    world.set_demands(&[300, 300]);
    world.run_until(6 * SECOND);
    assert!(world.inspect(1).usable > 40 * Limits::PER_SECOND);
    sound(&world);
}

#[test]
fn a_lie_about_demand_leaves_the_others_a_fifth() {
    let mut world = World::new(plan(3, 300, 30));
    world.set_demands(&[0, 150, 150]);
    // Another policy refuses what is asked for there, so that it is wanted and never used.
    let beside = "contracts: [{ id: all, policies: [{ name: none, limit: 9, per: 1000000s }, \
        { name: all, limit: 300, per: 1s, burst: 30, coordination: supply }] }]";
    world.with(0, |liar, now| {
        liar.node = liar.newest().succeed(contracts(beside), now);
    });
    for _ in 0..300 {
        for _ in 0..10 {
            let _ = passes(&mut world, 0, 9);
        }
        world.run_until(world.now() + 20 * MS);
    }
    let left = world.inspect(1).usable + world.inspect(2).usable;
    assert!(left >= 54 * Limits::PER_SECOND, "{left}");
    // And all of it is theirs again once the lie ends.
    world.run_until(world.now() + 4 * SECOND);
    let left = world.inspect(1).usable + world.inspect(2).usable;
    assert!(left >= 290 * Limits::PER_SECOND, "{left}");
    sound(&world);
}
