//! Whole nodes in one process, in the surroundings of the simulator: what the weather says becomes of frames, and time
//! passes when told.
//!
//! A world of its own adds how nodes come and go, what they are asked, and who judges. Not here: contracts, requests,
//! judges.

#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    reason = "each test uses a part of it; there are few nodes; a broken world must stop its test"
)]

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_kit::Dice;
use tollgate_limit::Instant;
use tollgate_node::{Admitted, Kept, Membership, Node, NodeConfig, Outgoing, Peer, Roster, Share};
use tollgate_sim::{Event, Links, Sim, Weather};
use tollgate_supply::SupplyConfig;
use tollgate_table::Seed;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;
pub(crate) const START: u64 = 1_800_000_000 * SECOND;

pub(crate) fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

pub(crate) fn roster(names: &[(String, u32)]) -> Roster {
    Roster::new(names.iter().cloned()).unwrap()
}

/// A node, who it is, and what its disk holds.
pub(crate) struct One {
    pub(crate) node: Arc<Node>,
    pub(crate) id: (NodeId, Writer),
    pub(crate) name: String,
    began: u64,
    pub(crate) disk: BTreeMap<u64, Kept>,
    pub(crate) is_up: bool,
}

impl Deref for One {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

pub(crate) struct World {
    pub(crate) nodes: Vec<One>,
    pub(crate) sim: Sim<Outgoing, (), Dice>,
    /// Who belongs to the cluster and has a share, and how much; no one where nothing is divided.
    pub(crate) roster: Vec<(String, u32)>,
    /// What was admitted of divided limits, and by which node.
    pub(crate) log: Arc<Mutex<Vec<(usize, Admitted)>>>,
    writers: u16,
    bytes_max: u64,
}

impl World {
    /// A world without nodes, which have so many bytes each.
    pub(crate) fn empty(weather: Weather, seed: u64, bytes_max: u64) -> Self {
        let streams = [1, 2, 3].map(|stream| Dice::new(seed ^ stream << 60));
        Self {
            nodes: Vec::new(),
            sim: Sim::new(START, Links::new(weather, streams)),
            roster: Vec::new(),
            log: Arc::default(),
            writers: 100,
            bytes_max,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.sim.now())
    }

    /// What a node's clock shows.
    pub(crate) fn local(&self, node: usize) -> Instant {
        Instant::from_nanos(self.sim.local(node as u16))
    }

    /// Adds a node with what its disk held, which no one is told of yet.
    pub(crate) fn add(&mut self, name: &str, text: &str, disk: BTreeMap<u64, Kept>) -> usize {
        self.writers += 1;
        let place = self.nodes.len();
        let id = (NodeId(10 * (1 + place as u16)), Writer(self.writers));
        let membership = Membership::alone(id.0, id.1, self.local(place));
        let one = self.build(place, text, membership, disk);
        self.nodes.push(One {
            name: name.to_owned(),
            ..one
        });
        place
    }

    /// Starts a node again, without its memory.
    pub(crate) fn restart(&mut self, place: usize, text: &str) {
        self.writers += 1;
        let (me, was) = self.nodes[place].id;
        let membership = Membership {
            was: Some(was),
            ..Membership::alone(me, Writer(self.writers), self.local(place))
        };
        let disk = self.nodes[place].disk.clone();
        let (one, name) = (
            self.build(place, text, membership, disk),
            self.nodes[place].name.clone(),
        );
        self.nodes[place] = One { name, ..one };
    }

    fn build(
        &self,
        place: usize,
        text: &str,
        membership: Membership,
        disk: BTreeMap<u64, Kept>,
    ) -> One {
        let (began, id) = (self.sim.now(), (membership.me, membership.writer));
        let membership = Membership {
            share: self.share(place, &disk),
            ..membership
        };
        let config = NodeConfig {
            bytes_max: self.bytes_max,
            ..NodeConfig::default()
        };
        let node = Node::with_company(contracts(text), config, Seed::new([7, 9]), membership);
        One {
            node: Arc::new(node),
            id,
            name: String::new(),
            began,
            disk,
            is_up: true,
        }
    }

    /// A node's part of what is divided, where anything is.
    fn share(&self, place: usize, disk: &BTreeMap<u64, Kept>) -> Option<Share> {
        if self.roster.is_empty() {
            return None;
        }
        let log = Arc::clone(&self.log);
        Some(Share {
            kept: disk.clone(),
            config: SupplyConfig {
                keeps: true,
                ..SupplyConfig::default()
            },
            journal: Some(Arc::new(move |admitted| {
                log.lock().unwrap().push((place, *admitted));
            })),
            ..Share::new(roster(&self.roster), self.sim.now())
        })
    }

