//! Authorities that change and come back, nodes that are gone, old disks, and limits at the end of what is accepted.

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};
use tollgate_sim::Weather;
use tollgate_supply::{Authority, Limits, Machine, Shares, SupplyConfig};

use crate::scenes::{passes, plan, seen, sound, span};
use crate::world::{MS, Plan, SECOND, World};

const UNIT: u64 = Limits::PER_SECOND;

fn leased(lease: u64) -> World {
    let config = SupplyConfig {
        lease: Some(span(lease)),
        ..SupplyConfig::default()
    };
    let mut world = World::new(Plan {
        config,
        ..plan(3, 300, 30)
    });
    world.set_demands(&[100, 100, 100]);
    world
}

fn homes(world: &World) -> Vec<u64> {
    let nodes = 0..world.plan.nodes;
    nodes.map(|node| seen(world, node).home / UNIT).collect()
}

/// What all that run may use, in requests per second.
fn usable(world: &World) -> u64 {
    world.audit().unwrap().usable / UNIT
}

/// Tells the authority and every node of another limit.
fn limit(world: &mut World, rate: u64, burst: u64) {
    let limits = Limits::new(rate * UNIT, burst).unwrap();
    let (most, deepest) = world.limits_max;
    world.limits_max = (most.max(limits.rate()), deepest.max(burst));
    world.limits = limits;
    world.with_authority(|authority, now| authority.set_limits(limits, now));
    for node in 0..world.plan.nodes {
        world.with(node, |machine, now| machine.set_limits(limits, now));
    }
}

#[test]
fn an_heir_has_its_home_a_term_after_a_goodbye_however_long_leases_are() {
    let mut world = leased(60 * SECOND);
    world.run_until(SECOND);
    world.with(1, Machine::goodbye);
    world.run_until(1_900 * MS);
    assert_eq!(homes(&world)[2], 100, "what was lent may still be used");
    world.run_until(2_100 * MS);
    assert_eq!(homes(&world)[2], 200);
    sound(&world);
}

#[test]
fn a_grant_that_comes_after_a_goodbye_is_given_back() {
    let mut world = World::new(plan(3, 300, 30));
    world.sim.links.weather = Weather::between(20 * MS, 40 * MS);
    world.set_demands(&[250, 0, 0]);
    // Whenever it goes, something may be on its way.
    for step in 0..40 {
        world.run_until(world.now() + 7 * MS);
        if step == 39 || seen(&world, 0).asked > 0 {
            break;
        }
    }
    assert!(seen(&world, 0).asked > 0, "it asks when it goes");
    world.with(0, Machine::goodbye);
    world.set_demands(&[0, 0, 0]);
    let mut most = 0;
    for _ in 0..30 {
        world.run_until(world.now() + 10 * MS);
        most = most.max(seen(&world, 0).usable);
    }
    assert_eq!(most, 0);
    assert_eq!(
        seen(&world, 1).lent + seen(&world, 2).lent,
        0,
        "nor is it lent"
    );
    sound(&world);
}

#[test]
fn under_a_lease_less_counts_at_once_and_more_as_soon_as_all_know() {
    let mut world = leased(60 * SECOND);
    world.run_until(SECOND);
    limit(&mut world, 150, 15);
    assert_eq!(homes(&world), [50; 3]);
    world.run_until(2_100 * MS);
    assert_eq!(usable(&world), 150, "what was lent has come back");
    limit(&mut world, 600, 60);
    world.run_until(3 * SECOND);
    assert_eq!(world.seen.broken, None);
    assert_eq!(homes(&world), [200; 3]);
    assert_eq!(usable(&world), 600);
    assert_eq!(world.over(600 * UNIT, 60), (0, 0));
}

#[test]
fn a_node_that_does_not_know_the_new_limit_holds_back_what_is_more() {
    let mut world = leased(4 * SECOND);
    world.run_until(SECOND);
    world.crash(2);
    limit(&mut world, 600, 60);
    world.run_until(4 * SECOND);
    assert_eq!(homes_up(&world), 200, "its lease may still be valid");
    world.run_until(10 * SECOND);
    assert_eq!(
        homes_up(&world),
        600,
        "it has ended, and its home is inherited"
    );
    assert_eq!(world.seen.broken, None);
}

fn homes_up(world: &World) -> u64 {
    let up = (0..world.plan.nodes).filter(|node| world.is_up(*node));
    up.map(|node| seen(world, node).home / UNIT).sum()
}

/// Replaces the authority by one that knows what the former told last.
fn resume(world: &mut World, limits: Limits) {
    let homes = world.authority.as_ref().unwrap().homes();
    let start = Instant::from_nanos(world.now() + 1);
    let config = world.plan.config.clone();
    let authority = Authority::resume(limits, &homes, config, Span::ZERO, start);
    world.authority = Some(authority);
    world.with_authority(Authority::handle_timeout);
}

#[test]
fn a_resumed_authority_reassigns_nothing_before_leases_of_its_past_have_ended() {
    let mut world = leased(4 * SECOND);
    world.run_until(SECOND);
    world.crash(1);
    world.run_until(3 * SECOND);
    let limits = world.limits;
    resume(&mut world, limits);
    world.run_until(7_900 * MS);
    assert_eq!(homes_up(&world), 200);
    world.run_until(9 * SECOND);
    assert_eq!(homes_up(&world), 300);
    sound(&world);
}

