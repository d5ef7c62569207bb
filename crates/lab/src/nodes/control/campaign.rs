//! Random schedules of faults for control machines, and what must be again after them.
//!
//! Not here: what must never be (`judge`).

use std::sync::Arc;

use tollgate_control::{ControlCommand, ControlState, NodeState, SLOTS};
use tollgate_kit::Dice;
use tollgate_sim::{Conditions, SimClock};

use super::ControlWorld;
use crate::nodes::net::address;

/// One millisecond and one second of the world.
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// How long faults last, how long it may take to be well after them.
const FAULTS: u64 = 45 * SECOND;
const CALM: u64 = 40 * SECOND;
/// Clocks run too fast or too slow by up to so many millionths: two differ by up to a hundredth.
const DRIFT: u64 = 4_900;

/// What one schedule found.
#[derive(Clone, Debug, Default)]
pub struct ControlTrial {
    /// What must never be, and what was not well in the end.
    pub findings: Vec<String>,
    /// Comparisons of what nodes are sure of.
    pub checks: u64,
    /// Commands that were committed.
    pub commits: u64,
    /// A fingerprint of everything that happened.
    pub hash: u64,
}

/// Plays the schedule of a seed.
pub fn trial(seed: u64) -> ControlTrial {
    let mut dice = Dice::new(tollgate_kit::scramble(seed));
    let mut world = ControlWorld::new(Conditions::between(MS, 5 * MS), seed);
    let nodes = 3 + dice.place(6);
    let zones = 1 + dice.place(3);
    world.found(nodes, zones, 0);
    for place in 0..nodes {
        set_clock(&mut world, place, &mut dice);
    }
    let end = world.sim.now() + 15 * SECOND;
    if !world.pass_until(end, is_whole) {
        world.judge.find(String::from("no cluster was founded"));
    }
    let end = world.sim.now() + FAULTS;
    while world.sim.now() < end {
        fault(&mut world, &mut dice);
        world.pass(dice.between(50, 2_500) * MS);
    }
    mend(&mut world);
    let end = world.sim.now() + CALM;
    if !world.pass_until(end, |world| {
        world.sim.now() % (100 * MS) < 5 * MS && is_whole(world)
    }) {
        let why = why_not_whole(&world);
        world
            .judge
            .find(format!("not whole after {} s: {why}", CALM / SECOND));
    }
    ControlTrial {
        findings: world.judge.findings.clone(),
        checks: world.judge.checks,
        commits: world.judge.commits(),
        hash: world.hash(),
    }
}

fn set_clock(world: &mut ControlWorld, place: usize, dice: &mut Dice) {
    // By the world's start the clock has drifted for decades: that goes into where it stands.
    let drift = dice.below(2 * DRIFT + 1).cast_signed() - DRIFT.cast_signed();
    let so_far = i128::from(world.sim.now()) * i128::from(drift) / 1_000_000;
    let ahead = dice.below(SECOND).cast_signed() - i64::try_from(so_far).unwrap_or(0);
    world
        .sim
        .set_clock(address(place), SimClock { ahead, drift });
}

/// One more thing goes wrong.
fn fault(world: &mut ControlWorld, dice: &mut Dice) {
    let count = world.nodes.len();
    let (one, other) = (dice.place(count), dice.place(count));
    match dice.below(22) {
        0..=2 => world.cut_off(one),
        3 | 4 => {
            let sides = (0..count).map(|_| u8::from(dice.chance(1, 2))).collect();
            world.sim.links.split(sides);
        }
        5 | 6 => {
            let (now, span) = (world.sim.now(), dice.between(1, 8) * SECOND);
            let others: Vec<u16> = (0..count)
                .filter(|_| dice.chance(1, 2))
                .map(address)
                .collect();
            let (from, to) = (vec![address(one)], others);
            if dice.chance(1, 2) {
                world.sim.links.cut(&from, &to, now..now + span);
            } else {
                world.sim.links.cut(&to, &from, now..now + span);
            }
        }
        7 | 8 => world.sim.links.heal(),
        9 => {
            world.sim.links.weather = Conditions {
                loss: u32::try_from(dice.below(200_000)).unwrap_or(0),
                copies: u32::try_from(dice.below(200_000)).unwrap_or(0),
                late: u32::try_from(dice.below(50_000)).unwrap_or(0),
                late_max: dice.between(1, 3_000) * MS,
                ..Conditions::between(MS, dice.between(2, 80) * MS)
            }
        }
        10..=12 => toggle(world, one),
        13 => world.nodes[one].tears = Some(dice.place(200)),
        14 => lose_disk(world, one),
        15 => {
            if world.sim.is_paused(address(one)) {
                world.sim.go_on(address(one));
            } else {
                world.sim.pause(address(one));
            }
        }
        16 => {
            let by = dice.below(7_200 * SECOND).cast_signed() - (3_600 * SECOND).cast_signed();
            world.jump(one, by);
        }
        17 if count < 12 => {
            let place = world.add(&format!("z{}", dice.place(3)));
            set_clock(world, place, dice);
            world.start(place);
        }
        18 => {
            world.leave(one);
            world.pass(dice.between(10, 500) * MS);
            world.crash(one);
        }
        19 => world.nodes[one].is_full = dice.chance(1, 2),
        20 => world.nodes[one].hands_over = dice.chance(2, 3),
        _ => {
            let name = world.nodes[other].name.clone();
            let slot = u16::try_from(dice.place(SLOTS)).unwrap_or(0);
            let command = match dice.below(4) {
                0 => ControlCommand::Drain { name },
                1 => ControlCommand::Forget { name },
                _ => ControlCommand::Move { slot, name },
            };
            world.request(one, &command);
        }
    }
}

