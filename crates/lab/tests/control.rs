//! Control machines under faults: what they are sure of, how soon another node is in charge, and what is well again
//! afterwards.
//!
//! Not here: the schedules and the judge.

use tollgate_control::{ControlCommand, ControlEvent, NodeState, SLOTS};
use tollgate_lab::nodes::control::ControlWorld;
use tollgate_lab::nodes::control::campaign::trial;
use tollgate_sim::Conditions;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// A cluster whose nodes all know of each other, and every slot has a node that is sure of it.
fn world(nodes: usize, seed: u64) -> ControlWorld {
    let mut world = ControlWorld::new(Conditions::between(MS, 5 * MS), seed);
    world.found(nodes, 1, 0);
    let end = world.sim.now() + 60 * SECOND;
    let is_level = |world: &ControlWorld| {
        let Some(view) = world.leader().and_then(|place| world.view(place)) else {
            return false;
        };
        let loads = view.state().loads();
        loads.len() == nodes && loads.values().all(|load| *load <= SLOTS.div_ceil(nodes))
    };
    assert!(world.pass_until(end, is_level), "no cluster");
    world.pass(2 * SECOND);
    assert_eq!(world.judge.covered(world.sim.now()), SLOTS);
    world
}

fn well(world: &ControlWorld) {
    assert!(
        world.judge.findings.is_empty(),
        "{:?}",
        world.judge.findings
    );
}

#[test]
fn no_two_nodes_are_ever_sure_of_the_same_slot() {
    for seed in seeds(12) {
        let trial = trial(seed);
        assert!(
            trial.findings.is_empty(),
            "seed {seed}: {:?}",
            trial.findings
        );
        assert!(trial.checks > 100 && trial.commits > 5);
    }
}

#[test]
fn a_seed_decides_everything() {
    let (one, again) = (trial(3), trial(3));
    assert_eq!((one.hash, one.commits), (again.hash, again.commits));
    assert_ne!(one.hash, trial(4).hash);
}

#[test]
fn another_node_is_in_charge_three_seconds_after_a_death_or_a_cut() {
    for seed in 0..10 {
        for victim in 0..2 {
            let mut world = world(5, seed);
            let leader = world.leader().unwrap();
            let gone = if victim == 0 {
                leader
            } else {
                (leader + 1) % 5
            };
            if seed % 2 == 0 {
                world.crash(gone);
            } else {
                world.cut_off(gone);
            }
            let end = world.sim.now() + 3 * SECOND;
            let start = world.sim.now();
            let taken = world.pass_until(end, |world| {
                world.sim.now() > start + 1_300 * MS && world.covered_without(gone) == SLOTS
            });
            assert!(
                taken,
                "seed {seed}, leader {}: {}",
                victim == 0,
                world.covered_without(gone)
            );
            well(&world);
            world.sim.links.heal();
            world.pass(5 * SECOND);
            well(&world);
        }
    }
}

#[test]
fn who_is_cut_off_knows_it_before_another_is_in_charge() {
    for seed in 0..5 {
        let mut world = world(3, seed);
        let leader = world.leader().unwrap();
        for gone in [leader, (leader + 1) % 3] {
            world.cut_off(gone);
            let end = world.sim.now() + 1_400 * MS;
            let knows = world.pass_until(end, |world| world.covered_by(gone) == 0);
            assert!(knows, "seed {seed}");
            world.sim.links.heal();
            world.pass(8 * SECOND);
            assert_eq!(world.judge.covered(world.sim.now()), SLOTS);
        }
        well(&world);
    }
}

#[test]
fn without_a_majority_nothing_changes_hands() {
    let mut world = world(4, 1);
    world.pass(2 * SECOND);
    let before = world.view(0).unwrap().state().clone();
    world.sim.links.split(vec![0, 1, 2, 3]);
    world.pass(10 * SECOND);
    assert_eq!(
        (world.leader(), world.judge.covered(world.sim.now())),
        (None, 0)
    );
    world.sim.links.heal();
    world.pass(5 * SECOND);
    let after = world.view(0).unwrap();
    assert_eq!(after.state().slots(), before.slots());
    assert_eq!(world.judge.covered(world.sim.now()), SLOTS);
    well(&world);
}

#[test]
fn thirty_idle_nodes_send_few_bytes() {
    let mut world = world(30, 2);
    world.pass(5 * SECOND);
    world.forget_sent();
    world.pass(20 * SECOND);
    let each = world.sent().bytes / 20 / 30;
    assert!(each <= 700, "{each} bytes per node and second");
    well(&world);
}