#[test]
fn a_resumed_authority_leaves_nothing_behind_that_nobody_had() {
    let mut world = leased(2 * SECOND);
    world.run_until(SECOND);
    // It reassigns what it took, and goes before the heir has heard of it.
    world.crash(1);
    world.sim.links.split(vec![1, 0, 1]);
    world.run_until(6 * SECOND);
    let homes = world.authority.as_ref().unwrap().homes();
    assert!(homes.iter().map(|(_, home)| home).sum::<u64>() < 300 * UNIT);
    let limits = world.limits;
    resume(&mut world, limits);
    world.sim.links.heal();
    world.run_until(12 * SECOND);
    assert_eq!(homes_up(&world), 300);
    sound(&world);
}

#[test]
fn an_authority_resumed_with_less_takes_it_from_all_alike() {
    let mut world = leased(2 * SECOND);
    world.run_until(SECOND);
    let limits = Limits::new(150 * UNIT, 15).unwrap();
    resume(&mut world, limits);
    world.limits = limits;
    for node in 0..3 {
        world.with(node, |machine, now| machine.set_limits(limits, now));
    }
    world.run_until(4 * SECOND);
    assert_eq!(homes(&world), [50; 3]);
    assert_eq!(usable(&world), 150);
    sound(&world);
}

/// Tells some nodes how the rate is divided from here on.
fn divide(world: &mut World, weights: [u32; 3], nodes: &[u16]) {
    let tag = world.shares.tag() + 1;
    world.shares = Shares::new(tag, (0..).map(NodeId).zip(weights)).unwrap();
    for node in nodes {
        let shares = world.shares.clone();
        world.with(*node, |machine, now| machine.handle_shares(shares, now));
    }
}

#[test]
fn who_is_gone_need_not_agree_once_what_it_lent_has_ended() {
    let mut world = World::new(plan(3, 300, 30));
    world.set_demands(&[100, 100, 0]);
    world.run_until(SECOND);
    world.crash(2);
    divide(&mut world, [1, 1, 0], &[0, 1]);
    world.run_until(5 * SECOND);
    assert_eq!(homes_up(&world), 200, "it may come back and not know");
    for node in 0..2 {
        world.with(node, |machine, now| machine.handle_gone(NodeId(2), now));
    }
    world.run_until(5_900 * MS);
    assert_eq!(homes_up(&world), 200, "what it lent may still be used");
    world.run_until(8 * SECOND);
    assert_eq!(homes_up(&world), 300);
    sound(&world);
}

#[test]
fn a_node_with_an_old_disk_gets_nothing_of_what_it_had() {
    let mut world = World::new(plan(3, 300, 30));
    world.set_demands(&[100, 100, 100]);
    world.run_until(SECOND);
    let (disk, old) = (world.nodes[2].kept.clone(), world.shares.clone());
    divide(&mut world, [1, 1, 0], &[0, 1, 2]);
    world.run_until(4 * SECOND);
    assert_eq!(homes(&world), [150, 150, 0]);
    // Its disk and its settings are those of before.
    world.crash(2);
    let new = std::mem::replace(&mut world.shares, old);
    world.nodes[2].kept = disk;
    world.restart(2, true);
    world.shares = new.clone();
    world.run_until(8 * SECOND);
    assert_eq!(seen(&world, 2).home, 0);
    assert_eq!(homes(&world), [150, 150, 0]);
    world.with(2, |machine, now| machine.handle_shares(new, now));
    world.run_until(12 * SECOND);
    assert_eq!(usable(&world), 300);
    sound(&world);
}

#[test]
fn a_node_without_weight_lives_on_loans() {
    let mut world = World::new(plan(3, 300, 30));
    divide(&mut world, [1, 1, 0], &[0, 1, 2]);
    world.set_demands(&[10, 10, 200]);
    world.run_until(4 * SECOND);
    let poor = seen(&world, 2);
    assert_eq!(poor.home, 0);
    assert!(poor.borrowed > 200 * UNIT, "{poor:?}");
    sound(&world);
}

#[test]
fn the_largest_limit_is_kept_to_the_last_token() {
    let limits = Limits::new(Limits::RATE_MAX, Limits::BURST_MAX).unwrap();
    let mut world = World::new(Plan {
        limits,
        ..plan(3, 1, 1)
    });
    let part = limits.burst() / 3;
    for _ in 0..40 {
        for cost in [part, 1, limits.burst()] {
            let _ = passes(&mut world, 0, cost);
        }
        world.run_until(world.now() + 50 * MS);
    }
    assert!(seen(&world, 0).borrowed > 0);
    assert!(seen(&world, 0).usable <= limits.rate());
    sound(&world);
}

#[test]
fn the_smallest_limit_is_kept_too() {
    let mut world = World::new(Plan {
        limits: Limits::new(1, 1).unwrap(),
        ..plan(3, 1, 1)
    });
    for _ in 0..20 {
        for node in 0..3 {
            let _ = passes(&mut world, node, 1);
        }
        world.run_until(world.now() + 100 * MS);
    }
    assert!(world.seen.passes.len() <= 1);
    sound(&world);
}

#[test]
fn a_restart_waits_for_those_who_were_let_in_to_wait_longer_than_now() {
    let mut world = World::new(Plan {
        wait_max: span(3 * SECOND),
        ..plan(2, 100, 2)
    });
    world.set_demands(&[300, 300]);
    world.run_until(SECOND);
    assert!(seen(&world, 0).tokens < 0, "some wait");
    world.with(0, |machine, _| machine.set_wait_max(Span::ZERO));
    world.crash(0);
    world.plan.wait_max = Span::ZERO;
    world.restart(0, true);
    world.run_until(3_900 * MS);
    assert_eq!(seen(&world, 0).usable, seen(&world, 0).borrowed);
    world.run_until(8 * SECOND);
    assert!(seen(&world, 0).usable > 0);
    sound(&world);
}