/// A node crashes, or starts again.
fn toggle(world: &mut ControlWorld, place: usize) {
    if world.nodes[place].machine.is_some() {
        world.crash(place);
    } else {
        world.start(place);
    }
}

/// A node loses its disk and starts again: one at a time, and only where the others know of everyone before.
fn lose_disk(world: &mut ControlWorld, place: usize) {
    if is_settled(world) {
        world.crash(place);
        world.nodes[place].disk.clear();
        world.start(place);
    }
}

/// Whether a sure leader knows every voter, and every voter runs with the disk that is known.
fn is_settled(world: &ControlWorld) -> bool {
    let Some(leader) = world.leader().and_then(|place| world.view(place)) else {
        return false;
    };
    let ids: Vec<u64> = (0..world.nodes.len())
        .filter_map(|place| world.view(place))
        .map(|view| view.me)
        .collect();
    let is_present = |id: &u64| {
        let node = leader.state().by_id(*id);
        ids.contains(id) && node.is_some_and(|(_, node)| node.state == NodeState::Present)
    };
    let present = ids.iter().filter(|id| is_present(id)).count();
    leader.voters.iter().all(is_present) && leader.voters.len() >= 3 && present >= 3
}

/// Everything is well from here on.
fn mend(world: &mut ControlWorld) {
    world.sim.links.heal();
    world.sim.links.weather = Conditions::between(MS, 5 * MS);
    for place in 0..world.nodes.len() {
        world.sim.go_on(address(place));
        let site = &mut world.nodes[place];
        (site.is_full, site.tears, site.hands_over) = (false, None, true);
        if world.nodes[place].machine.is_none() {
            world.start(place);
        }
    }
}

/// Whether every node is there and knows the same, one leads, and every slot has a node that is sure of it.
fn is_whole(world: &ControlWorld) -> bool {
    why_not_whole(world).is_empty()
}

fn why_not_whole(world: &ControlWorld) -> String {
    let Some(leader) = world.leader().and_then(|place| world.view(place)) else {
        return String::from("no leader");
    };
    let state: &Arc<ControlState> = leader.state();
    for place in 0..world.nodes.len() {
        let Some(view) = world.view(place) else {
            return format!("node {place} does not run");
        };
        let known = state.by_id(view.me).map(|(_, node)| node.state);
        if !known.is_some_and(NodeState::is_there) {
            let events = &world.nodes[place].events;
            let last = events.get(events.len().saturating_sub(4)..);
            return format!("node {place} ({}) is {known:?}, after {last:?}", view.me);
        }
        if view.applied != leader.applied || view.state() != state {
            return format!(
                "node {place} has applied {} of {}",
                view.applied, leader.applied
            );
        }
    }
    let covered = world.judge.covered(world.sim.now());
    if covered < SLOTS {
        let unsure = (0..world.nodes.len()).filter_map(|place| {
            let (view, load) = (world.view(place)?, state.loads());
            let (at, node) = state.by_id(view.me)?;
            let until = view.sure_until();
            let load = load.get(&at)?;
            let due = world.nodes[place].time(world.clock(place)).steady;
            let is_sure = until.is_some_and(|until| until > due);
            (!is_sure).then(|| {
                format!(
                    "{} {:?}, {load} slots, sure {until:?}",
                    node.info.name, node.state
                )
            })
        });
        let unsure: Vec<String> = unsure.collect();
        return format!("{covered} slots have a node that is sure of them; {unsure:?}");
    }
    String::new()
}
