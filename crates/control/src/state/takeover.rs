//! How slots find nodes: at the founding, when a node comes, starts again or goes; and what should move.
//!
//! Every change here follows from the state alone, so every node makes the same. Not here: whether the predecessor has
//! stopped, which the leader waits for.

use std::collections::BTreeMap;

use super::ControlState;
use crate::roster::NodeState;
use crate::slots::{NO_NODE, SLOTS, Slot, SlotMove, rank, rank_seed};

/// A node that slots can go to.
#[derive(Clone, Copy)]
struct Candidate {
    place: u16,
    seed: u64,
    is_draining: bool,
}

impl Candidate {
    /// Nodes that stay come before those that go.
    fn rank(&self, slot: usize) -> (bool, u64) {
        (!self.is_draining, rank(self.seed, slot))
    }
}

fn best(candidates: &[Candidate], slot: usize, without: u16) -> u16 {
    let candidates = candidates.iter().filter(|one| one.place != without);
    let best = candidates.max_by_key(|one| one.rank(slot));
    best.map_or(NO_NODE, |one| one.place)
}

impl ControlState {
    fn candidates(&self) -> Vec<Candidate> {
        let there = self.nodes.iter().filter(|(_, node)| node.state.is_there());
        let candidate = there.map(|(place, node)| Candidate {
            place: *place,
            seed: rank_seed(&node.info.name),
            is_draining: node.state == NodeState::Draining,
        });
        candidate.collect()
    }

