//! How nodes find each other, found a cluster, and are taken into one; and how an old disk is found out.
//!
//! A node introduces itself until a leader beats for it. Each remembers in memory how far every other one was: a node
//! that comes back and has less has an old disk, or a copy of one, and may have voted already. Not here: the roster.

use std::collections::{BTreeMap, BTreeSet};

use noraft::{LogPosition, Message, NodeId};
use tollgate_mode::planted;

use super::{Control, ControlTime};
use crate::command::FOUNDERS_MAX;
use crate::config::MS;
use crate::event::ControlEvent;
use crate::frame::{ControlFrame, FrameBody, Hello, SeenPosition, Welcome};
use crate::roster::NodeInfo;
use crate::state::NODES_MAX;

/// Who was met.
#[derive(Clone, Debug)]
pub(super) struct Meet {
    /// The names of nodes that are said to live.
    peers: Vec<String>,
    /// Who answered or introduced itself lately, by name.
    met: BTreeMap<String, Met>,
    pub(super) hello_at: u64,
    /// Since when this node could found a cluster.
    since: Option<u64>,
    /// The name of the leader, as others say.
    leader: Option<String>,
    /// What nodes are called whose frames came: the roster may not know them yet.
    pub(super) names: BTreeMap<u64, String>,
    /// The furthest that nodes were seen.
    seen: BTreeMap<u64, SeenPosition>,
    /// The furthest that this node has been.
    best: LogPosition,
}

/// A node that was met.
#[derive(Clone, Debug)]
pub(super) struct Met {
    info: NodeInfo,
    cluster: u64,
    at: u64,
}

/// How often a node introduces itself, and for how long it is remembered that one did.
const HELLO: u64 = 300 * MS;
const MET: u64 = 2_000 * MS;
/// A leader that is silent for so long is looked for.
const LOST: u64 = 1_000 * MS;
/// To how many nodes a node introduces itself: the first by name, and some by chance.
const HELLOS: usize = 5;

impl Meet {
    pub(super) fn new(best: LogPosition, now: ControlTime) -> Self {
        Self {
            peers: Vec::new(),
            met: BTreeMap::new(),
            hello_at: now.steady,
            since: None,
            leader: None,
            names: BTreeMap::new(),
            seen: BTreeMap::new(),
            best,
        }
    }

    /// Starts again, knowing who is said to live.
    pub(super) fn restart(&mut self, best: LogPosition, now: ControlTime) {
        let peers = std::mem::take(&mut self.peers);
        *self = Self::new(best, now);
        self.peers = peers;
    }

    /// Who sends frames under a number; some other is forgotten when there are too many.
    pub(super) fn note_name(&mut self, id: u64, name: &str) {
        if self.names.get(&id).is_none_or(|known| known != name) {
            self.names.insert(id, name.to_owned());
            if self.names.len() > 2 * NODES_MAX {
                self.names.pop_first();
            }
        }
    }

    /// The latest start of a node.
    pub(super) fn boot_of(&self, id: u64) -> Option<u64> {
        self.seen.get(&id).map(|seen| seen.boot)
    }
}

impl Control {
    /// The names of the nodes that are said to live.
    pub fn handle_peers(&mut self, names: impl IntoIterator<Item = String>) {
        let names = names.into_iter().filter(|name| *name != self.me.name);
        let names: BTreeSet<String> = names.collect();
        self.meet.peers = names.into_iter().take(NODES_MAX).collect();
    }

    /// Whether a frame may bind a node that has no cluster.
    pub(super) fn takes_in(&self, frame: &ControlFrame) -> bool {
        let is_free = self.meta.cluster == 0 && frame.cluster > 0;
        let is_leaders = match &frame.body {
            FrameBody::Found(_) => true,
            FrameBody::Raft(raft) => matches!(raft.message, Message::AppendEntriesCall { .. }),
            _ => false,
        };
        is_free && is_leaders && frame.to == self.me.id
    }

