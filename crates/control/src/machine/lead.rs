//! What a leader knows while it leads: until when it is sure of its lead, and what it gave its word for.
//!
//! A round begins with each beat. A majority that answered a round has heard the leader after the round began, and each
//! of them votes for no other node for longer than the lease, by its own clock. A word to a node is never good for
//! longer than the lead itself, so a new leader need not wait for words of the old one. Not here: what it changes.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_mode::planted;

use super::charge::low;
use super::snapshots::Transfer;
use super::{Control, ControlTime};
use crate::command::SlotStop;
use crate::event::ControlEvent;
use crate::frame::{NodeReply, Word};

/// A leader.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    pub(super) term: u64,
    /// The place of the first entry of this lead: whoever has applied it has applied all before.
    pub(super) first: u64,
    pub(super) round: u64,
    /// When rounds began that are not answered by a majority yet.
    rounds: BTreeMap<u64, u64>,
    /// Until when it is sure of its lead; zero before the first time.
    pub(super) until: u64,
    pub(super) peers: BTreeMap<u64, PeerTerm>,
    pub(super) started: u64,
    pub(super) next_beat: u64,
    /// Nothing more is changed until this place is applied.
    pub(super) busy: u64,
    /// Where the membership of Raft changed last.
    pub(super) config_at: u64,
    /// Since when nodes are known to be dead, and hand-overs to be under way.
    pub(super) gone: BTreeMap<u64, u64>,
    pub(super) hands: BTreeMap<u64, u64>,
    /// Who has stopped.
    pub(super) stops: BTreeSet<SlotStop>,
    pub(super) transfers: BTreeMap<u64, Transfer>,
    /// Where nodes were taken in that are not applied yet.
    pub(super) asked: BTreeMap<u64, u64>,
}

/// What a leader knows of another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerTerm {
    /// When it answered last, with which number, and in which of its starts.
    pub(super) answered: u64,
    seq: u64,
    boot: u64,
    /// The latest round it answered.
    round: u64,
    /// Until when it may be sure, by the leader's clock.
    pub(super) promised: u64,
    /// What it must have applied to be sure.
    pub(super) need: u64,
}

/// Rounds that are remembered.
const ROUNDS_MAX: usize = 32;

