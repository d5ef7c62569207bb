//! Missing nodes are listed at every node from their death until they return or are forgotten.

#![allow(
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    reason = "small numbers, and a broken set-up must stop the test"
)]

use tollgate_cluster::{Event, MissingNode};
use tollgate_lab::membership::{MembershipWorld, SECOND};

const NODES: u32 = 5;

fn settled(seed: u64) -> MembershipWorld {
    let mut world = MembershipWorld::new(seed);
    world.start_many(NODES);
    world.run_until("everybody meets", 10, MembershipWorld::agrees);
    world
}

/// A settled cluster whose fourth node was killed and is gone.
fn mourning(seed: u64) -> MembershipWorld {
    let mut world = settled(seed);
    world.run_seconds(5);
    world.kill(4);
    world.run_until("it is gone", 20, MembershipWorld::agrees);
    world
}

fn all_miss(world: &MembershipWorld, names: &[&str]) -> bool {
    let mut hosts = world.processes.keys();
    hosts.all(|host| world.missed(*host) == names)
}

#[test]
fn a_node_that_is_killed_is_missed_by_all_since_it_was_last_heard() {
    for seed in 0..4 {
        let mut world = settled(seed);
        world.run_seconds(5);
        let died = world.now();
        world.kill(4);
        world.run_until("it is gone", 20, MembershipWorld::agrees);
        assert!(all_miss(&world, &["n4"]));
        let status = world
            .cluster(1)
            .status(tollgate_limit::Instant::from_nanos(died));
        let since = status.missing[0].since_ms * 1_000_000;
        assert!(since.abs_diff(died) < 5 * SECOND, "{since} {died}");
        let is_it = |event: &Event| matches!(event, Event::Gone { is_goodbye: false, who } if who.name == "n4");
        assert_eq!(
            world.processes[&1]
                .events
                .iter()
                .filter(|event| is_it(event))
                .count(),
            1
        );
        // Longer than its membership is remembered.
        world.run_seconds(4000);
        assert!(all_miss(&world, &["n4"]));
    }
}

#[test]
fn a_node_that_says_goodbye_is_not_missed() {
    for seed in 0..8 {
        let mut world = settled(seed);
        let now = world.clock(4);
        world.cluster(4).leave(now);
        world.run_for(SECOND);
        world.kill(4);
        world.run_seconds(30);
        assert!(world.agrees() && all_miss(&world, &[]));
        let is_it = |event: &Event| matches!(event, Event::Gone { is_goodbye: true, who } if who.name == "n4");
        assert!(world.processes[&1].events.iter().any(is_it));
    }
}

#[test]
fn a_node_that_comes_back_is_missed_no_more_by_its_id_or_by_its_name() {
    for is_other_id in [false, true] {
        let mut world = mourning(1);
        let mut config = world.config(4, &[1, 2]);
        config.generation = 2;
        if is_other_id {
            config.id += 1;
        }
        world.start_with(4, config);
        world.run_until("it is back", 30, MembershipWorld::agrees);
        assert!(all_miss(&world, &[]), "{is_other_id}");
        let is_it = |event: &Event| {
            matches!(
                event,
                Event::Came {
                    since_ms: Some(_),
                    ..
                }
            )
        };
        assert!(world.processes[&1].events.iter().any(is_it));
    }
}

#[test]
fn a_node_that_starts_later_is_told_who_is_missing() {
    let mut world = mourning(2);
    world.run_seconds(60);
    world.start(6, &[1]);
    world.run_until("it is there", 20, MembershipWorld::agrees);
    world.run_seconds(2);
    assert!(all_miss(&world, &["n4"]));
}

#[test]
fn a_name_that_is_forgotten_at_one_node_is_forgotten_at_all() {
    let mut world = mourning(3);
    let now = world.clock(2);
    assert!(!world.cluster(2).forget("n9", now));
    assert!(world.cluster(2).forget("n4", now));
    world.run_seconds(1);
    assert!(all_miss(&world, &[]));
    world.start(6, &[1]);
    world.run_until("somebody comes", 20, MembershipWorld::agrees);
    world.run_seconds(2);
    assert!(all_miss(&world, &[]));
}

#[test]
fn a_restart_of_all_nodes_misses_the_one_that_does_not_come() {
    let mut world = settled(4);
    let others = world.cluster(1).members().iter().skip(1);
    let kept = others.map(|member| MissingNode {
        id: member.id,
        name: member.about.name.clone(),
        address: member.address,
        since_ms: 0,
    });
    let kept = kept.collect();
    for host in 1..=NODES {
        world.kill(host);
    }
    world.run_seconds(60);
    let mut config = world.config(1, &[2, 3]);
    (config.generation, config.missing) = (2, kept);
    world.start_with(1, config);
    for host in 2..NODES {
        let mut config = world.config(host, &[1]);
        config.generation = 2;
        world.start_with(host, config);
    }
    world.run_until("four are back", 20, MembershipWorld::agrees);
    world.run_seconds(2);
    assert_eq!(world.missed(1), ["n5"]);
}