    /// Whether a frame is of the latest start of its sender that is known; notes how far the sender is.
    pub(super) fn is_newest(&mut self, frame: &ControlFrame) -> bool {
        let zero = LogPosition::ZERO;
        let (term, last) = match &frame.body {
            FrameBody::Hello(hello) => (hello.seen.term, hello.seen.last),
            FrameBody::PreVote(last) => (last.term.get(), *last),
            FrameBody::Raft(raft) => match &raft.message {
                Message::RequestVoteCall {
                    term,
                    last_position,
                    ..
                } => (term.get(), *last_position),
                message => (message.term().get(), zero),
            },
            FrameBody::Reply(reply) => match &reply.message {
                Some(Message::AppendEntriesReply {
                    term,
                    last_position,
                    ..
                }) => (term.get(), *last_position),
                _ => (0, zero),
            },
            _ => (0, zero),
        };
        if self.meet.seen.len() >= 2 * NODES_MAX && !self.meet.seen.contains_key(&frame.from) {
            let state = &self.state;
            self.meet.seen.retain(|id, _| state.by_id(*id).is_some());
        }
        let seen = self.meet.seen.entry(frame.from).or_insert(SeenPosition {
            boot: 0,
            term: 0,
            last: zero,
        });
        let is_newest = frame.boot >= seen.boot;
        seen.boot = seen.boot.max(frame.boot);
        seen.term = seen.term.max(term);
        seen.last = seen.last.max(last);
        // Who has an old disk is told when it introduces itself.
        is_newest || matches!(frame.body, FrameBody::Hello(_))
    }

    /// Introduces itself, where that is needed.
    pub(super) fn introduce(&mut self, now: ControlTime) {
        self.meet.best = self.meet.best.max(self.log.last());
        if now.steady < self.meet.hello_at {
            return;
        }
        self.meet.hello_at = now.steady + HELLO;
        let heard = self
            .election
            .heard
            .is_some_and(|heard| now.steady < heard + LOST);
        let known = self.state.by_id(self.me.id);
        let is_known =
            known.is_some_and(|(_, node)| node.info.boot == self.me.boot && node.state.is_there());
        if (heard || self.lead.is_some()) && is_known && self.is_greeted() || self.tenure.is_leaving
        {
            return;
        }
        self.meet.met.retain(|_, met| now.steady < met.at + MET);
        for name in self.whom_to_greet() {
            let hello = Hello {
                info: self.me.clone(),
                seen: SeenPosition {
                    boot: self.me.boot,
                    term: self.log.term(),
                    last: self.meet.best,
                },
            };
            self.send_to(name, FrameBody::Hello(hello));
        }
        self.try_to_found(now);
    }

    fn whom_to_greet(&mut self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = self.meet.leader.iter().cloned().collect();
        let voters: Vec<u64> = self.log.config().voters.iter().map(|id| id.get()).collect();
        names.extend(voters.into_iter().filter_map(|id| self.name_of(id)));
        let founders = self.meta.founders.iter().map(|info| info.name.clone());
        names.extend(founders);
        names.extend(self.meet.peers.iter().take(HELLOS).cloned());
        for _ in 0..HELLOS {
            let place = self.dice.place(self.meet.peers.len());
            names.extend(self.meet.peers.get(place).cloned());
        }
        names.remove(&self.me.name);
        names
    }

    pub(super) fn handle_hello(&mut self, hello: Hello, cluster: u64, now: ControlTime) {
        let info = hello.info;
        let is_ours = cluster == self.meta.cluster;
        let seen = self.meet.seen.get(&info.id).copied().filter(|_| is_ours);
        self.meet_node(info.clone(), cluster, now);
        let leader = self.view_leader();
        let welcome = Welcome {
            info: self.me.clone(),
            leader,
            seen,
        };
        self.send_to(info.name.clone(), FrameBody::Welcome(welcome));
        if self.meta.cluster > 0 && (is_ours || cluster == 0) {
            self.consider(&info, now);
        }
    }