impl Lead {
    pub(super) fn new(term: u64, first: u64, now: ControlTime) -> Self {
        Self {
            term,
            first,
            round: 0,
            rounds: BTreeMap::new(),
            until: 0,
            peers: BTreeMap::new(),
            started: now.steady,
            next_beat: now.steady,
            busy: 0,
            config_at: 0,
            gone: BTreeMap::new(),
            hands: BTreeMap::new(),
            stops: BTreeSet::new(),
            transfers: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// What is known of a node; one that is new has answered just now.
    pub(super) fn peer(&mut self, id: u64, now: u64) -> &mut PeerTerm {
        let need = self.first;
        self.peers.entry(id).or_insert(PeerTerm {
            answered: now,
            seq: 0,
            boot: 0,
            round: 0,
            promised: 0,
            need,
        })
    }

    /// A node is sure only once it has applied this place: something may be taken from it there.
    pub(super) fn needs(&mut self, id: u64, index: u64, now: u64) {
        let peer = self.peer(id, now);
        peer.need = planted!("control-word-without-need", peer.need.max(index), peer.need);
    }
}

impl Control {
    /// Whether this node leads and is sure of it.
    pub(super) fn is_sure_leader(&self, now: ControlTime) -> bool {
        self.lead
            .as_ref()
            .is_some_and(|lead| now.steady < lead.until)
    }

    /// Begins a round.
    pub(super) fn start_round(&mut self, now: ControlTime) {
        let state = std::sync::Arc::clone(&self.state);
        if let Some(lead) = &mut self.lead {
            lead.round += 1;
            lead.rounds.insert(lead.round, now.steady);
            if lead.rounds.len() > ROUNDS_MAX {
                lead.rounds.pop_first();
            }
            lead.next_beat = now.steady + self.config.beat;
            if lead.round == 1 {
                for node in state.nodes().values().filter(|node| node.state.is_there()) {
                    lead.peer(node.info.id, now.steady);
                }
            }
        }
        self.extend_lead();
    }

    /// Sends to every node, when it is time; a leader that no majority answers goes back.
    pub(super) fn beat(&mut self, now: ControlTime) {
        let Some(lead) = self
            .lead
            .as_ref()
            .filter(|lead| lead.next_beat <= now.steady)
        else {
            return;
        };
        if now.steady > lead.until.max(lead.started) + 2 * self.config.lease {
            self.lead = None;
            self.log.step_down();
            self.drain(now);
            self.set_deadline(
                self.config.election_min + 6 * self.config.election_step,
                now,
            );
            self.event(ControlEvent::Changed);
            return;
        }
        self.start_round(now);
        self.log.raft.heartbeat();
        self.drain(now);
        self.attend(now);
    }

    /// Extends the lead by the latest round that a majority has answered.
    fn extend_lead(&mut self) {
        let (me, log, lease) = (self.me.id, &self.log, self.config.lease);
        let Some(lead) = &mut self.lead else {
            return;
        };
        let peers = &lead.peers;
        let has = |round: u64| {
            let of = |id: u64| id == me || peers.get(&id).is_some_and(|peer| peer.round >= round);
            planted!("control-lease-of-one", log.is_majority(of), true)
        };
        let answered = lead.rounds.iter().rev().find(|(round, _)| has(**round));
        if let Some((round, began)) = answered.map(|(round, began)| (*round, *began)) {
            lead.until = lead.until.max(began + lease);
            lead.rounds.retain(|other, _| *other >= round);
        }
    }

    /// A node's answer.
    pub(super) fn handle_reply(&mut self, from: u64, reply: NodeReply, now: ControlTime) {
        if let Some(message) = &reply.message
            && !self.feed(message, &crate::log::Commands::new(), now)
        {
            return;
        }
        let (term, boot) = (self.log.term(), self.meet.boot_of(from).unwrap_or(0));
        let Some(lead) = self.lead.as_mut() else {
            return;
        };
        let message = reply.message.as_ref();
        let is_current = message.is_some_and(|message| message.term().get() == term);
        let peer = lead.peer(from, now.steady);
        if boot > peer.boot {
            (peer.boot, peer.seq) = (boot, 0);
        }
        if reply.seq > peer.seq {
            (peer.seq, peer.answered) = (reply.seq, now.steady);
        }
        if is_current {
            peer.round = peer.round.max(reply.round);
        }
        lead.stops.extend(reply.stops);
        let before = lead.until;
        self.extend_lead();
        if self.lead.as_ref().is_some_and(|lead| lead.until > before) {
            self.event(ControlEvent::Changed);
        }
        for one in reply.uses {
            self.prefer(one, now);
        }
        if reply.is_leaving {
            self.let_go(from, now);
        }
        self.change_stopped(now);
    }

    /// The word for a node that answered: no other is put in charge of what it has as long as the lead is sure.
    pub(super) fn word_for(&mut self, to: u64, now: ControlTime) -> Option<Word> {
        if !self.is_sure_leader(now) {
            return None;
        }
        let boot = self.meet.boot_of(to)?;
        let (_, node) = self.state.by_id(to)?;
        let lead = self.lead.as_mut()?;
        let until = lead.until;
        // A node that is silent gets no more words, or it would never be dead.
        let silence = self.config.silence;
        let is_heard = |peer: &&mut PeerTerm| peer.seq > 0 && now.steady < peer.answered + silence;
        let peer = lead.peers.get_mut(&to).filter(is_heard)?;
        if node.info.boot != boot || !node.state.is_there() {
            return None;
        }
        peer.promised = planted!("control-forgets-its-word", peer.promised.max(until), 0);
        Some(Word {
            seq: peer.seq,
            boot: low(boot),
            span: until.saturating_sub(peer.answered),
            need: peer.need,
        })
    }
}