    /// A node learns that its numbers are taken.
    pub(crate) fn renumber(&mut self, node: usize) {
        self.writers += 1;
        let id = (NodeId(self.nodes[node].id.0.0 + 1), Writer(self.writers));
        self.nodes[node].id = id;
        let membership = Membership {
            members: self
                .seen_by(node)
                .into_iter()
                .map(|to| self.nodes[to].id.0)
                .collect(),
            ..Membership::alone(id.0, id.1, self.local(node))
        };
        self.nodes[node].renumber(membership, self.local(node));
        self.tell();
    }

    /// The nodes that run and are not cut off from one, by number.
    fn seen_by(&self, node: usize) -> Vec<usize> {
        let (links, now) = (&self.sim.links, self.sim.now());
        let is_near =
            |to: &usize| self.nodes[*to].is_up && !links.is_cut(node as u16, *to as u16, now);
        let mut seen: Vec<usize> = (0..self.nodes.len()).filter(is_near).collect();
        seen.sort_by_key(|to| self.nodes[*to].id.0);
        seen
    }

    /// Tells every node who lives and is not cut off from it, as the daemon does; whom each found to be there twice.
    pub(crate) fn tell(&mut self) -> Vec<Vec<String>> {
        let mut doubled = Vec::new();
        for node in 0..self.nodes.len() {
            let (seen, now, one) = (self.seen_by(node), self.local(node), &self.nodes[node]);
            let peer = |to: usize| Peer {
                node: self.nodes[to].id.0,
                name: self.nodes[to].name.clone(),
                age: (self.nodes[to].began, 0),
            };
            if one.is_up {
                let peers: Vec<Peer> = seen.into_iter().map(peer).collect();
                let members: Vec<NodeId> = peers.iter().map(|peer| peer.node).collect();
                doubled.push(one.handle_peers(one.id.0, peers, now));
                one.handle_members(&members, now);
            } else {
                doubled.push(Vec::new());
            }
        }
        self.pump();
        doubled
    }

    /// Cuts a node off from all others.
    pub(crate) fn cut(&mut self, node: usize) {
        let sides = (0..=node).map(|at| u8::from(at == node));
        self.sim.links.split(sides.collect());
    }

    /// Carries what arrives at once until there is no more.
    pub(crate) fn pump(&mut self) {
        for node in 0..self.nodes.len() {
            self.follow_up(node);
        }
        while let Some(event) = self.sim.next(self.sim.now()) {
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event<Outgoing, ()>) {
        let to = match &event {
            Event::Message { to, .. } | Event::Wake { node: to } => usize::from(*to),
            Event::Plan(()) => return,
        };
        let (one, now) = (&self.nodes[to], self.local(to));
        match event {
            _ if !one.is_up => return,
            Event::Message { from, message, .. } => {
                let from = self.nodes[usize::from(from)].id.0;
                // Policies may differ where contracts are changed one node at a time.
                let _ = one.handle_gossip(message.tag, from, &message.frame, now);
            }
            _ => one.handle_timeout(now),
        }
        self.follow_up(to);
    }

    /// Keeps and sends what a node wants kept and sent, and wakes it when it wants to be, a little later at least.
    fn follow_up(&mut self, node: usize) {
        let (from, now) = (node as u16, self.local(node));
        let one = &mut self.nodes[node];
        for (tag, kept) in one.take_kept() {
            one.handle_kept(tag, &kept, now);
            one.disk.insert(tag, kept);
        }
        while let Some(out) = self.nodes[node].poll_send() {
            let to = self.nodes.iter().position(|one| one.id.0 == out.to);
            if let Some(to) = to.filter(|_| self.nodes[node].is_up) {
                self.sim.post(from, to as u16, out);
            }
        }
        if let Some(due) = self.nodes[node].poll_timeout() {
            let at = self.sim.clock(from).world(due.as_nanos());
            self.sim.wake_at(from, at.max(self.sim.now() + 1_000));
        }
    }

    pub(crate) fn run(&mut self, span: u64) {
        self.run_until(span, |_| false);
    }

    /// Lets time pass until something holds; says how long.
    pub(crate) fn run_until(&mut self, span: u64, holds: impl Fn(&Self) -> bool) -> u64 {
        let (start, end) = (self.sim.now(), self.sim.now() + span);
        self.pump();
        while !holds(self) {
            let Some(event) = self.sim.next(end) else {
                self.sim.pass(end);
                break;
            };
            self.happen(event);
        }
        self.sim.now() - start
    }
}