    /// Deals all slots to the nodes that are there, as evenly as can be.
    pub(super) fn deal(&mut self) {
        let candidates = self.candidates();
        let cap = SLOTS.div_ceil(candidates.len().max(1));
        let mut loads: BTreeMap<u16, usize> = BTreeMap::new();
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let has_room = |one: &&Candidate| loads.get(&one.place).is_none_or(|load| *load < cap);
            let open = candidates.iter().filter(has_room);
            if let Some(chosen) = open.max_by_key(|one| one.rank(number)) {
                slot.give(chosen.place);
                *loads.entry(chosen.place).or_default() += 1;
            }
            slot.standby = best(&candidates, number, slot.in_charge);
        }
    }

    /// A node started again: nothing that it granted before is known to it.
    pub(super) fn start_anew(&mut self, place: u16) {
        for slot in &mut self.slots {
            if slot.in_charge == place {
                slot.give(place);
            }
        }
    }

    /// A node is gone: its slots go to those who stand by.
    pub(super) fn take_from(&mut self, gone: u16) {
        let candidates = self.candidates();
        let is_there = |place: u16| candidates.iter().any(|one| one.place == place);
        for (number, slot) in self.slots.iter_mut().enumerate() {
            slot.handing.take_if(|handing| handing.to == gone);
            if slot.in_charge == gone {
                let standby = Some(slot.standby).filter(|standby| is_there(*standby));
                let to = standby.unwrap_or_else(|| best(&candidates, number, gone));
                if to != NO_NODE {
                    slot.give(to);
                    slot.is_pinned = false;
                }
                slot.standby = best(&candidates, number, slot.in_charge);
            } else if slot.standby == gone {
                slot.standby = best(&candidates, number, slot.in_charge);
            }
        }
    }

    /// A node came: it stands by where it ranks first, and takes what has no node that is there.
    pub(super) fn stand_by_joined(&mut self, place: u16) {
        let candidates = self.candidates();
        let find = |place: u16| candidates.iter().find(|one| one.place == place);
        let Some(joined) = find(place) else {
            return;
        };
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if find(slot.in_charge).is_none() {
                slot.give(place);
                slot.standby = best(&candidates, number, place);
            } else if slot.in_charge != place {
                let rival = find(slot.standby).map(|one| one.rank(number));
                if rival.is_none_or(|rival| rival < joined.rank(number)) {
                    slot.standby = place;
                }
            }
        }
    }

    /// A node goes soon: others stand by in its place where they can.
    pub(super) fn stand_by_without(&mut self, place: u16) {
        let candidates = self.candidates();
        for (number, slot) in self.slots.iter_mut().enumerate() {
            slot.handing.take_if(|handing| handing.to == place);
            if slot.standby == place {
                slot.standby = best(&candidates, number, slot.in_charge);
            }
        }
    }

    pub(super) fn choose_standby(&mut self, number: usize) {
        let candidates = self.candidates();
        if let Some(slot) = self.slots.get_mut(number) {
            slot.standby = best(&candidates, number, slot.in_charge);
        }
    }

    /// What should move next, `most` slots at a time: away from nodes that drain, to zones that use a slot, and from
    /// nodes that have more than their part to those that have less. Nothing while hand-overs are under way.
    pub fn moves(&self, most: usize) -> Vec<SlotMove> {
        let candidates = self.candidates();
        let staying = candidates.into_iter().filter(|one| !one.is_draining);
        let staying: Vec<Candidate> = staying.collect();
        if staying.is_empty() || self.slots.iter().any(|slot| slot.handing.is_some()) {
            return Vec::new();
        }
        let mut loads: BTreeMap<u16, usize> = staying.iter().map(|one| (one.place, 0)).collect();
        for slot in &self.slots {
            *loads.entry(slot.in_charge).or_default() += 1;
        }
        let mut plan = Plan {
            loads,
            moves: BTreeMap::new(),
            most,
        };
        self.send_home(&staying, &mut plan);
        for one in &staying {
            self.level(one, SLOTS / staying.len(), &mut plan);
        }
        let moves = plan.moves.into_iter();
        let moves = moves.filter_map(|(slot, to)| u16::try_from(slot).ok().map(|slot| (slot, to)));
        moves.map(|(slot, to)| SlotMove { slot, to }).collect()
    }

    /// Moves slots of nodes that drain, and those of which another zone makes most use.
    fn send_home(&self, staying: &[Candidate], plan: &mut Plan) {
        for (number, slot) in self.slots.iter().enumerate() {
            let home = self.at_home(slot, staying);
            let in_charge = self.nodes.get(&slot.in_charge).map(|node| node.state);
            let drains = in_charge == Some(NodeState::Draining);
            let is_away = !slot.is_pinned && !home.iter().any(|one| one.place == slot.in_charge);
            if !drains && (home.is_empty() || !is_away) {
                continue;
            }
            let among = if home.is_empty() { staying } else { &home };
            let order = |one: &&Candidate| (plan.load(one.place), !rank(one.seed, number));
            if let Some(to) = among.iter().min_by_key(order).map(|one| one.place) {
                plan.add(number, slot.in_charge, to);
            }
        }
    }

    /// The nodes that stay in the zone that uses a slot most; none where that is not known or no node is there.
    fn at_home(&self, slot: &Slot, staying: &[Candidate]) -> Vec<Candidate> {
        let Some(zone) = self.zone_of(slot) else {
            return Vec::new();
        };
        let is_home = |one: &&Candidate| {
            let node = self.nodes.get(&one.place);
            node.is_some_and(|node| node.info.zone == zone)
        };
        staying.iter().filter(is_home).copied().collect()
    }

    /// Gives a node that has less than its part slots of those that have more, those first for which it ranks highest.
    fn level(&self, one: &Candidate, part: usize, plan: &mut Plan) {
        if plan.load(one.place) >= part {
            return;
        }
        let is_free = |(number, slot): &(usize, &Slot)| {
            let is_moving = plan.moves.contains_key(number);
            !slot.is_pinned
                && !is_moving
                && slot.in_charge != one.place
                && self.suits(slot, one.place)
        };
        let free = self.slots.iter().enumerate().filter(is_free);
        let mut free: Vec<_> = free
            .map(|(number, slot)| (!rank(one.seed, number), number, slot.in_charge))
            .collect();
        free.sort_unstable();
        for (_, number, from) in free {
            if plan.load(one.place) >= part || plan.moves.len() >= plan.most {
                break;
            }
            if plan.load(from) > part {
                plan.add(number, from, one.place);
            }
        }
    }

    /// Whether a slot may go to a node for balance: not out of the zone that uses it.
    fn suits(&self, slot: &Slot, place: u16) -> bool {
        let zone = self.nodes.get(&place).map(|node| node.info.zone.as_str());
        self.zone_of(slot).is_none_or(|home| zone == Some(home))
    }
}

/// Moves as they are found, and what each node would be in charge of after them.
struct Plan {
    loads: BTreeMap<u16, usize>,
    moves: BTreeMap<usize, u16>,
    most: usize,
}

impl Plan {
    fn load(&self, place: u16) -> usize {
        self.loads.get(&place).copied().unwrap_or(0)
    }

    /// Moves a slot, unless that would be one too many at once.
    fn add(&mut self, slot: usize, from: u16, to: u16) {
        if self.moves.len() < self.most {
            self.moves.insert(slot, to);
            if let Some(load) = self.loads.get_mut(&from) {
                *load = load.saturating_sub(1);
            }
            *self.loads.entry(to).or_default() += 1;
        }
    }
}
