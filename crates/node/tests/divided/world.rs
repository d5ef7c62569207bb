//! Nodes that divide limits, in one process: frames take a millisecond, time passes when told, and everything that is admitted
//! is replayed through one bucket by arithmetic of its own.

#![allow(clippy::cast_possible_truncation, reason = "there are few nodes")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{
    Admitted, Key, Membership, Node, NodeConfig, Outgoing, Peer, PolicySupply, Roster, Share,
};
use tollgate_sim::{Dice, Event, Links, Sim, Weather};
use tollgate_supply::{Kept, SupplyConfig};
use tollgate_table::Seed;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;
pub(crate) const START: u64 = 50 * SECOND;

/// A node, who it is, what its disk holds, and what it was told.
pub(crate) struct One {
    pub(crate) node: Arc<Node>,
    pub(crate) cluster: NodeId,
    pub(crate) name: String,
    pub(crate) began: u64,
    pub(crate) disk: BTreeMap<u64, Kept>,
    pub(crate) is_up: bool,
}

/// Nothing is left to chance.
struct Always;

impl Dice for Always {
    fn below(&mut self, _bound: u64) -> u64 {
        0
    }
}

pub(crate) struct World {
    pub(crate) nodes: Vec<One>,
    sim: Sim<Outgoing, (), Always>,
    pub(crate) log: Arc<Mutex<Vec<Admitted>>>,
    pub(crate) roster: Vec<(String, u32)>,
}

pub(crate) fn roster(names: &[(String, u32)]) -> Roster {
    Roster::new(names.iter().cloned()).unwrap()
}

pub(crate) fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

pub(crate) fn ceiling(limit: u64) -> String {
    format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: {limit}, per: 1s, burst: 50, coordination: supply }}] }}]"
    )
}

