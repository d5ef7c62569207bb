//! The replicated state: every node that has applied the same commands has the same.
//!
//! Not here: who may change it and when (`machine`), and how it is written down (`state/bytes.rs`).

mod bytes;
mod takeover;

pub(crate) use bytes::STATE_BYTES_MAX;

use std::collections::BTreeMap;

use crate::command::{ControlCommand, ControlError, SlotStop};
use crate::roster::{NodeInfo, NodeState, RosterNode};
use crate::slots::{Handing, NO_NODE, SLOTS, Slot, SlotMove};

/// The most nodes of a roster; those that are gone count until they are forgotten or make room.
pub const NODES_MAX: usize = 1_024;
/// The most zones.
pub(crate) const ZONES_MAX: usize = 64;

/// What the cluster has agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlState {
    nodes: BTreeMap<u16, RosterNode>,
    slots: Vec<Slot>,
    zones: Vec<String>,
    contracts: u64,
    shares: u64,
}

impl Default for ControlState {
    fn default() -> Self {
        Self {
            nodes: BTreeMap::new(),
            slots: vec![Slot::EMPTY; SLOTS],
            zones: Vec::new(),
            contracts: 0,
            shares: 0,
        }
    }
}

impl ControlState {
    /// The roster, by place.
    pub fn nodes(&self) -> &BTreeMap<u16, RosterNode> {
        &self.nodes
    }

    /// All slots.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A slot.
    pub fn slot(&self, slot: u16) -> Option<&Slot> {
        self.slots.get(usize::from(slot))
    }

    /// The revision of contracts in force.
    pub fn contracts(&self) -> u64 {
        self.contracts
    }

    /// Grows whenever a node loses its share by right, or gets it back.
    pub fn shares(&self) -> u64 {
        self.shares
    }

    /// A node by its number.
    pub fn by_id(&self, id: u64) -> Option<(u16, &RosterNode)> {
        let mut nodes = self.nodes.iter();
        let (place, node) = nodes.find(|(_, node)| node.info.id == id)?;
        Some((*place, node))
    }

    /// A node by its name.
    pub fn by_name(&self, name: &str) -> Option<(u16, &RosterNode)> {
        let mut nodes = self.nodes.iter();
        let (place, node) = nodes.find(|(_, node)| node.info.name == name)?;
        Some((*place, node))
    }

    /// The zone that uses a slot most, where that is known.
    pub fn zone_of(&self, slot: &Slot) -> Option<&str> {
        let place = usize::from(slot.zone).checked_sub(1)?;
        self.zones.get(place).map(String::as_str)
    }

    /// How many slots each node is in charge of.
    pub fn loads(&self) -> BTreeMap<u16, usize> {
        let mut loads = BTreeMap::new();
        for slot in &self.slots {
            *loads.entry(slot.in_charge).or_default() += 1;
        }
        loads.remove(&NO_NODE);
        loads
    }

    /// Applies the command at a place of the log.
    pub fn apply(&mut self, index: u64, command: &ControlCommand) -> Result<(), ControlError> {
        match command {
            ControlCommand::Found(nodes) => self.found(index, nodes),
            ControlCommand::Join(info) => self.join(index, info),
            ControlCommand::Return(info) => self.come_back(info),
            ControlCommand::Dead { id, since } => self.die(*id, *since),
            ControlCommand::Lapse { id } => self.lapse(*id),
            ControlCommand::Leave { id } => self.leave(*id),
            ControlCommand::Forget { name } => self.forget(name),
            ControlCommand::Drain { name } => self.drain(name),
            ControlCommand::Move { slot, name } => self.move_slot(index, *slot, name),
            ControlCommand::Hand(moves) => self.hand(index, moves),
            ControlCommand::Change(stops) => self.change(stops),
            ControlCommand::CallOff(stops) => self.call_off(stops),
            ControlCommand::Prefer { slot, zone } => self.prefer(*slot, zone),
            ControlCommand::Contracts { revision } => {
                self.contracts = *revision;
                Ok(())
            }
            ControlCommand::Expect { name, is_expected } => {
                self.named_mut(name)?.is_expected = *is_expected;
                Ok(())
            }
        }
    }

