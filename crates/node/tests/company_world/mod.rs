//! A world of nodes in one process: frames arrive at once and in order, unless the weather says otherwise; time passes when told.

#![allow(clippy::cast_possible_truncation, reason = "there are few nodes")]

use std::sync::Arc;

use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use tollgate_contract::Contracts;
use tollgate_gossip::{Bucket, Key as GossipKey, Kind, Machine, NodeId, Setup, Writer};
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{Answer, Key, Membership, Node, NodeConfig, Outgoing};
use tollgate_sim::{Dice, Event, Links, Sim, Weather};
use tollgate_table::Seed;

pub(crate) const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_800_000_000 * SECOND;

pub(crate) fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

pub(crate) fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn seed() -> Seed {
    Seed::new([7, 9])
}

/// Numbers from a seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Dice for Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % bound.max(1)
    }
}

pub(crate) struct World {
    pub(crate) nodes: Vec<Arc<Node>>,
    ids: Vec<(NodeId, Writer)>,
    alive: Vec<bool>,
    pub(crate) sim: Sim<Outgoing, (), Numbers>,
    writers: u16,
    config: NodeConfig,
}

impl World {
    pub(crate) fn new(count: u16, text: &str) -> Self {
        Self::small(count, text, 1 << 26)
    }

    /// A world of nodes with so many bytes each.
    pub(crate) fn small(count: u16, text: &str, bytes_max: u64) -> Self {
        let links = Links::new(Weather::default(), [1, 2, 3].map(Numbers));
        let mut world = Self {
            nodes: Vec::new(),
            ids: Vec::new(),
            alive: Vec::new(),
            sim: Sim::new(START, links),
            writers: 100,
            config: NodeConfig {
                bytes_max,
                ..NodeConfig::default()
            },
        };
        for _ in 0..count {
            world.add(text, None);
        }
        world.tell_members();
        world.run(5 * SECOND);
        world
    }

    pub(crate) fn now(&self) -> Instant {
        at(self.sim.now())
    }

    /// What a node's clock shows.
    pub(crate) fn local(&self, node: usize) -> Instant {
        at(self.sim.local(node as u16))
    }

    pub(crate) fn id(&self, node: usize) -> NodeId {
        self.ids[node].0
    }

    fn add(&mut self, text: &str, was: Option<(NodeId, Writer)>) -> usize {
        self.writers += 1;
        let fresh = NodeId(10 * (1 + self.ids.len() as u16));
        let me = was.map_or(fresh, |(me, _)| me);
        let writer = Writer(self.writers);
        let membership = Membership {
            was: was.map(|(_, writer)| writer),
            ..Membership::alone(me, writer, self.now())
        };
        let node = Node::with_company(contracts(text), self.config, seed(), membership);
        self.nodes.push(Arc::new(node));
        self.ids.push((me, writer));
        self.alive.push(true);
        self.nodes.len() - 1
    }

    /// Another node comes.
    pub(crate) fn join(&mut self, text: &str) -> usize {
        let place = self.add(text, None);
        self.tell_members();
        place
    }

    /// A node goes, having said so.
    pub(crate) fn leave(&mut self, node: usize) {
        self.nodes[node].handle_leave(self.local(node));
        self.pump();
        self.alive[node] = false;
        self.tell_members();
    }

    /// A node is gone and comes back without its memory.
    pub(crate) fn restart(&mut self, node: usize, text: &str) {
        self.alive[node] = false;
        let was = self.ids[node];
        let place = self.add(text, Some(was));
        let (new, id) = (self.nodes.pop(), self.ids.pop());
        self.alive.pop();
        assert_eq!(place, self.nodes.len());
        self.nodes[node] = new.unwrap();
        self.ids[node] = id.unwrap();
        self.tell_members();
        self.alive[node] = true;
        self.tell_members();
    }

    /// A node learns that its numbers are taken.
    pub(crate) fn renumber(&mut self, node: usize) {
        self.writers += 1;
        let id = (NodeId(self.ids[node].0.0 + 1), Writer(self.writers));
        self.ids[node] = id;
        let members = self.members();
        let membership = Membership {
            members,
            ..Membership::alone(id.0, id.1, self.now())
        };
        self.nodes[node].renumber(membership, self.now());
        self.tell_members();
    }