#[test]
fn an_old_disk_comes_back_under_a_new_number() {
    let mut world = world(3, 5);
    let old = world.nodes[1].disk.clone();
    let id = world.view(1).unwrap().me;
    for slot in 0..20 {
        let name = String::from("n0002");
        world.request(0, &ControlCommand::Move { slot, name });
        world.pass(SECOND);
    }
    world.crash(1);
    world.pass(SECOND);
    world.nodes[1].disk = old;
    world.start(1);
    world.pass(10 * SECOND);
    assert!(world.nodes[1].events.contains(&ControlEvent::NewIdentity));
    let view = world.view(1).unwrap();
    assert_ne!(view.me, id);
    let (_, node) = view.state().by_id(view.me).unwrap();
    assert_eq!(node.state, NodeState::Present);
    assert_eq!(world.judge.covered(world.sim.now()), SLOTS);
    well(&world);
}

#[test]
fn a_full_disk_ends_voting_and_not_being_in_charge() {
    let mut world = world(3, 6);
    let full = (world.leader().unwrap() + 1) % 3;
    world.nodes[full].is_full = true;
    world.request(full, &ControlCommand::Contracts { revision: 7 });
    world.pass(4 * SECOND);
    assert!(world.view(full).unwrap().is_disk_failed);
    assert!(world.nodes[full].events.contains(&ControlEvent::DiskFailed));
    assert!(world.covered_by(full) > SLOTS / 4);
    world.nodes[full].is_full = false;
    world.pass(10 * SECOND);
    let view = world.view(full).unwrap();
    assert!(!view.is_disk_failed && view.state().contracts() == 7);
    well(&world);
}

#[test]
fn voters_that_die_are_replaced_and_larger_clusters_have_five() {
    let mut world = world(8, 7);
    let voters = world.view(0).unwrap().voters;
    assert_eq!(voters.len(), 5);
    let gone = (0..8).find(|place| voters.contains(&world.view(*place).unwrap().me));
    let gone = gone.unwrap();
    let id = world.view(gone).unwrap().me;
    world.crash(gone);
    world.pass(30 * SECOND);
    let leader = world.leader().unwrap();
    assert!(world.view(leader).unwrap().voters.contains(&id));
    world.pass(40 * SECOND);
    let leader = world.leader().unwrap();
    let voters = world.view(leader).unwrap().voters;
    assert!(voters.len() == 5 && !voters.contains(&id));
    assert!(
        !world
            .view(leader)
            .unwrap()
            .state()
            .by_id(id)
            .unwrap()
            .1
            .has_share
    );
    well(&world);
}

#[test]
fn a_leader_that_is_not_heard_makes_way() {
    let mut world = world(3, 8);
    let leader = world.leader().unwrap();
    let (me, now) = (u16::try_from(leader).unwrap(), world.sim.now());
    let others: Vec<u16> = (0..3).filter(|other| *other != me).collect();
    // It can send, and hears nothing.
    world.sim.links.cut(&others, &[me], now..now + 60 * SECOND);
    world.pass(12 * SECOND);
    assert!(world.leader().is_some_and(|other| other != leader));
    assert_eq!(world.covered_without(leader), SLOTS);
    well(&world);
}

#[test]
fn a_join_and_a_death_every_60_ms_are_borne() {
    let mut world = world(5, 9);
    let mut alive = Vec::new();
    for _ in 0..150 {
        let place = world.add("z0");
        world.start(place);
        alive.push(place);
        world.pass(60 * MS);
        if alive.len() > 8 {
            let gone = alive.remove(0);
            world.crash(gone);
        }
    }
    for gone in alive {
        world.crash(gone);
    }
    world.pass(20 * SECOND);
    let view = world.leader().and_then(|place| world.view(place)).unwrap();
    assert!((50..=155).contains(&view.state().nodes().len()));
    assert_eq!(world.judge.covered(world.sim.now()), SLOTS);
    well(&world);
}

/// The usual number of seeds, unless asked otherwise.
#[allow(
    clippy::disallowed_methods,
    reason = "a replay is asked for from outside"
)]
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let setting = |name| std::env::var(name).ok()?.parse().ok();
    match setting("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("SCHEDULES").unwrap_or(usual),
    }
}
