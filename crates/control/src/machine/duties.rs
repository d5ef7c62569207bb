//! What a leader sees to: nodes that come, die and go, voters, and slots that should move.
//!
//! Not here: what the commands do (`state`), and who is heard (`lead`).

use std::sync::Arc;

use noraft::{ClusterConfig, NodeId};
use tollgate_mode::planted;

use super::lead::Lead;
use super::voters::{choose, learners};
use super::{Control, ControlTime};
use crate::command::{ControlCommand, SlotStop};
use crate::frame::{FrameBody, SlotUse};
use crate::roster::{NodeInfo, NodeState};

impl Control {
    /// Adds a command to the log; its place.
    pub(super) fn propose(&mut self, command: &ControlCommand, now: ControlTime) -> Option<u64> {
        let index = self.log.propose(command.encode())?;
        self.drain(now);
        Some(index)
    }

    /// Adds a command and does nothing more before it is applied.
    fn propose_and_wait(&mut self, command: &ControlCommand, now: ControlTime) -> Option<u64> {
        let index = self.propose(command, now)?;
        if let Some(lead) = &mut self.lead {
            lead.busy = lead.busy.max(index);
        }
        Some(index)
    }

    /// Whether everything this leader found and did is applied, and it is sure of its lead.
    fn is_at_rest(&self, now: ControlTime) -> bool {
        let is_applied = |lead: &Lead| self.applied >= lead.first.max(lead.busy);
        self.is_sure_leader(now) && self.lead.as_ref().is_some_and(is_applied)
    }

    /// Looks at everything once; each change waits for the one before.
    pub(super) fn attend(&mut self, now: ControlTime) {
        if !self.is_at_rest(now) {
            return;
        }
        if self.state.nodes().is_empty() {
            if !self.meta.founders.is_empty() {
                let founders = self.meta.founders.clone();
                self.propose_and_wait(&ControlCommand::Found(founders), now);
            }
            return;
        }
        let me = self.me.clone();
        self.consider(&me, now);
        self.bury(now);
        self.note_gone(now);
        if self.is_at_rest(now) {
            self.seat_voters(now);
        }
        if self.is_at_rest(now) {
            self.move_slots(now);
        }
    }

    /// Takes in a node that introduces itself.
    pub(super) fn consider(&mut self, info: &NodeInfo, now: ControlTime) {
        let is_ready = self.lead.as_ref().is_some_and(|lead| {
            let asked = lead.asked.get(&info.id).copied().unwrap_or(0);
            self.applied >= lead.first && asked <= self.applied
        });
        if !is_ready || self.state.nodes().is_empty() {
            return;
        }
        let command = match self.state.by_id(info.id) {
            Some((_, node)) if info.boot < node.info.boot => return,
            Some((_, node)) if info.boot == node.info.boot && node.state.is_there() => return,
            Some(_) => ControlCommand::Return(info.clone()),
            None => match self.state.by_name(&info.name) {
                Some((_, other)) if other.state.is_there() => {
                    let taken = crate::command::ControlError::NameTaken;
                    self.send_to(info.name.clone(), FrameBody::Refused(taken));
                    return;
                }
                _ => ControlCommand::Join(info.clone()),
            },
        };
        let index = self.propose(&command, now);
        if let (Some(lead), Some(index)) = (&mut self.lead, index) {
            lead.asked.insert(info.id, index);
            lead.gone.remove(&info.id);
            lead.peer(info.id, now.steady).answered = now.steady;
            lead.needs(info.id, index, now.steady);
        }
    }

    /// Finds nodes dead that do not answer, once they cannot be sure any more.
    fn bury(&mut self, now: ControlTime) {
        let state = Arc::clone(&self.state);
        let there = state.nodes().values().filter(|node| node.state.is_there());
        let me = self.me.id;
        for node in there.filter(|node| node.info.id != me) {
            let (id, silence) = (node.info.id, self.config.silence);
            let Some(lead) = &mut self.lead else {
                return;
            };
            let peer = lead.peer(id, now.steady);
            let is_silent = now.steady >= peer.answered + silence;
            let is_over = planted!("control-takes-too-early", now.steady >= peer.promised, true);
            if is_silent && is_over {
                let since = now
                    .wall_ms
                    .saturating_sub((now.steady - peer.answered) / 1_000_000);
                self.take_off(&ControlCommand::Dead { id, since }, id, now);
            }
        }
    }

    /// A node that has stopped goes.
    pub(super) fn let_go(&mut self, id: u64, now: ControlTime) {
        let is_there = self
            .state
            .by_id(id)
            .is_some_and(|(_, node)| node.state != NodeState::Left);
        let is_asked = |lead: &Lead| {
            lead.asked
                .get(&id)
                .is_some_and(|asked| *asked > self.applied)
        };
        if is_there && self.lead.as_ref().is_some_and(|lead| !is_asked(lead)) {
            self.take_off(&ControlCommand::Leave { id }, id, now);
        }
    }

    fn take_off(&mut self, command: &ControlCommand, id: u64, now: ControlTime) {
        let index = self.propose_and_wait(command, now);
        if let (Some(lead), Some(index)) = (&mut self.lead, index) {
            lead.asked.insert(id, index);
            lead.needs(id, index, now.steady);
        }
    }

