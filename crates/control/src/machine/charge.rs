//! A node in charge of slots: until when it is sure, what it has stopped, and which zones use what it has.
//!
//! Not here: who is in charge (`state`), and the leader's side of it (`lead`).

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_mode::planted;

use super::snapshots::Incoming;
use super::{Control, ControlTime};
use crate::command::{ControlCommand, LIST_MAX, SlotStop};
use crate::event::ControlEvent;
use crate::frame::{ControlFrame, FrameBody, SlotUse, Word};
use crate::slots::SLOTS;

/// What a node has of the leader's word.
#[derive(Clone, Debug)]
pub(super) struct Tenure {
    /// Whose word it is: the leader's term.
    term: u64,
    /// Until when it is good, by the own clock, for what is applied up to `need`.
    until: u64,
    need: u64,
    /// The leader's round that is being answered.
    pub(super) answering: u64,
    /// The latest answers, and when they were sent.
    seq: u64,
    sent: BTreeMap<u64, u64>,
    /// Slots that were handed over, with the places of the commands that asked for it.
    pub(super) stopped: Arc<BTreeMap<u16, u64>>,
    /// Whether this node goes, having stopped.
    pub(super) is_leaving: bool,
    /// Which zones used which slots most.
    pub(super) uses: Vec<SlotUse>,
    counts: BTreeMap<u16, BTreeMap<String, u64>>,
    pub(super) count_at: u64,
    /// A snapshot of which parts have come.
    pub(super) incoming: Option<Incoming>,
}

/// Answers of which the time is remembered.
const SENT_MAX: usize = 16;
/// Uses that are reported at once.
const USES_MAX: usize = 64;
/// Zones that are counted for a slot.
const ZONES_MAX: usize = 16;

impl Tenure {
    pub(super) fn new(now: ControlTime) -> Self {
        Self {
            term: 0,
            until: 0,
            need: 0,
            answering: 0,
            seq: 0,
            sent: BTreeMap::new(),
            stopped: Arc::default(),
            is_leaving: false,
            uses: Vec::new(),
            counts: BTreeMap::new(),
            count_at: now.steady,
            incoming: None,
        }
    }

    pub(super) fn next_seq(&mut self, now: ControlTime) -> u64 {
        self.seq += 1;
        self.sent.insert(self.seq, now.steady);
        if self.sent.len() > SENT_MAX {
            self.sent.pop_first();
        }
        self.seq
    }
}

impl Control {
    /// Until when this node is sure of what it is in charge of; none while it is not.
    pub(super) fn sure_until(&self) -> Option<u64> {
        let (_, node) = self.state.by_id(self.me.id)?;
        let is_known = planted!(
            "control-sure-after-restart",
            node.info.boot == self.me.boot,
            true
        );
        if !is_known || !node.state.is_there() || self.tenure.is_leaving {
            return None;
        }
        let (until, need) = match &self.lead {
            Some(lead) => (lead.until, lead.first),
            None => (self.tenure.until, self.tenure.need),
        };
        (until > 0 && self.applied >= need).then_some(until)
    }

    /// Takes the leader's word, which counts from when the answer was sent that it is for.
    pub(super) fn take_word(&mut self, word: Option<Word>, term: u64) {
        let Some(word) = word.filter(|word| word.boot == low(self.me.boot)) else {
            return;
        };
        let Some(sent) = self.tenure.sent.get(&word.seq).copied() else {
            return;
        };
        let tenure = &mut self.tenure;
        if term > tenure.term {
            (tenure.term, tenure.until, tenure.need) = (term, 0, 0);
        }
        if term == tenure.term {
            let span = planted!(
                "control-no-drift",
                self.config.shrink(word.span),
                word.span * 2
            );
            tenure.until = tenure.until.max(sent.saturating_add(span));
            tenure.need = tenure.need.max(word.need);
            self.event(ControlEvent::Changed);
        }
    }

    /// Slots were handed over: from now on this node is in charge of them no more, whatever becomes of it.
    pub fn handed(&mut self, slots: &[u16], now: ControlTime) {
        let place = self.state.by_id(self.me.id).map(|(place, _)| place);
        let mut stopped = BTreeMap::clone(&self.tenure.stopped);
        for number in slots {
            let slot = self.state.slot(*number);
            let slot = slot.filter(|slot| Some(slot.in_charge) == place);
            if let Some(handing) = slot.and_then(|slot| slot.handing) {
                stopped.insert(*number, handing.index);
            }
        }
        self.tenure.stopped = Arc::new(planted!(
            "control-hands-and-keeps",
            stopped.clone(),
            BTreeMap::new()
        ));
        self.event(ControlEvent::Changed);
        let stops = stopped.iter().map(|(slot, hand)| SlotStop {
            slot: *slot,
            hand: *hand,
        });
        let stops: Vec<SlotStop> = stops.collect();
        if let Some(lead) = &mut self.lead {
            lead.stops.extend(stops);
            self.change_stopped(now);
        } else {
            let mut reply = self.reply(None, now);
            reply.stops = stops;
            self.send_to_leader(FrameBody::Reply(reply));
        }
    }

