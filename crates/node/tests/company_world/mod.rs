//! A world of nodes in one process: frames arrive at once and in order, time passes when told.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use tollgate_contract::Contracts;
use tollgate_gossip::{Bucket, Key as GossipKey, Kind, Machine, NodeId, Setup, Writer};
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{Answer, Key, Membership, Node, NodeConfig, Outgoing};
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

pub(crate) struct World {
    pub(crate) nodes: Vec<Arc<Node>>,
    ids: Vec<(NodeId, Writer)>,
    alive: Vec<bool>,
    clock: u64,
    writers: u16,
    config: NodeConfig,
}

impl World {
    pub(crate) fn new(count: u16, text: &str) -> Self {
        Self::small(count, text, 1 << 26)
    }

    /// A world of nodes with so many bytes each.
    pub(crate) fn small(count: u16, text: &str, bytes_max: u64) -> Self {
        let mut world = Self {
            nodes: Vec::new(),
            ids: Vec::new(),
            alive: Vec::new(),
            clock: START,
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
        at(self.clock)
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
        self.nodes[node].handle_leave(self.now());
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
        for (node, alive) in self.nodes.iter().zip(&self.alive) {
            if *alive {
                node.handle_members(&members, self.now());
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
        let answer =
            self.nodes[node].check(Key::Entries(&entries), Cost::from_u32(cost), self.now());
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

    /// Carries frames until nobody has any.
    fn pump(&mut self) {
        let mut wire: VecDeque<(NodeId, Outgoing)> = VecDeque::new();
        loop {
            for (place, node) in self.nodes.iter().enumerate() {
                let from = self.ids[place].0;
                while let Some(outgoing) = node.poll_send() {
                    if self.alive[place] {
                        wire.push_back((from, outgoing));
                    }
                }
            }
            let Some((from, Outgoing { tag, to, frame })) = wire.pop_front() else {
                return;
            };
            let place = self.ids.iter().position(|id| id.0 == to);
            if let Some(place) = place.filter(|place| self.alive[*place]) {
                // Policies may differ where contracts are changed one node at a time.
                let _ = self.nodes[place].handle_gossip(tag, from, &frame, self.now());
            }
        }
    }

    pub(crate) fn run(&mut self, span: u64) {
        self.run_until(span, |_| false);
    }

    /// Lets time pass until something holds; says how long.
    pub(crate) fn run_until(&mut self, span: u64, holds: impl Fn(&Self) -> bool) -> u64 {
        let (start, end) = (self.clock, self.clock + span);
        while self.clock < end && !holds(self) {
            let due = self.nodes.iter().filter_map(|node| node.poll_timeout());
            let next = due.min().map_or(end, Instant::as_nanos);
            self.clock = next.clamp((self.clock + 1_000).min(end), end);
            for node in &self.nodes {
                node.handle_timeout(at(self.clock));
            }
            self.pump();
        }
        self.clock - start
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
    let seconds = (world.clock - START) / SECOND + 1;
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