    pub(super) fn handle_welcome(&mut self, welcome: Welcome, cluster: u64, now: ControlTime) {
        let from = welcome.info.id;
        self.meet_node(welcome.info, cluster, now);
        if !welcome.leader.is_empty() {
            self.meet.leader = Some(welcome.leader);
        }
        if cluster != self.meta.cluster || cluster == 0 {
            return;
        }
        self.meet.best = self.meet.best.max(self.log.last());
        let is_behind = |seen: &SeenPosition| {
            seen.boot > self.me.boot || seen.term > self.log.term() || seen.last > self.meet.best
        };
        if planted!(
            "control-trusts-old-disks",
            welcome.seen.as_ref().is_some_and(is_behind),
            false
        ) {
            self.become_new(now);
        } else if let Some(greeted) = &mut self.election.greeted {
            greeted.insert(from);
        }
    }

    fn meet_node(&mut self, info: NodeInfo, cluster: u64, now: ControlTime) {
        if self.meet.met.len() < NODES_MAX || self.meet.met.contains_key(&info.name) {
            let at = now.steady;
            self.meet
                .met
                .insert(info.name.clone(), Met { info, cluster, at });
        }
    }

    fn view_leader(&self) -> String {
        if self.lead.is_some() {
            return self.me.name.clone();
        }
        let leader = self.election.leader.and_then(|id| self.name_of(id));
        leader
            .or_else(|| self.meet.leader.clone())
            .unwrap_or_default()
    }

    /// Founds a cluster when this node is the first by name and the next ones have met it and no cluster.
    fn try_to_found(&mut self, now: ControlTime) {
        let mut names: BTreeSet<&String> =
            self.meet.peers.iter().chain(self.meet.met.keys()).collect();
        names.insert(&self.me.name);
        let count = if names.len() >= 7 { FOUNDERS_MAX } else { 3 };
        let is_first = names.first() == Some(&&self.me.name);
        let others = names.iter().skip(1).take(count - 1);
        let met: Vec<NodeInfo> = others
            .filter_map(|name| self.meet.met.get(*name))
            .map(|met| met.info.clone())
            .collect();
        let is_alone = self.meet.met.values().all(|met| met.cluster == 0);
        if self.meta.cluster > 0 || !is_first || !is_alone || met.len() + 1 < count {
            self.meet.since = None;
            return;
        }
        let since = *self.meet.since.get_or_insert(now.steady);
        if now.steady < since + self.config.found_term {
            return;
        }
        let mut founders = vec![self.me.clone()];
        founders.extend(met);
        let ids: Vec<NodeId> = founders.iter().map(|info| NodeId::new(info.id)).collect();
        let cluster = self.dice.roll() | 1;
        self.bind(cluster, founders);
        self.log.raft.create_cluster(&ids);
        for id in ids {
            self.send_founding(id.get());
        }
        self.drain(now);
    }

    /// Becomes part of a cluster, for good.
    pub(super) fn bind(&mut self, cluster: u64, founders: Vec<NodeInfo>) {
        self.meta.cluster = cluster;
        self.meta.founders = founders;
        self.disk.rewrite();
        self.event(ControlEvent::Joined { cluster });
    }

    /// Sends a founder what it may have missed.
    pub(super) fn send_founding(&mut self, to: u64) {
        if self.state.nodes().is_empty() && to != self.me.id && !self.meta.founders.is_empty() {
            let founders = self.meta.founders.clone();
            self.send(to, FrameBody::Found(founders));
        }
    }

    pub(super) fn handle_found(&mut self, cluster: u64, nodes: Vec<NodeInfo>) {
        if self.meta.cluster == 0 && nodes.iter().any(|info| info.id == self.me.id) {
            self.bind(cluster, nodes);
        }
    }
}