    /// This node goes: it is in charge of nothing from now on, and others may be at once.
    pub fn handle_leave(&mut self, now: ControlTime) {
        self.tenure.is_leaving = true;
        self.event(ControlEvent::Changed);
        if self.lead.is_some() {
            self.let_go(self.me.id, now);
        } else {
            let reply = self.reply(None, now);
            self.send_to_leader(FrameBody::Reply(reply));
        }
    }

    fn send_to_leader(&mut self, body: FrameBody) {
        if let Some(leader) = self.election.leader {
            self.send(leader, body);
        }
    }

    /// What this node has stopped and is still asked to hand over.
    pub(super) fn stops(&mut self) -> Vec<SlotStop> {
        let is_open = |slot: u16, hand: u64| {
            let slot = self.state.slot(slot);
            slot.and_then(|slot| slot.handing)
                .is_some_and(|handing| handing.index == hand)
        };
        let stopped = self.tenure.stopped.iter();
        let open = stopped.filter(|(slot, hand)| is_open(**slot, **hand));
        let stop = |(slot, hand): (&u16, &u64)| SlotStop {
            slot: *slot,
            hand: *hand,
        };
        open.map(stop).take(LIST_MAX).collect()
    }

    /// Says which slots this node is to hand over by a command that was applied.
    pub(super) fn announce(&mut self, command: &ControlCommand) {
        let slots: Vec<u16> = match command {
            ControlCommand::Hand(moves) => moves.iter().map(|one| one.slot).collect(),
            ControlCommand::Move { slot, .. } => vec![*slot],
            ControlCommand::Change(_) | ControlCommand::CallOff(_) => {
                self.forget_stops();
                return;
            }
            _ => return,
        };
        let place = self.state.by_id(self.me.id).map(|(place, _)| place);
        for number in slots {
            let Some(slot) = self.state.slot(number).copied() else {
                continue;
            };
            let next = slot
                .handing
                .and_then(|handing| self.state.nodes().get(&handing.to));
            if let Some(next) = next.filter(|_| Some(slot.in_charge) == place) {
                let to = next.info.name.clone();
                self.event(ControlEvent::HandOver {
                    slot: number,
                    epoch: slot.epoch,
                    to,
                });
            }
        }
    }

    fn forget_stops(&mut self) {
        if self.tenure.stopped.is_empty() {
            return;
        }
        let open = self.stops().into_iter();
        let open = open.map(|stop| (stop.slot, stop.hand)).collect();
        self.tenure.stopped = Arc::new(open);
    }

    /// Requests of a slot came from a zone.
    pub fn count_use(&mut self, slot: u16, zone: &str, requests: u64) {
        if usize::from(slot) >= SLOTS || zone.is_empty() {
            return;
        }
        let zones = self.tenure.counts.entry(slot).or_default();
        if zones.contains_key(zone) || zones.len() < ZONES_MAX {
            *zones.entry(zone.to_owned()).or_default() += requests;
        }
    }

    /// Once a term: which slots another zone used most, and more than all others together.
    pub(super) fn count_uses(&mut self, now: ControlTime) {
        if now.steady < self.tenure.count_at {
            return;
        }
        self.tenure.count_at = now.steady + self.config.use_term;
        let counts = std::mem::take(&mut self.tenure.counts);
        let mut uses = Vec::new();
        for (slot, zones) in counts {
            let all: u64 = zones.values().sum();
            let most = zones.into_iter().max_by_key(|(_, count)| *count);
            let known = self
                .state
                .slot(slot)
                .and_then(|slot| self.state.zone_of(slot));
            if let Some((zone, count)) = most
                && count > all / 2
                && known != Some(zone.as_str())
                && (known.is_some() || zone != self.me.zone)
            {
                uses.push(SlotUse { slot, zone });
            }
        }
        uses.truncate(USES_MAX);
        if self.lead.is_some() {
            for one in uses {
                self.prefer(one, now);
            }
        } else {
            self.tenure.uses = uses;
        }
    }

    /// Answers the leader though the disk does not work: this node does not vote, and stays in charge.
    pub(super) fn renew_without_disk(&mut self, frame: ControlFrame, now: ControlTime) {
        let FrameBody::Raft(raft) = frame.body else {
            return;
        };
        let term = raft.message.term().get();
        let is_ours = frame.cluster == self.meta.cluster && frame.to == self.me.id;
        if !is_ours || !self.disk.has_written() || raft.round == 0 || term < self.log.term() {
            return;
        }
        self.take_word(raft.word, term);
        let reply = self.reply(None, now);
        if let Some(to) = self.name_of(frame.from) {
            let bytes = self.frame(frame.from, FrameBody::Reply(reply));
            super::push(&mut self.out.loose, super::ControlSend { to, bytes });
        }
    }
}

/// The lower half of the number of a start, which has a part by chance.
pub(super) fn low(boot: u64) -> u32 {
    u32::try_from(boot & u64::from(u32::MAX)).unwrap_or(0)
}