impl World {
    pub(crate) fn new(count: usize, text: &str) -> Self {
        let roster = (0..count).map(|number| (format!("n{number}"), 1));
        let mut links = Links::new(Weather::between(MS, MS), [Always, Always, Always]);
        links.cuts_arrivals = true;
        let mut world = Self {
            nodes: Vec::new(),
            sim: Sim::new(START, links),
            log: Arc::default(),
            roster: roster.collect(),
        };
        for number in 0..count {
            world.add(&format!("n{number}"), text, BTreeMap::new());
        }
        world.tell();
        world.run(3 * SECOND);
        world
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.sim.now())
    }

    /// Starts a node, which nobody is told of yet.
    pub(crate) fn add(&mut self, name: &str, text: &str, disk: BTreeMap<u64, Kept>) -> usize {
        let number = self.nodes.len();
        let cluster = NodeId(10 * (1 + u16::try_from(number).unwrap()));
        let log = Arc::clone(&self.log);
        let share = Share {
            kept: disk.clone(),
            config: SupplyConfig {
                keeps: true,
                ..SupplyConfig::default()
            },
            journal: Some(Arc::new(move |admitted| {
                log.lock().unwrap().push(*admitted);
            })),
            ..Share::new(roster(&self.roster), self.sim.now())
        };
        let membership = Membership {
            share: Some(share),
            ..Membership::alone(cluster, Writer(cluster.0), self.now())
        };
        let config = NodeConfig {
            bytes_max: 1 << 26,
            ..NodeConfig::default()
        };
        let node = Node::with_company(contracts(text), config, Seed::new([7, 9]), membership);
        self.nodes.push(One {
            node: Arc::new(node),
            cluster,
            name: name.to_owned(),
            began: self.sim.now(),
            disk,
            is_up: true,
        });
        number
    }

    /// Tells every node who lives and is not cut off from it.
    pub(crate) fn tell(&self) -> Vec<Vec<String>> {
        let sees = |from: usize, to: usize| {
            let links = &self.sim.links;
            !links.is_cut(from as u16, to as u16, self.sim.now())
        };
        let each = self.nodes.iter().enumerate().map(|(at, one)| {
            let others = self.nodes.iter().enumerate();
            let others = others.filter(|(to, other)| other.is_up && sees(at, *to));
            let peers = others.map(|(_, other)| Peer {
                node: other.cluster,
                name: other.name.clone(),
                age: (other.began, 0),
            });
            if one.is_up {
                one.node
                    .handle_peers(one.cluster, peers.collect(), self.now())
            } else {
                Vec::new()
            }
        });
        each.collect()
    }

    /// Cuts a node off from all others.
    pub(crate) fn cut(&mut self, node: usize) {
        let sides = (0..=node).map(|at| u8::from(at == node));
        self.sim.links.split(sides.collect());
    }

    pub(crate) fn heal(&mut self) {
        self.sim.links.heal();
    }

    /// Keeps and sends what nodes want kept and sent, and wakes them when they want to be.
    pub(crate) fn post(&mut self) {
        for from in 0..self.nodes.len() {
            self.follow_up(from);
        }
    }

    fn follow_up(&mut self, from: usize) {
        let now = self.now();
        let one = &mut self.nodes[from];
        if !one.is_up {
            return;
        }
        for (tag, kept) in one.node.take_kept() {
            one.node.handle_kept(tag, &kept, now);
            one.disk.insert(tag, kept);
        }
        while let Some(out) = self.nodes[from].node.poll_send() {
            let to = self.nodes.iter().position(|one| one.cluster == out.to);
            if let Some(to) = to {
                self.sim.post(from as u16, to as u16, out);
            }
        }
        if let Some(due) = self.nodes[from].node.poll_timeout() {
            let at = due.as_nanos().max(self.sim.now() + 1_000);
            self.sim.wake_at(from as u16, at);
        }
    }

    pub(crate) fn run(&mut self, nanos: u64) {
        let until = self.sim.now() + nanos;
        self.post();
        while let Some(event) = self.sim.next(until) {
            let now = self.now();
            let to = match &event {
                Event::Message { to, .. } | Event::Wake { node: to } => usize::from(*to),
                Event::Plan(()) => continue,
            };
            let node = &self.nodes[to].node;
            match event {
                _ if !self.nodes[to].is_up => {}
                Event::Message { from, message, .. } => {
                    let from = self.nodes[usize::from(from)].cluster;
                    let _ = node.handle_gossip(message.tag, from, &message.frame, now);
                }
                _ => node.handle_timeout(now),
            }
            self.follow_up(to);
        }
        self.sim.pass(until);
    }

    /// So many requests a millisecond at each of these nodes; how many passed.
    pub(crate) fn load(&mut self, nanos: u64, at: &[usize], each: u64) -> u64 {
        let mut passed = 0;
        for _ in 0..nanos / MS {
            for node in at {
                for _ in 0..each {
                    passed += u64::from(self.ask(*node, 1));
                }
            }
            self.run(MS);
        }
        passed
    }

    pub(crate) fn ask(&mut self, node: usize, cost: u64) -> bool {
        let one = &self.nodes[node];
        let answer = one
            .node
            .newest()
            .check(Key::Text(b"x"), Cost::new(cost).unwrap(), self.now());
        self.post();
        answer.is_allowed()
    }

    pub(crate) fn crash(&mut self, node: usize) -> BTreeMap<u64, Kept> {
        self.nodes[node].is_up = false;
        self.tell();
        self.nodes[node].disk.clone()
    }

    pub(crate) fn reload(&mut self, text: &str) {
        for number in 0..self.nodes.len() {
            let next = self.nodes[number]
                .node
                .newest()
                .succeed(contracts(text), self.now());
            self.nodes[number].node = next;
        }
        self.post();
    }

    pub(crate) fn seen(&self, node: usize) -> PolicySupply {
        let status = self.nodes[node].node.supply_status(None, self.now());
        status.into_iter().next().unwrap()
    }

    pub(crate) fn usable(&self) -> u64 {
        let up = self.nodes.iter().filter(|one| one.is_up);
        let each = up.map(|one| {
            one.node.supply_status(None, self.now())[0]
                .key
                .stands
                .usable
        });
        each.sum()
    }

    /// Everything that was admitted, replayed through one bucket that is full at the beginning.
    pub(crate) fn replay(&self, limit: u64, burst: u64) {
        let mut log = self.log.lock().unwrap().clone();
        for admitted in &mut log {
            admitted.at = admitted.at.saturating_add(admitted.wait);
        }
        log.sort_by_key(|admitted| admitted.at);
        let full = u128::from(burst) * u128::from(SECOND);
        let (mut level, mut last) = (full, 0);
        for admitted in log {
            let time = admitted.at.as_nanos() - last;
            level = full.min(level + u128::from(time) * u128::from(limit));
            last = admitted.at.as_nanos();
            let cost = u128::from(admitted.cost) * u128::from(SECOND);
            assert!(level >= cost, "one too many at {last}");
            level -= cost;
        }
    }
}
