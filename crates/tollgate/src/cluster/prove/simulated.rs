//! The same phases in one process: the same nodes, frames that take half a millisecond, and time that passes when told.
//!
//! A process that is restarted is away for as long as it was live, and everybody knows at once who is there; a node
//! that stands still hears nothing and is asked nothing. Not here: processes, threads, and what a busy machine costs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{
    Kept, Key, Membership, Node, NodeConfig, Outgoing, Peer, Roster, Share, SupplyConfig,
};
use tollgate_table::Seed;

use super::story::{Event, ISLAND, NODES, RATE, REQUEST, part, share};

const STEP: u64 = 500_000;
const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_000 * SECOND;

/// What happened live: the event, for how many nanoseconds a process was away, and how long the phase was.
pub(super) type Lived = (Event, u64, u64);

/// What of the limit each phase uses, in percent.
pub(super) fn run(contracts: &Contracts, lived: &[Lived], cost: Cost) -> Vec<f64> {
    let mut world = World {
        contracts,
        cost,
        clock: START,
        nodes: (0..NODES).map(|number| (number, One::default())).collect(),
        flying: VecDeque::new(),
        is_cut: false,
    };
    (0..NODES).for_each(|node| world.start(node));
    world.tell();
    world.pass(4 * SECOND, false);
    let used = lived.iter().map(|(event, away, length)| {
        let tokens = world.happen(*event, *away) + world.pass(length.saturating_sub(*away), true);
        share(tokens, *length)
    });
    used.collect()
}

struct World<'a> {
    contracts: &'a Contracts,
    cost: Cost,
    clock: u64,
    nodes: BTreeMap<u16, One>,
    flying: VecDeque<(u64, u16, u16, Outgoing)>,
    is_cut: bool,
}

#[derive(Default)]
struct One {
    node: Option<Arc<Node>>,
    disk: BTreeMap<u64, Kept>,
    stands_still: bool,
    due: f64,
}

impl One {
    /// The node, while it runs.
    fn awake(&self) -> Option<&Arc<Node>> {
        self.node.as_ref().filter(|_| !self.stands_still)
    }
}

impl World<'_> {
    const fn now(&self) -> Instant {
        Instant::from_nanos(self.clock)
    }

    fn one(&mut self, number: u16) -> &mut One {
        self.nodes.entry(number).or_default()
    }

    fn start(&mut self, number: u16) {
        let roster = (0..NODES).map(|node| (format!("n{node}"), 1));
        let share = Roster::new(roster).ok().map(|roster| Share {
            kept: self.one(number).disk.clone(),
            config: SupplyConfig {
                keeps: true,
                ..SupplyConfig::default()
            },
            ..Share::new(roster, self.clock)
        });
        let me = NodeId(number + 1);
        let membership = Membership {
            share,
            ..Membership::alone(me, Writer(me.0), self.now())
        };
        let contracts = self.contracts.clone();
        let node = Node::with_company(
            contracts,
            NodeConfig::default(),
            Seed::new([1, 2]),
            membership,
        );
        self.one(number).node = Some(Arc::new(node));
    }

    fn hears(&self, from: u16, to: u16) -> bool {
        !self.is_cut || ISLAND.contains(&from) == ISLAND.contains(&to)
    }

    /// Tells everybody who lives and can be heard.
    fn tell(&self) {
        for (to, one) in &self.nodes {
            let others = self.nodes.iter().filter(|(_, other)| other.node.is_some());
            let heard = others.filter(|(from, _)| self.hears(**from, *to));
            let peers = heard.map(|(node, _)| Peer {
                node: NodeId(node + 1),
                name: format!("n{node}"),
                age: (0, 0),
            });
            if let Some(node) = &one.node {
                node.handle_peers(NodeId(to + 1), peers.collect(), self.now());
            }
        }
    }

    /// Lets something happen, for as long as a process was away; tokens that passed meanwhile.
    fn happen(&mut self, event: Event, away: u64) -> u64 {
        let mut tokens = 0;
        match event {
            Event::Nothing => {}
            Event::Kill(node) => self.one(node).node = None,
            Event::Start(node) => {
                tokens = self.pass(away, true);
                self.start(node);
            }
            Event::Pause(node) => self.one(node).stands_still = true,
            Event::Resume(node) => self.one(node).stands_still = false,
            Event::Replace(node) => {
                *self.one(node) = One::default();
                tokens = self.without(node, away);
            }
            Event::Restart(node) => {
                if let Some(leaves) = &self.one(node).node.clone() {
                    leaves.handle_leave(self.now());
                }
                self.post();
                self.one(node).node = None;
                tokens = self.without(node, away);
            }
            Event::Cut => self.is_cut = true,
            Event::Heal => self.is_cut = false,
        }
        self.tell();
        tokens
    }

    /// A node is away for a while and is started.
    fn without(&mut self, node: u16, away: u64) -> u64 {
        self.tell();
        let tokens = self.pass(away, true);
        self.start(node);
        tokens
    }

    /// Lets time pass, with or without load; how many tokens passed.
    fn pass(&mut self, nanos: u64, is_asked: bool) -> u64 {
        let mut tokens = 0;
        for _ in 0..nanos / STEP {
            self.clock += STEP;
            self.deliver();
            for number in (0..NODES).filter(|_| is_asked) {
                tokens += self.load(number);
            }
            self.post();
        }
        tokens
    }

    /// What is asked of a node that does not run is asked of the next.
    #[allow(
        clippy::cast_precision_loss,
        reason = "how much is asked need not be exact"
    )]
    fn load(&mut self, number: u16) -> u64 {
        let (now, cost) = (self.now(), self.cost);
        let wanted = 2.0 * RATE as f64 / cost.tokens() as f64;
        let wanted = wanted * part(number, (self.clock - START) / SECOND);
        let mut ring = self.nodes.range(number..).chain(self.nodes.range(..number));
        let node = ring.find_map(|(_, one)| one.awake()).cloned();
        let one = self.one(number);
        one.due += wanted * STEP as f64 / 1e9;
        let mut tokens = 0;
        while one.due >= 1.0 {
            one.due -= 1.0;
            let answer = node.as_ref();
            let answer = answer.map(|node| node.check(Key::Entries(&REQUEST), cost, now));
            if answer.is_some_and(|answer| answer.is_allowed()) {
                tokens += cost.tokens();
            }
        }
        tokens
    }

    fn deliver(&mut self) {
        let now = self.now();
        while let Some((_, from, to, out)) = self.flying.pop_front_if(|first| first.0 <= self.clock)
        {
            let is_heard = self.hears(from, to);
            let node = self.nodes.get(&to).and_then(One::awake);
            if let Some(node) = node.filter(|_| is_heard) {
                // What makes no sense is counted there.
                let _ = node.handle_gossip(out.tag, NodeId(from + 1), &out.frame, now);
            }
        }
        for node in self.nodes.values().filter_map(One::awake) {
            if node.poll_timeout().is_some_and(|due| due <= now) {
                node.handle_timeout(now);
            }
        }
    }

    fn post(&mut self) {
        let now = self.now();
        for (number, one) in &mut self.nodes {
            let Some(node) = &one.node else { continue };
            for (tag, kept) in node.take_kept() {
                node.handle_kept(tag, &kept, now);
                one.disk.insert(tag, kept);
            }
            while let Some(out) = node.poll_send() {
                let to = out.to.0.saturating_sub(1);
                self.flying.push_back((self.clock + STEP, *number, to, out));
            }
        }
    }
}