    fn members(&self) -> Vec<NodeId> {
        let all = self.ids.iter().zip(&self.alive);
        let mut members: Vec<_> = all
            .filter(|(_, alive)| **alive)
            .map(|(id, _)| id.0)
            .collect();
        members.sort_unstable();
        members
    }

    fn tell_members(&mut self) {
        let members = self.members();
        for node in 0..self.nodes.len() {
            if self.alive[node] {
                self.nodes[node].handle_members(&members, self.local(node));
            }
        }
        self.pump();
    }

    pub(crate) fn check(&mut self, node: usize, key: &str, cost: u32) -> Answer {
        let node = if self.alive[node] {
            node
        } else {
            (node + 1) % self.nodes.len()
        };
        let entries = [("user", key)];
        let answer = self.nodes[node].check(
            Key::Entries(&entries),
            Cost::from_u32(cost),
            self.local(node),
        );
        self.pump();
        answer
    }

    /// What is left in each policy of each contract.
    pub(crate) fn status(&self, node: usize, key: &str) -> Vec<(usize, Vec<u64>)> {
        let entries = [("user", key)];
        let all = self.nodes[node].status(Key::Entries(&entries), self.now());
        let left = |(contract, each): (usize, Vec<tollgate_limit::Status>)| {
            (
                contract,
                each.iter().map(|status| status.remaining).collect(),
            )
        };
        all.into_iter().map(left).collect()
    }