    fn found(&mut self, index: u64, nodes: &[NodeInfo]) -> Result<(), ControlError> {
        if !self.nodes.is_empty() {
            return Err(ControlError::Stale);
        }
        for (place, info) in (0..).zip(nodes) {
            self.nodes.insert(place, present(info, index));
        }
        self.shares += 1;
        self.deal();
        Ok(())
    }

    fn join(&mut self, index: u64, info: &NodeInfo) -> Result<(), ControlError> {
        if let Some((_, node)) = self.by_id(info.id) {
            let is_same = node.info.name == info.name;
            return if is_same {
                self.come_back(info)
            } else {
                Err(ControlError::NameTaken)
            };
        }
        let place = match self.by_name(&info.name) {
            Some((_, node)) if node.state.is_there() => return Err(ControlError::NameTaken),
            Some((place, _)) => place,
            None => self.free_place()?,
        };
        self.nodes.insert(place, present(info, index));
        self.shares += 1;
        self.stand_by_joined(place);
        Ok(())
    }

    fn come_back(&mut self, info: &NodeInfo) -> Result<(), ControlError> {
        let (place, node) = self.by_id(info.id).ok_or(ControlError::UnknownNode)?;
        let is_restart = info.boot > node.info.boot;
        if info.boot < node.info.boot || (!is_restart && node.state.is_there()) {
            return Err(ControlError::Stale);
        }
        let was_there = node.state.is_there();
        let mut node = node.clone();
        node.info = info.clone();
        if !was_there {
            node.state = NodeState::Present;
        }
        node.is_expected = true;
        if !node.has_share {
            node.has_share = true;
            self.shares += 1;
        }
        self.nodes.insert(place, node);
        self.start_anew(place);
        if !was_there {
            self.stand_by_joined(place);
        }
        Ok(())
    }

    fn die(&mut self, id: u64, since: u64) -> Result<(), ControlError> {
        let (place, node) = self.by_id(id).ok_or(ControlError::UnknownNode)?;
        if !node.state.is_there() {
            return Err(ControlError::Stale);
        }
        self.set_state(place, NodeState::Dead { since });
        self.take_from(place);
        Ok(())
    }

    fn lapse(&mut self, id: u64) -> Result<(), ControlError> {
        let (place, node) = self.by_id(id).ok_or(ControlError::UnknownNode)?;
        if node.state.is_there() || !node.has_share {
            return Err(ControlError::Stale);
        }
        if let Some(node) = self.nodes.get_mut(&place) {
            node.has_share = false;
        }
        self.shares += 1;
        Ok(())
    }

    fn leave(&mut self, id: u64) -> Result<(), ControlError> {
        let (place, _) = self.by_id(id).ok_or(ControlError::UnknownNode)?;
        if let Some(node) = self.nodes.get_mut(&place) {
            node.is_expected = false;
            node.has_share = false;
        }
        self.shares += 1;
        self.set_state(place, NodeState::Left);
        self.take_from(place);
        Ok(())
    }

    fn forget(&mut self, name: &str) -> Result<(), ControlError> {
        let (place, node) = self.by_name(name).ok_or(ControlError::UnknownNode)?;
        if node.state.is_there() {
            return Err(ControlError::StillThere);
        }
        self.strike_off(place);
        self.shares += 1;
        Ok(())
    }

    fn drain(&mut self, name: &str) -> Result<(), ControlError> {
        let (place, node) = self.by_name(name).ok_or(ControlError::UnknownNode)?;
        if node.state != NodeState::Present {
            return Err(ControlError::Stale);
        }
        let mut others = self.nodes.iter().filter(|(other, _)| **other != place);
        if !others.any(|(_, other)| other.state == NodeState::Present) {
            return Err(ControlError::LastNode);
        }
        self.set_state(place, NodeState::Draining);
        self.stand_by_without(place);
        Ok(())
    }

