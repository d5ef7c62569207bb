//! A world of whole nodes: how they come and go, what they are told, and what they are asked.
//!
//! Not here: contracts, requests, judges.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{
    Answer, DividedAdmission, Key, Membership, ModeRecord, Node, NodeConfig, RateDivision, Roster,
    RosterPeer,
};
use tollgate_sim::Conditions;
use tollgate_supply::SupplyConfig;
use tollgate_table::Seed;

use super::judge::{Decision, Observer};
use super::net::{Net, address};
use super::whole::Whole;

/// Changes what a node is told at its start, given its place.
pub type Prepare = Box<dyn Fn(usize, &mut Membership) + Send>;

/// Whole nodes, who judges them, and what they have in common.
pub struct NodeWorld<O = ()> {
    /// Who hears every decision.
    pub observer: O,
    /// What nodes decide by that start from now on.
    pub contracts: Contracts,
    /// Who belongs to the cluster and has a share, and how much; no one where nothing is divided.
    pub roster: Vec<(String, u32)>,
    /// What nodes that start from now on are told besides.
    pub prepare: Option<Prepare>,
    net: Net<Whole>,
    log: Arc<Mutex<Vec<(usize, DividedAdmission)>>>,
    writers: u16,
    config: NodeConfig,
}

/// The time at which every world begins, in nanoseconds since 1970.
pub const START: u64 = 1_800_000_000_000_000_000;

/// Contracts as they are written.
///
/// # Panics
///
/// Where they are no contracts: worlds are built by tests and experiments, which cannot go on.
pub fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

impl NodeWorld {
    /// A world without nodes that nobody judges; they will have so many bytes each.
    pub fn empty(weather: Conditions, seed: u64, bytes_max: u64) -> Self {
        Self::watched(weather, seed, bytes_max, ())
    }
}

impl<O: Observer> NodeWorld<O> {
    /// A world without nodes; they will have so many bytes each.
    pub fn watched(weather: Conditions, seed: u64, bytes_max: u64, observer: O) -> Self {
        Self {
            observer,
            contracts: Contracts::default(),
            roster: Vec::new(),
            prepare: None,
            net: Net::new(START, weather, seed),
            log: Arc::default(),
            writers: 100,
            config: NodeConfig {
                bytes_max,
                ..NodeConfig::default()
            },
        }
    }

    /// Divides what is divided among so many nodes, each as much: `n0`, `n1` and so on.
    pub fn divide(&mut self, count: usize) {
        self.roster = (0..count).map(|number| (format!("n{number}"), 1)).collect();
    }

    /// How many bytes nodes have that start from now on.
    pub fn set_bytes(&mut self, bytes_max: u64) {
        self.config.bytes_max = bytes_max;
    }

