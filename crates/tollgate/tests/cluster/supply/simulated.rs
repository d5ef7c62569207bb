//! The same phases in one process: the same nodes, frames that take half a millisecond, and time that passes when told.
//!
//! Processes start and stop at once here, and a node that stands still is one that hears nothing and is asked nothing. Not here:
//! processes, threads, and what a busy machine costs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{
    Kept, Key, Membership, Node, NodeConfig, Outgoing, Peer, Roster, Share, SupplyConfig,
};
use tollgate_table::Seed;

use super::{CONTRACTS, Event, NODES, RATE, THREE, TWO, part, share};

const STEP: u64 = 500_000;
const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_000 * SECOND;

struct World {
    clock: u64,
    nodes: Vec<One>,
    flying: VecDeque<(u64, u16, u16, Outgoing)>,
    is_cut: bool,
}

struct One {
    node: Option<Arc<Node>>,
    disk: BTreeMap<u64, Kept>,
    stands_still: bool,
    due: f64,
}

/// What of the limit each phase uses, in percent.
pub(super) fn run(events: &[Event], lengths: &[u64], cost: u64) -> Vec<f64> {
    let mut world = World {
        clock: START,
        nodes: Vec::new(),
        flying: VecDeque::new(),
        is_cut: false,
    };
    for _ in 0..NODES {
        world.nodes.push(One {
            node: None,
            disk: BTreeMap::new(),
            stands_still: false,
            due: 0.0,
        });
    }
    (0..NODES).for_each(|node| world.start(node));
    world.tell();
    world.pass(4 * SECOND, None);
    let phases = events.iter().zip(lengths);
    let used = phases.map(|(event, nanos)| {
        let spent = world.happen(*event, *nanos, cost);
        let tokens = spent.0 + world.pass(nanos.saturating_sub(spent.1), Some(cost));
        share(tokens, *nanos)
    });
    used.collect()
}

impl World {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.clock)
    }

    fn start(&mut self, number: u16) {
        let roster = (0..NODES).map(|node| (format!("n{node}"), 1));
        let share = Share {
            kept: self.nodes[usize::from(number)].disk.clone(),
            config: SupplyConfig {
                keeps: true,
                ..SupplyConfig::default()
            },
            ..Share::new(Roster::new(roster).unwrap(), self.clock)
        };
        let me = NodeId(number + 1);
        let membership = Membership {
            share: Some(share),
            ..Membership::alone(me, Writer(me.0), self.now())
        };
        let node = Node::with_company(
            Contracts::parse(CONTRACTS).unwrap(),
            NodeConfig::default(),
            Seed::new([1, 2]),
            membership,
        );
        self.nodes[usize::from(number)].node = Some(Arc::new(node));
    }

    fn hears(&self, from: u16, to: u16) -> bool {
        !self.is_cut || TWO.contains(&from) == TWO.contains(&to)
    }

    /// Tells everybody who lives and can be heard.
    fn tell(&self) {
        for to in 0..NODES {
            let others = (0..NODES).filter(|from| {
                self.nodes[usize::from(*from)].node.is_some() && self.hears(*from, to)
            });
            let peers = others.map(|node| Peer {
                node: NodeId(node + 1),
                name: format!("n{node}"),
                age: (0, 0),
            });
            if let Some(node) = &self.nodes[usize::from(to)].node {
                node.handle_peers(NodeId(to + 1), peers.collect(), self.now());
            }
        }
    }

    /// Lets something happen; tokens that passed and time that went meanwhile.
    fn happen(&mut self, event: Event, nanos: u64, cost: u64) -> (u64, u64) {
        let one = |number: u16| usize::from(number);
        match event {
            Event::Nothing => {}
            Event::Kill(node) => self.nodes[one(node)].node = None,
            Event::Start(node) => self.start(node),
            Event::Pause(node) => self.nodes[one(node)].stands_still = true,
            Event::Resume(node) => self.nodes[one(node)].stands_still = false,
            Event::Replace(node) => {
                self.nodes[one(node)].disk.clear();
                self.start(node);
            }
            Event::Cut => {
                assert_eq!(TWO.len() + THREE.len(), usize::from(NODES));
                self.is_cut = true;
            }
            Event::Heal => self.is_cut = false,
            Event::Roll => {
                let each = nanos / u64::from(2 * NODES);
                let mut tokens = 0;
                for node in 0..NODES {
                    if let Some(node) = self.nodes[one(node)].node.as_ref() {
                        node.handle_leave(self.now());
                    }
                    self.pass(2 * STEP, None);
                    self.nodes[one(node)].node = None;
                    self.start(node);
                    self.tell();
                    tokens += self.pass(each, Some(cost));
                }
                return (tokens, each * u64::from(NODES));
            }
        }
        self.tell();
        (0, 0)
    }

    /// Lets time pass, with load where there is a cost; how many tokens passed.
    fn pass(&mut self, nanos: u64, cost: Option<u64>) -> u64 {
        let mut tokens = 0;
        for _ in 0..nanos / STEP {
            self.clock += STEP;
            self.deliver();
            for number in 0..NODES {
                tokens += cost.map_or(0, |cost| self.load(number, cost));
            }
            self.post();
        }
        tokens
    }

    /// What is asked of a node that does not run is asked of the next.
    #[allow(clippy::cast_precision_loss)]
    fn load(&mut self, number: u16, cost: u64) -> u64 {
        let turn = (self.clock - START) / SECOND;
        let wanted = 2.0 * RATE as f64 * part(number, turn) / cost as f64;
        let mut due = self.nodes[usize::from(number)].due + wanted * STEP as f64 / 1e9;
        let ring = (number..NODES).chain(0..number);
        let mut ring = ring.map(|node| &self.nodes[usize::from(node)]);
        let runs = ring.find(|one| one.node.is_some() && !one.stands_still);
        let node = runs.and_then(|one| one.node.clone()).unwrap();
        let (mut tokens, price) = (0, Cost::new(cost).unwrap());
        while due >= 1.0 {
            due -= 1.0;
            let answer = node.check(Key::Entries(&[("route", "/")]), price, self.now());
            tokens += if answer.is_allowed() { cost } else { 0 };
        }
        self.nodes[usize::from(number)].due = due;
        tokens
    }

    fn deliver(&mut self) {
        let now = self.now();
        while let Some((_, from, to, out)) = self.flying.pop_front_if(|first| first.0 <= self.clock)
        {
            let one = &self.nodes[usize::from(to)];
            let node = one.node.as_ref().filter(|_| !one.stands_still);
            if let Some(node) = node.filter(|_| self.hears(from, to)) {
                let _ = node.handle_gossip(out.tag, NodeId(from + 1), &out.frame, now);
            }
        }
        for one in self.nodes.iter().filter(|one| !one.stands_still) {
            if let Some(node) = &one.node
                && node.poll_timeout().is_some_and(|due| due <= now)
            {
                node.handle_timeout(now);
            }
        }
    }

    fn post(&mut self) {
        let now = self.now();
        for (number, one) in (0_u16..).zip(&mut self.nodes) {
            let Some(node) = &one.node else { continue };
            for (tag, kept) in node.take_kept() {
                node.handle_kept(tag, &kept, now);
                one.disk.insert(tag, kept);
            }
            while let Some(out) = node.poll_send() {
                let to = out.to.0 - 1;
                self.flying.push_back((self.clock + STEP, number, to, out));
            }
        }
    }
}