    fn move_slot(&mut self, index: u64, slot: u16, name: &str) -> Result<(), ControlError> {
        let (place, node) = self.by_name(name).ok_or(ControlError::UnknownNode)?;
        if node.state != NodeState::Present {
            return Err(ControlError::UnknownNode);
        }
        let slot = self.slots.get_mut(usize::from(slot));
        let slot = slot.ok_or(ControlError::NoSuchSlot)?;
        slot.is_pinned = true;
        slot.handing = (slot.in_charge != place).then_some(Handing { to: place, index });
        Ok(())
    }

    fn hand(&mut self, index: u64, moves: &[SlotMove]) -> Result<(), ControlError> {
        for SlotMove { slot, to } in moves {
            let is_there = self.nodes.get(to).is_some_and(|node| node.state.is_there());
            let slot = self.slots.get_mut(usize::from(*slot));
            let slot = slot.ok_or(ControlError::NoSuchSlot)?;
            if is_there && slot.in_charge != *to && slot.handing.is_none() {
                slot.handing = Some(Handing { to: *to, index });
            }
        }
        Ok(())
    }

    fn change(&mut self, stops: &[SlotStop]) -> Result<(), ControlError> {
        for stop in stops {
            let slot = self.slots.get_mut(usize::from(stop.slot));
            let slot = slot.ok_or(ControlError::NoSuchSlot)?;
            if let Some(handing) = slot.handing.filter(|handing| handing.index == stop.hand) {
                slot.give(handing.to);
                self.choose_standby(usize::from(stop.slot));
            }
        }
        Ok(())
    }

    fn call_off(&mut self, stops: &[SlotStop]) -> Result<(), ControlError> {
        for stop in stops {
            let slot = self.slots.get_mut(usize::from(stop.slot));
            let slot = slot.ok_or(ControlError::NoSuchSlot)?;
            slot.handing.take_if(|handing| handing.index == stop.hand);
        }
        Ok(())
    }

    fn prefer(&mut self, slot: u16, zone: &str) -> Result<(), ControlError> {
        let place = match self.zones.iter().position(|known| known == zone) {
            Some(place) => place,
            None if self.zones.len() < ZONES_MAX => {
                self.zones.push(zone.to_owned());
                self.zones.len() - 1
            }
            None => return Err(ControlError::RosterFull),
        };
        let slot = self.slots.get_mut(usize::from(slot));
        let slot = slot.ok_or(ControlError::NoSuchSlot)?;
        slot.zone = u8::try_from(place + 1).unwrap_or(0);
        Ok(())
    }

    fn named_mut(&mut self, name: &str) -> Result<&mut RosterNode, ControlError> {
        let mut nodes = self.nodes.values_mut();
        let node = nodes.find(|node| node.info.name == name);
        node.ok_or(ControlError::UnknownNode)
    }

    fn set_state(&mut self, place: u16, state: NodeState) {
        if let Some(node) = self.nodes.get_mut(&place) {
            node.state = state;
        }
    }

    /// The least place that no node has; the node that is gone for longest makes room.
    fn free_place(&mut self) -> Result<u16, ControlError> {
        if self.nodes.len() >= NODES_MAX {
            let gone = self.nodes.iter().filter(|(_, node)| !node.has_share);
            let oldest = gone.min_by_key(|(place, node)| (node.joined, **place));
            let place = oldest.map(|(place, _)| *place);
            self.strike_off(place.ok_or(ControlError::RosterFull)?);
        }
        let free = (0..).find(|place| !self.nodes.contains_key(place));
        free.ok_or(ControlError::RosterFull)
    }

    /// Removes a node that is gone. Slots that it is still in charge of, as no other node was there, are without one.
    fn strike_off(&mut self, place: u16) {
        self.nodes.remove(&place);
        for slot in &mut self.slots {
            if slot.in_charge == place {
                slot.give(NO_NODE);
            }
            if slot.standby == place {
                slot.standby = NO_NODE;
            }
            slot.handing.take_if(|handing| handing.to == place);
        }
    }
}

fn present(info: &NodeInfo, index: u64) -> RosterNode {
    RosterNode {
        info: info.clone(),
        state: NodeState::Present,
        is_expected: true,
        has_share: true,
        joined: index,
    }
}
