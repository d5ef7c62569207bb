//! Authorities that change and come back, old disks, and the smallest limit.

use tollgate_limit::{Instant, Span};
use tollgate_sim::Conditions;
use tollgate_supply::{Authority, Limits, SupplyConfig};

use super::scenes::{passes, plan, sound, span};
use super::world::{MS, Plan, SECOND, World};

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
    nodes.map(|node| world.inspect(node).home / UNIT).collect()
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
        world.tell(node);
    }
}

#[test]
fn an_heir_has_its_home_a_term_after_a_goodbye_however_long_leases_are() {
    let mut world = leased(60 * SECOND);
    world.run_until(SECOND);
    world.with(1, |whole, now| whole.handle_leave(now));
    world.run_until(1_900 * MS);
    let heir = usize::from(world.heir(1));
    assert_eq!(homes(&world)[heir], 100, "what was lent may still be used");
    world.run_until(2_100 * MS);
    assert_eq!(homes(&world)[heir], 200);
    sound(&world);
}

#[test]
fn a_grant_that_comes_after_a_goodbye_is_given_back() {
    let mut world = World::new(plan(3, 300, 30));
    world.net.sim.links.weather = Conditions::between(20 * MS, 40 * MS);
    world.set_demands(&[250, 0, 0]);
    // Whenever it goes, something may be on its way.
    for step in 0..40 {
        world.run_until(world.now() + 7 * MS);
        if step == 39 || world.inspect(0).asked > 0 {
            break;
        }
    }
    assert!(world.inspect(0).asked > 0, "it asks when it goes");
    world.with(0, |whole, now| whole.handle_leave(now));
    world.set_demands(&[0, 0, 0]);
    let mut most = 0;
    for _ in 0..30 {
        world.run_until(world.now() + 10 * MS);
        most = most.max(world.inspect(0).usable);
    }
    assert_eq!(most, 0);
    assert_eq!(
        world.inspect(1).lent + world.inspect(2).lent,
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
    assert_eq!(world.over(600 * UNIT, 60), 0);
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
    up.map(|node| world.inspect(node).home / UNIT).sum()
}

/// Replaces the authority by one that knows what the former told last.
fn resume(world: &mut World, limits: Limits) {
    let homes = world
        .with_authority(|authority, _| authority.homes())
        .unwrap();
    let start = Instant::from_nanos(world.now() + 1);
    let config = world.plan.config.clone();
    world.install(Authority::resume(limits, &homes, config, Span::ZERO, start));
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
    world.net.sim.links.split(vec![1, 0, 1]);
    world.run_until(6 * SECOND);
    let homes = world
        .with_authority(|authority, _| authority.homes())
        .unwrap();
    assert!(homes.iter().map(|(_, home)| home).sum::<u64>() < 300 * UNIT);
    let limits = world.limits;
    resume(&mut world, limits);
    world.net.sim.links.heal();
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
        world.tell(node);
    }
    world.run_until(4 * SECOND);
    assert_eq!(homes(&world), [50; 3]);
    assert_eq!(usable(&world), 150);
    sound(&world);
}

/// Tells some nodes how the rate is divided from here on.
fn divide(world: &mut World, weights: [u32; 3], nodes: &[u16]) {
    world.weights = (0..).zip(weights).collect();
    for node in nodes {
        world.tell(*node);
    }
}

#[test]
fn a_node_with_an_old_disk_gets_nothing_of_what_it_had() {
    let mut world = World::new(plan(3, 300, 30));
    world.set_demands(&[100, 100, 100]);
    world.run_until(SECOND);
    let (disk, old) = (world.disk(2), world.weights.clone());
    divide(&mut world, [1, 1, 0], &[0, 1, 2]);
    world.run_until(4 * SECOND);
    assert_eq!(homes(&world), [150, 150, 0]);
    // Its disk and its settings are those of before.
    world.crash(2);
    let new = std::mem::replace(&mut world.weights, old);
    world.restart_with(2, disk);
    world.weights = new;
    world.run_until(8 * SECOND);
    assert_eq!(world.inspect(2).home, 0);
    assert_eq!(homes(&world), [150, 150, 0]);
    world.tell(2);
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
    let poor = world.inspect(2);
    assert_eq!(poor.home, 0);
    assert!(poor.borrowed > 200 * UNIT, "{poor:?}");
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
    assert!(world.inspect(0).tokens < 0, "some wait");
    world.plan.wait_max = Span::ZERO;
    world.tell(0);
    world.crash(0);
    world.restart(0, true);
    world.run_until(3_900 * MS);
    assert_eq!(world.inspect(0).usable, world.inspect(0).borrowed);
    world.run_until(8 * SECOND);
    assert!(world.inspect(0).usable > 0);
    sound(&world);
}