    /// Counts since when nodes are dead; their shares by right go to others after a term.
    fn note_gone(&mut self, now: ControlTime) {
        let state = Arc::clone(&self.state);
        let Some(lead) = &mut self.lead else {
            return;
        };
        let dead = state.nodes().values();
        let dead = dead.filter(|node| matches!(node.state, NodeState::Dead { .. }));
        let mut lapsed = Vec::new();
        for node in dead {
            let since = *lead.gone.entry(node.info.id).or_insert(now.steady);
            if node.has_share && now.steady >= since + self.config.share_term {
                lapsed.push(node.info.id);
            }
        }
        for id in lapsed {
            self.propose_and_wait(&ControlCommand::Lapse { id }, now);
        }
    }

    /// Changes who votes and who learns, one change at a time.
    fn seat_voters(&mut self, now: ControlTime) {
        let config = self.log.config().clone();
        let Some(lead) = &self.lead else {
            return;
        };
        if config.is_joint_consensus() || self.log.raft.commit_index().get() < lead.config_at {
            return;
        }
        let long_gone = |id: u64| {
            let since = lead.gone.get(&id);
            since.is_some_and(|since| now.steady >= since + self.config.voter_term)
        };
        let near = self
            .log
            .raft
            .commit_index()
            .get()
            .saturating_sub(CATCH_UP_MAX);
        let keeps_up = |id: u64| {
            let matched = self.log.raft.follower_match_index(NodeId::new(id));
            id == self.me.id || matched.is_some_and(|index| index.get() >= near)
        };
        let old: Vec<u64> = config.voters.iter().map(|id| id.get()).collect();
        let voters = choose(&self.state, &old, &long_gone, &keeps_up);
        let learners = learners(&self.state);
        let mut next = config.clone();
        next.non_voters = learners.into_iter().map(NodeId::new).collect();
        if voters != config.voters.iter().map(|id| id.get()).collect() {
            next.new_voters = voters.into_iter().map(NodeId::new).collect();
        }
        let ClusterConfig {
            voters,
            new_voters,
            non_voters,
        } = &mut next;
        non_voters.retain(|id| !voters.contains(id) && !new_voters.contains(id));
        if next != config {
            let position = self.log.raft.propose_config(next);
            if let Some(lead) = self.lead.as_mut().filter(|_| !position.is_invalid()) {
                lead.config_at = position.index.get();
                lead.busy = lead.busy.max(lead.config_at);
            }
            self.drain(now);
        }
    }

    /// Starts hand-overs, and calls those off that take too long.
    fn move_slots(&mut self, now: ControlTime) {
        let state = Arc::clone(&self.state);
        let Some(lead) = &mut self.lead else {
            return;
        };
        let open = state.slots().iter().zip(0..);
        let open = open.filter_map(|(slot, number)| {
            slot.handing.map(|handing| SlotStop {
                slot: number,
                hand: handing.index,
            })
        });
        let open: Vec<SlotStop> = open.collect();
        lead.hands
            .retain(|hand, _| open.iter().any(|stop| stop.hand == *hand));
        for stop in &open {
            lead.hands.entry(stop.hand).or_insert(now.steady);
        }
        let term = self.config.hand_term;
        let is_late = |stop: &SlotStop| {
            let since = lead.hands.get(&stop.hand);
            since.is_some_and(|since| now.steady >= since + term)
        };
        let late: Vec<SlotStop> = open.iter().copied().filter(is_late).collect();
        if !late.is_empty() {
            self.propose_and_wait(&ControlCommand::CallOff(late), now);
        } else if open.is_empty() {
            let moves = state.moves(self.config.hand_batch);
            if !moves.is_empty() {
                self.propose_and_wait(&ControlCommand::Hand(moves), now);
            }
        }
    }

    /// Puts the next nodes in charge of slots whose nodes in charge have stopped.
    pub(super) fn change_stopped(&mut self, now: ControlTime) {
        let Some(lead) = &mut self.lead else {
            return;
        };
        let state = &self.state;
        let is_open = |stop: &SlotStop| {
            let slot = state.slot(stop.slot);
            slot.and_then(|slot| slot.handing)
                .is_some_and(|handing| handing.index == stop.hand)
        };
        let stops: Vec<SlotStop> = std::mem::take(&mut lead.stops).into_iter().collect();
        let stops: Vec<SlotStop> = stops.into_iter().filter(is_open).collect();
        if !stops.is_empty() && self.is_at_rest(now) {
            self.propose_and_wait(&ControlCommand::Change(stops), now);
        }
    }

    /// Something was applied: goes on with what follows from it.
    pub(super) fn hand_on(&mut self, now: ControlTime) {
        if self.lead.is_some() {
            self.seat_joined(now);
        }
    }

    /// New nodes learn at once, without waiting for the next beat.
    fn seat_joined(&mut self, now: ControlTime) {
        if self.is_at_rest(now) {
            self.seat_voters(now);
        }
    }

    /// A zone uses a slot most.
    pub(super) fn prefer(&mut self, one: SlotUse, now: ControlTime) {
        let SlotUse { slot, zone } = one;
        let known = self
            .state
            .slot(slot)
            .and_then(|slot| self.state.zone_of(slot));
        if known != Some(zone.as_str()) && self.is_at_rest(now) {
            self.propose(&ControlCommand::Prefer { slot, zone }, now);
        }
    }
}

/// A learner that lacks more entries than that does not vote yet.
const CATCH_UP_MAX: u64 = 64;