    /// The world's time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.sim.now())
    }

    /// What a node's clock shows.
    pub fn local(&self, node: usize) -> Instant {
        Instant::from_nanos(self.clock(node))
    }

    /// What was admitted of divided limits, and by which node.
    pub fn log(&self) -> MutexGuard<'_, Vec<(usize, DividedAdmission)>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node with what its disk held, which no one is told of yet.
    pub fn add(&mut self, name: &str, disk: BTreeMap<u64, ModeRecord>) -> usize {
        let place = self.nodes.len();
        let id = (Whole::number(place), self.writer());
        let membership = Membership::alone(id.0, id.1, self.local(place));
        let one = self.build(place, name.to_owned(), membership, disk);
        self.nodes.push(one);
        place
    }

    /// Adds so many nodes with empty disks, `n0`, `n1` and so on, tells them of each other and lets time pass.
    pub fn start(&mut self, count: usize, span: u64) {
        for number in 0..count {
            self.add(&format!("n{number}"), BTreeMap::new());
        }
        self.tell();
        self.run(span);
    }

    /// Another node comes.
    pub fn join(&mut self, name: &str) -> usize {
        let place = self.add(name, BTreeMap::new());
        self.tell();
        place
    }

    /// Takes a node down, with its memory, and tells the others; what its disk holds.
    pub fn crash(&mut self, node: usize) -> BTreeMap<u64, ModeRecord> {
        self.nodes[node].is_up = false;
        self.sim.reset(address(node));
        self.tell();
        self.nodes[node].disk.clone()
    }

    /// Starts a node again by what its disk holds, without its memory; no one is told.
    pub fn restart(&mut self, node: usize) {
        let (me, was) = self.nodes[node].id;
        let membership = Membership {
            was: Some(was),
            ..Membership::alone(me, self.writer(), self.local(node))
        };
        let (name, disk) = (self.nodes[node].name.clone(), self.nodes[node].disk.clone());
        let one = self.build(node, name, membership, disk);
        self.sim.reset(address(node));
        self.nodes[node] = one;
    }

    /// A node's disk is lost.
    pub fn wipe(&mut self, node: usize) {
        self.nodes[node].disk.clear();
    }

    /// Has every node that runs decide by other contracts.
    pub fn reload(&mut self, contracts: Contracts) {
        self.contracts = contracts;
        for node in 0..self.nodes.len() {
            let next = self.nodes[node].newest();
            let next = next.succeed(self.contracts.clone(), self.local(node));
            self.nodes[node].node = next;
        }
        self.pump();
    }

    /// Has every node divide by another roster.
    pub fn set_roster(&mut self, roster: Vec<(String, u32)>) {
        self.roster = roster;
        for node in 0..self.nodes.len() {
            if let Ok(roster) = Roster::new(self.roster.iter().cloned()) {
                self.nodes[node].set_roster(roster, self.local(node));
            }
        }
        self.pump();
    }

    /// A node goes, having said so.
    pub fn leave(&mut self, node: usize) {
        self.nodes[node].handle_leave(self.local(node));
        self.pump();
        self.nodes[node].is_up = false;
        self.tell();
    }

    /// A node's clock jumps, and the node takes note of it.
    pub fn jump(&mut self, node: usize, by: i64) {
        let from = self.local(node);
        let to = Instant::from_nanos(from.as_nanos().saturating_add_signed(by));
        self.nodes[node].move_time(from, to);
        self.sim.jump(address(node), by);
        self.follow_up(node);
    }

    /// A node learns that its numbers are taken.
    pub fn renumber(&mut self, node: usize) {
        let id = (NodeId(self.nodes[node].id.0.0 + 1), self.writer());
        self.nodes[node].id = id;
        let seen = self.seen_by(node);
        let membership = Membership {
            members: seen.iter().map(|to| self.nodes[*to].id.0).collect(),
            ..Membership::alone(id.0, id.1, self.local(node))
        };
        self.nodes[node].renumber(membership, self.local(node));
        self.tell();
    }

    /// Tells every node who lives and is not cut off from it, as the daemon does; whom each found to be there twice.
    pub fn tell(&mut self) -> Vec<Vec<String>> {
        let mut doubled = Vec::new();
        for node in 0..self.nodes.len() {
            let (seen, now, one) = (self.seen_by(node), self.local(node), &self.nodes[node]);
            let peer = |to: usize| RosterPeer {
                node: self.nodes[to].id.0,
                name: self.nodes[to].name.clone(),
                age: (self.nodes[to].began, 0),
            };
            if one.is_up {
                let peers: Vec<RosterPeer> = seen.into_iter().map(peer).collect();
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

    /// Asks a node, by its own clock, and carries what arrives at once.
    pub fn ask(&mut self, node: usize, key: Key<'_>, cost: Cost) -> Answer {
        let answer = self.nodes[node].newest().check(key, cost, self.local(node));
        let decision = Decision {
            at: self.sim.now(),
            node,
            key,
            cost: cost.tokens(),
            is_allowed: answer.is_allowed(),
            wait: u64::try_from(answer.verdict.wait().as_nanos()).unwrap_or(u64::MAX),
        };
        self.note(decision.at << 1 | u64::from(decision.is_allowed));
        self.observer.decided(&decision);
        self.follow_up(node);
        self.settle();
        answer
    }

    /// Asks about a user; where the node is down, the next one.
    pub fn check(&mut self, node: usize, user: &str, cost: u32) -> Answer {
        let is_up = self.nodes[node].is_up;
        let node = (node + usize::from(!is_up)) % self.nodes.len();
        self.ask(node, Key::Entries(&[("user", user)]), Cost::from_u32(cost))
    }

    /// Lets time pass until something holds, `span` at most; says how long.
    pub fn run_until(&mut self, span: u64, holds: impl Fn(&Self) -> bool) -> u64 {
        let (start, end) = (self.sim.now(), self.sim.now() + span);
        self.pump();
        while !holds(self) {
            if self.step(end).is_none() {
                self.sim.pass(end);
                break;
            }
        }
        self.sim.now() - start
    }

    fn writer(&mut self) -> Writer {
        self.writers += 1;
        Writer(self.writers)
    }

    fn build(
        &self,
        place: usize,
        name: String,
        mut membership: Membership,
        disk: BTreeMap<u64, ModeRecord>,
    ) -> Whole {
        let id = (membership.me, membership.writer);
        membership.share = self.share(place, &disk);
        if let Some(prepare) = &self.prepare {
            prepare(place, &mut membership);
        }
        let (contracts, config) = (self.contracts.clone(), self.config);
        let node = Node::with_company(contracts, config, Seed::new([7, 9]), membership);
        Whole {
            node: Arc::new(node),
            id,
            name,
            began: self.sim.now(),
            disk,
            is_up: true,
        }
    }

    /// A node's part of what is divided, where anything is.
    fn share(&self, place: usize, disk: &BTreeMap<u64, ModeRecord>) -> Option<RateDivision> {
        let roster = Roster::new(self.roster.iter().cloned()).ok()?;
        let log = Arc::clone(&self.log);
        Some(RateDivision {
            kept: disk.clone(),
            config: SupplyConfig {
                keeps: true,
                ..SupplyConfig::default()
            },
            journal: Some(Arc::new(move |admitted| {
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                log.push((place, *admitted));
            })),
            ..RateDivision::new(roster, self.sim.now())
        })
    }

    /// The nodes that run and are not cut off from one, by number.
    fn seen_by(&self, node: usize) -> Vec<usize> {
        let (links, now) = (&self.sim.links, self.sim.now());
        let is_near =
            |to: &usize| self.nodes[*to].is_up && !links.is_cut(address(node), address(*to), now);
        let mut seen: Vec<usize> = (0..self.nodes.len()).filter(is_near).collect();
        seen.sort_by_key(|to| self.nodes[*to].id.0);
        seen
    }
}

impl<O> Deref for NodeWorld<O> {
    type Target = Net<Whole>;

    fn deref(&self) -> &Net<Whole> {
        &self.net
    }
}

impl<O> DerefMut for NodeWorld<O> {
    fn deref_mut(&mut self) -> &mut Net<Whole> {
        &mut self.net
    }
}

impl<O: fmt::Debug> fmt::Debug for NodeWorld<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeWorld { observer, net, .. } = self;
        f.debug_struct("NodeWorld")
            .field("observer", observer)
            .field("net", net)
            .finish_non_exhaustive()
    }
}
