//! Who votes: the nodes that joined first, spread over zones, three of them or five.
//!
//! Not here: how the change is agreed on.

use std::collections::{BTreeMap, BTreeSet};

use crate::roster::{NodeState, RosterNode};
use crate::state::ControlState;

/// From so many nodes on five vote, and five go on voting down to as many as they are.
const NODES_FOR_FIVE: usize = 7;

/// The voters that there should be, given those there are, who has been gone for long, and who keeps up with the log.
pub(super) fn choose(
    state: &ControlState,
    old: &[u64],
    is_long_gone: &impl Fn(u64) -> bool,
    keeps_up: &impl Fn(u64) -> bool,
) -> BTreeSet<u64> {
    let belongs = state
        .nodes()
        .values()
        .filter(|node| node.state != NodeState::Left);
    let there = belongs.clone().filter(|node| node.state.is_there()).count();
    let want = match there {
        NODES_FOR_FIVE.. => 5,
        5.. if old.len() == 5 => 5,
        _ => belongs.count().clamp(1, 3),
    };
    let node = |id: u64| state.by_id(id).map(|(_, node)| node);
    let is_left = |id: u64| node(id).is_none_or(|node| node.state == NodeState::Left);
    let mut voters: Vec<u64> = old.iter().copied().filter(|id| !is_left(*id)).collect();
    let is_good = |id: u64| node(id).is_some_and(|node| node.state == NodeState::Present);
    // Those go first that are of no use, then those that joined last.
    let order = |id: &u64| {
        (
            is_good(*id),
            u64::MAX - node(*id).map_or(0, |node| node.joined),
        )
    };
    while voters.len() > want {
        let last = voters.iter().copied().min_by_key(order);
        voters.retain(|id| Some(*id) != last);
    }
    loop {
        let leaves = voters.iter().copied().find(|id| {
            let drains = node(*id).is_some_and(|node| node.state == NodeState::Draining);
            drains || is_long_gone(*id)
        });
        let rest: Vec<u64> = voters
            .iter()
            .copied()
            .filter(|id| Some(*id) != leaves)
            .collect();
        if leaves.is_none() && voters.len() >= want {
            break;
        }
        let mut among = if voters.len() < want {
            voters.clone()
        } else {
            rest
        };
        let Some(next) = candidate(state, &among, keeps_up) else {
            break;
        };
        among.push(next);
        voters = among;
    }
    if voters.is_empty() {
        voters.extend(old);
    }
    voters.into_iter().collect()
}

/// The next voter: of the zone that has fewest, the node that joined first.
fn candidate(state: &ControlState, voters: &[u64], keeps_up: &impl Fn(u64) -> bool) -> Option<u64> {
    let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
    for node in state.nodes().values() {
        if voters.contains(&node.info.id) {
            *zones.entry(&node.info.zone).or_default() += 1;
        }
    }
    let is_open = |node: &&RosterNode| {
        let id = node.info.id;
        node.state == NodeState::Present && !voters.contains(&id) && keeps_up(id)
    };
    let order = |node: &&RosterNode| {
        let crowd = zones.get(node.info.zone.as_str()).copied().unwrap_or(0);
        (crowd, node.joined, node.info.id)
    };
    let open = state.nodes().values().filter(is_open);
    open.min_by_key(order).map(|node| node.info.id)
}

/// Everyone who belongs, so that the leader sends to them: also the dead, until their share is gone.
pub(super) fn learners(state: &ControlState) -> BTreeSet<u64> {
    let belongs = state
        .nodes()
        .values()
        .filter(|node| node.state.is_there() || (node.has_share && node.state != NodeState::Left));
    belongs.map(|node| node.info.id).collect()
}