    /// Carries what arrives at once until nobody has any.
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
        let (node, now) = (&self.nodes[to], self.local(to));
        match event {
            Event::Message { from, message, .. } if self.alive[to] => {
                let from = self.ids[usize::from(from)].0;
                // Policies may differ where contracts are changed one node at a time.
                let _ = node.handle_gossip(message.tag, from, &message.frame, now);
            }
            Event::Wake { .. } => node.handle_timeout(now),
            Event::Message { .. } | Event::Plan(()) => {}
        }
        self.follow_up(to);
    }

    /// Sends what a node wants to, and wakes it when it wants to be, a little later at least.
    fn follow_up(&mut self, node: usize) {
        let from = node as u16;
        while let Some(outgoing) = self.nodes[node].poll_send() {
            let to = self.ids.iter().position(|id| id.0 == outgoing.to);
            if let Some(to) = to.filter(|_| self.alive[node]) {
                self.sim.post(from, to as u16, outgoing);
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

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Check(usize, u8, u32),
    Charge(usize, u8, u32),
    Wait(u64),
}

/// One node that counts alone is the bucket that sees everything: whatever it would admit, given what the cluster admitted so far,
/// the cluster admits.
pub(crate) fn against_one_bucket<S>(
    world: &mut World,
    text: &str,
    steps: &[S],
    act: impl Fn(&S) -> Act,
) -> Result<(), TestCaseError> {
    let central = Node::new(contracts(text), NodeConfig::default(), seed());
    let mut admitted = [0_u64; 3];
    for step in steps {
        match act(step) {
            Act::Wait(nanos) => world.run(nanos),
            Act::Check(node, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let asked = Cost::from_u32(cost);
                let peek = Cost::from_u32(cost.max(1));
                let within = central.within(tollgate_node::Scope::All).unwrap();
                let told = within
                    .foresee(Key::Entries(&entries), peek, world.now())
                    .each;
                let passes = told[0].1[0].verdict.is_allowed();
                let is = world.check(node, &name, cost);
                prop_assert!(
                    is.is_allowed() || !passes,
                    "refused what one bucket admits: {is:?}"
                );
                if is.is_allowed() {
                    central.charge(Key::Entries(&entries), asked, world.now());
                    admitted[usize::from(key)] += u64::from(cost);
                }
            }
            Act::Charge(node, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let (asked, now) = (Cost::from_u32(cost), world.now());
                world.nodes[node].charge(Key::Entries(&entries), asked, now);
                world.pump();
                central.charge(Key::Entries(&entries), asked, now);
            }
        }
    }
    // More than the bucket had can pass on silent shares, but by less than the bucket once more.
    let seconds = (world.sim.now() - START) / SECOND + 1;
    for tokens in admitted {
        prop_assert!(
            tokens <= 12 + seconds * 12 / 60 + 12,
            "{tokens} in {seconds} s"
        );
    }
    Ok(())
}

/// The same requests to nodes, and to machines that are driven by hand.
pub(crate) fn against_machines<S>(
    steps: &[S],
    home: bool,
    act: impl Fn(&S) -> Act,
) -> Result<(), TestCaseError> {
    let (design, kind) = if home {
        ("home", Kind::Home)
    } else {
        ("segments", Kind::Segments)
    };
    let text = format!(
        "contracts: [{{ id: a, key: [user], coordination: gossip, design: {design}, policies: [{{ name: p, limit: 12, per: 60s }}] }}]"
    );
    let node = Node::with_company(
        contracts(&text),
        NodeConfig::default(),
        seed(),
        Membership::alone(NodeId(1), Writer(1), at(START)),
    );
    let mut machine = Machine::bucket(
        kind,
        Setup {
            bucket: Bucket::new(12, 12, 60 * SECOND).unwrap(),
            me: NodeId(1),
            writer: Writer(1),
            was: None,
            members: vec![NodeId(1)],
            seed: 0,
            start: at(START),
            wait_max: Span::ZERO,
            knobs: tollgate_gossip::Knobs::default(),
        },
    );
    let mut clock = START;
    for step in steps {
        match act(step) {
            Act::Wait(nanos) => {
                clock += nanos;
                node.handle_timeout(at(clock));
                machine.handle_timeout(at(clock));
            }
            Act::Check(_, key, cost) => {
                let request = (key, cost);
                same_answer(&node, &mut machine, request, at(clock))?;
            }
            Act::Charge(_, key, cost) => {
                node.charge(
                    Key::Entries(&[("user", &format!("k{key}"))]),
                    Cost::from_u32(cost),
                    at(clock),
                );
                machine.charge(GossipKey(u128::from(key)), u64::from(cost), None, at(clock));
            }
        }
    }
    Ok(())
}

/// One request to a node and to a machine that is driven by hand.
fn same_answer(
    node: &Node,
    machine: &mut Machine,
    (key, cost): (u8, u32),
    now: Instant,
) -> Result<(), TestCaseError> {
    let name = format!("k{key}");
    let entries = [("user", name.as_str())];
    let is = node.check(Key::Entries(&entries), Cost::from_u32(cost), now);
    let (key, cost) = (GossipKey(u128::from(key)), u64::from(cost));
    let before = machine.probe(key, cost, now).remaining;
    match machine.handle_request(key, cost, now) {
        tollgate_gossip::Verdict::Allow { remaining, .. } => {
            prop_assert!(is.is_allowed());
            prop_assert_eq!(is.remaining, remaining);
        }
        tollgate_gossip::Verdict::Deny { retry_after } => {
            prop_assert_eq!(is.verdict, Verdict::Deny { retry_after });
            prop_assert_eq!(is.remaining, before);
        }
        tollgate_gossip::Verdict::Never => prop_assert_eq!(is.verdict, Verdict::Never),
    }
    Ok(())
}

/// The same requests to a cluster of one and to a node that counts alone.
pub(crate) fn alone_or_in_company(policy: &str, acts: &[Act]) -> Result<(), TestCaseError> {
    let text = |coordination: &str| {
        format!(
            "contracts: [{{ id: a, key: [user], coordination: {coordination}, policies: [{policy}] }}]"
        )
    };
    let alone = Node::new(contracts(&text("local")), NodeConfig::default(), seed());
    let membership = Membership::alone(NodeId(1), Writer(1), at(START));
    let company = contracts(&text("gossip"));
    let company = Node::with_company(company, NodeConfig::default(), seed(), membership);
    let mut clock = START;
    for act in acts {
        match act {
            Act::Wait(nanos) => {
                clock += nanos;
                company.handle_timeout(at(clock));
            }
            Act::Check(_, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let cost = Cost::from_u32(*cost);
                let was = alone.check(Key::Entries(&entries), cost, at(clock));
                let is = company.check(Key::Entries(&entries), cost, at(clock));
                prop_assert_eq!(is.verdict, was.verdict, "{} at {}", policy, clock - START);
                prop_assert_eq!((is.remaining, is.limit), (was.remaining, was.limit));
                prop_assert_eq!(is.refused_by, was.refused_by);
                prop_assert_eq!(is.reset_after, was.reset_after);
                let charged = |answer: &Answer| answer.receipt.bookings()[0].receipt;
                prop_assert_eq!(charged(&is), charged(&was));
            }
            Act::Charge(_, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let cost = Cost::from_u32(*cost);
                alone.charge(Key::Entries(&entries), cost, at(clock));
                company.charge(Key::Entries(&entries), cost, at(clock));
            }
        }
    }
    Ok(())
}
