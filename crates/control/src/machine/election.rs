//! Who leads: when a node tries to, and for whom it votes.
//!
//! A node asks first whether it would be voted for, so that one that was cut off disturbs no leader. A voter votes for
//! no one while it may have heard a leader that is still sure of its lead. Not here: what the leader does.

use std::collections::BTreeSet;

use noraft::LogPosition;
use tollgate_kit::scramble;
use tollgate_mode::planted;

use super::{Control, ControlTime};
use crate::config::ControlConfig;
use crate::frame::FrameBody;

/// A node's part in elections.
#[derive(Clone, Debug)]
pub(super) struct Election {
    /// When it tries to lead.
    pub(super) deadline: u64,
    /// When it heard a leader last.
    pub(super) heard: Option<u64>,
    /// The leader it knows.
    pub(super) leader: Option<u64>,
    /// It votes for no one before: it may have heard a leader before it started.
    guard: u64,
    /// Who has said that this node's disk is not an old one; none needs to for a new disk.
    pub(super) greeted: Option<BTreeSet<u64>>,
    /// Who would vote for it, while it asks.
    asked: Option<BTreeSet<u64>>,
}

impl Election {
    pub(super) fn new(config: &ControlConfig, is_fresh: bool, now: ControlTime) -> Self {
        let mut it = Self {
            deadline: now.steady + config.election_min,
            heard: None,
            leader: None,
            guard: 0,
            greeted: (!is_fresh).then(BTreeSet::new),
            asked: None,
        };
        if !is_fresh {
            it.guard(config, now);
        }
        it
    }

    pub(super) fn guard(&mut self, config: &ControlConfig, now: ControlTime) {
        self.guard = planted!("control-votes-at-once", now.steady + config.election_min, 0);
    }
}

impl Control {
    /// Whether it is a voter that other nodes know.
    pub(super) fn may_lead(&self) -> bool {
        self.log.is_voter(self.me.id)
    }

    /// Whether this node's disk was compared with what a majority remembers of it.
    pub(super) fn is_greeted(&self) -> bool {
        let Some(greeted) = &self.election.greeted else {
            return true;
        };
        let no_voters = self.log.config().voters.is_empty();
        no_voters
            || self
                .log
                .is_majority(|id| id == self.me.id || greeted.contains(&id))
    }

    /// Whether no leader that this node heard can be sure of its lead.
    fn is_free(&self, now: ControlTime) -> bool {
        let heard = self.election.heard.unwrap_or(0) + self.config.election_min;
        let own = self.lead.as_ref().map_or(0, |lead| lead.until);
        let is_silent = planted!("control-vote-while-led", now.steady >= heard, true);
        let heard_none = self.election.heard.is_none();
        now.steady >= own && (heard_none || is_silent)
    }

    /// Whether it votes.
    pub(super) fn votes(&self, now: ControlTime) -> bool {
        self.is_free(now) && now.steady >= self.election.guard && self.is_greeted()
    }

    /// The time at which it tries to lead, when nothing is heard; voters take turns, in another order each term.
    pub(super) fn set_deadline(&mut self, after: u64, now: ControlTime) {
        let term = self.log.term();
        let order = |id: u64| scramble(id ^ scramble(term));
        let voters = self.log.config().voters.iter().map(|id| order(id.get()));
        let rank = voters.filter(|other| *other < order(self.me.id)).count();
        let step = self.config.election_step;
        let late = step * rank as u64 + self.dice.below(step / 2);
        self.election.deadline = now.steady + after + late;
    }

    /// A leader was heard, or voted for: it is given time.
    pub(super) fn reset_deadline(&mut self, now: ControlTime) {
        self.election.asked = None;
        self.set_deadline(self.config.election_min, now);
    }

    /// Tries to lead, when it is time.
    pub(super) fn elect(&mut self, now: ControlTime) {
        if self.lead.is_some() || !self.may_lead() || now.steady < self.election.deadline {
            return;
        }
        self.set_deadline(2 * self.config.election_step, now);
        if self.meta.cluster == 0 || !self.votes(now) {
            return;
        }
        self.election.leader = None;
        self.election.asked = Some(BTreeSet::from([self.me.id]));
        if self.log.is_majority(|id| id == self.me.id) {
            self.stand(now);
            return;
        }
        let last = self.log.last();
        let peers: Vec<u64> = self.log.raft.peers().map(noraft::NodeId::get).collect();
        for peer in peers {
            if self.log.is_voter(peer) {
                self.send_founding(peer);
                self.send(peer, FrameBody::PreVote(last));
            }
        }
    }

    /// Stands for election.
    fn stand(&mut self, now: ControlTime) {
        self.election.asked = None;
        self.log.raft.handle_election_timeout();
        self.drain(now);
        self.set_deadline(2 * self.config.election_step, now);
    }

    pub(super) fn handle_pre_vote(&mut self, from: u64, last: LogPosition, now: ControlTime) {
        let is_granted = self.votes(now) && last >= self.log.last();
        self.send(from, FrameBody::PreVoteReply(is_granted));
    }

    pub(super) fn handle_pre_vote_reply(&mut self, from: u64, is_granted: bool, now: ControlTime) {
        let Some(asked) = self.election.asked.as_mut().filter(|_| is_granted) else {
            return;
        };
        asked.insert(from);
        let asked = asked.clone();
        if self.log.is_majority(|id| asked.contains(&id)) && self.votes(now) {
            self.stand(now);
        }
    }
}
