//! Nodes that divide limits, in one process: frames take a millisecond, time passes when told, and everything that is admitted
//! is replayed through one bucket by arithmetic of its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use tollgate_contract::{Contracts, Coordination};
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{
    Admitted, Kept, Key, Membership, Node, NodeConfig, Outgoing, Peer, Roster, Share, Value,
};
use tollgate_supply::SupplyConfig;
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

pub(crate) struct World {
    pub(crate) nodes: Vec<One>,
    pub(crate) clock: u64,
    pub(crate) flying: VecDeque<(u64, usize, usize, Outgoing)>,
    pub(crate) log: Arc<Mutex<Vec<Admitted>>>,
    /// Nodes that hear nobody, and whom nobody hears.
    pub(crate) cut: Vec<usize>,
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
        let mut world = Self {
            nodes: Vec::new(),
            clock: START,
            flying: VecDeque::new(),
            log: Arc::default(),
            cut: Vec::new(),
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
        Instant::from_nanos(self.clock)
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
            ..Share::new(roster(&self.roster), self.clock)
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
            began: self.clock,
            disk,
            is_up: true,
        });
        number
    }

    /// Tells every node who lives and is not cut off from it.
    pub(crate) fn tell(&self) -> Vec<Vec<String>> {
        let sees = |from: usize, to: usize| {
            from == to || self.cut.contains(&from) == self.cut.contains(&to)
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

    pub(crate) fn post(&mut self) {
        for from in 0..self.nodes.len() {
            let one = &mut self.nodes[from];
            if !one.is_up {
                continue;
            }
            for (tag, kept) in one.node.take_kept() {
                one.node
                    .handle_kept(tag, &kept, Instant::from_nanos(self.clock));
                one.disk.insert(tag, kept);
            }
            while let Some(out) = self.nodes[from].node.poll_send() {
                let to = self.nodes.iter().position(|one| one.cluster == out.to);
                if let Some(to) = to {
                    self.flying.push_back((self.clock + MS, from, to, out));
                }
            }
        }
    }

    /// One millisecond passes.
    pub(crate) fn step(&mut self) {
        self.clock += MS;
        let now = self.now();
        while let Some((_, from, to, out)) = self.flying.pop_front_if(|first| first.0 <= self.clock)
        {
            let is_cut = self.cut.contains(&from) != self.cut.contains(&to);
            if self.nodes[to].is_up && !is_cut {
                let from = self.nodes[from].cluster;
                let node = &self.nodes[to].node;
                let _ = node.handle_gossip(out.tag, from, &out.frame, now);
            }
        }
        for one in self.nodes.iter().filter(|one| one.is_up) {
            if one.node.poll_timeout().is_some_and(|due| due <= now) {
                one.node.handle_timeout(now);
            }
        }
        self.post();
    }

    pub(crate) fn run(&mut self, nanos: u64) {
        for _ in 0..nanos / MS {
            self.step();
        }
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
            self.step();
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

    /// A rate that a node shows, in thousandths of a millionth of a request a second.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates are far below 2^53"
    )]
    pub(crate) fn seen(&self, node: usize, rate: &str) -> u64 {
        let node = &self.nodes[node].node;
        let status = node.mode_status(Coordination::Supply, None, self.now());
        let shown = status[0].figure(rate).and_then(Value::number);
        (shown.unwrap() * 1e9).round() as u64
    }

    pub(crate) fn usable(&self) -> u64 {
        let up = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_up);
        up.map(|node| self.seen(node, "usable")).sum()
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
