//! A small world for the tests of `home`: a few nodes, one queue of events, and a judge that saw everything.
//!
//! Shares no code with what it judges: the judge is the textbook bucket in whole nanoseconds times refill.

#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    reason = "each test uses a part of it; there are few nodes; a broken world must stop its test"
)]

pub(crate) mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tollgate_gossip::{Bucket, Key, Kind, Knobs, Machine, NodeId, Replica, Setup, Verdict, Writer};
use tollgate_limit::{Instant, Span};
use tollgate_sim::{self as sim, Links, Sim, Weather};

/// Numbers from a seed.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let x = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^ (x >> 29)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound.max(1)
    }
}

impl sim::Dice for Dice {
    fn below(&mut self, bound: u64) -> u64 {
        Self::below(self, bound)
    }
}

pub(crate) const MS: u64 = 1_000_000;

/// What is planned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Request { node: u16, key: u128, cost: u64 },
    Crash { node: u16 },
    Restart { node: u16 },
    Members { node: u16 },
}

/// What a node says of a key; greater is more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    Wait(std::cmp::Reverse<u128>),
    Left(u64),
}

/// A bucket that sees every admission.
#[derive(Clone, Copy, Default)]
pub(crate) struct Judge {
    end: u128,
}

/// What the bucket is, in the judge's own numbers: `tokens` in `per_ns`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub(crate) burst: u64,
    pub(crate) tokens: u64,
    pub(crate) per_ns: u64,
}

impl Law {
    fn level(self, judge: Judge, now: u64) -> u128 {
        judge
            .end
            .saturating_sub(u128::from(now) * u128::from(self.tokens))
    }

    /// Whether the bucket that saw everything has room for that much.
    pub(crate) fn has_room(self, judge: Judge, cost: u64, now: u64) -> bool {
        let token = u128::from(self.per_ns);
        self.level(judge, now) + u128::from(cost) * token <= u128::from(self.burst) * token
    }

    pub(crate) fn admit(self, judge: &mut Judge, cost: u64, now: u64) {
        let now = u128::from(now) * u128::from(self.tokens);
        judge.end = judge.end.max(now) + u128::from(cost) * u128::from(self.per_ns);
    }
}

/// What was decided, and what should have been.
#[derive(Default)]
pub(crate) struct Score {
    judges: BTreeMap<u128, Judge>,
    centrals: BTreeMap<u128, Judge>,
    /// Rejections of requests the bucket that saw everything had room for.
    pub(crate) false_rejections: u64,
    /// Decisions that one bucket in the place of all nodes would have taken otherwise.
    pub(crate) wrong: u64,
    pub(crate) rejected: u64,
}

pub(crate) struct World {
    pub(crate) law: Law,
    pub(crate) knobs: Knobs,
    sim: Sim<Arc<[u8]>, Event, Dice>,
    pub(crate) nodes: Vec<Option<Replica>>,
    writers: Vec<u16>,
    next_writer: u16,
    pub(crate) score: Score,
    /// Every frame ever sent with its sender and receiver, for tests that replay them.
    pub(crate) frames: Option<Vec<(u16, u16, Vec<u8>)>>,
    /// Whether every event is followed by a look whether any node's end fell.
    pub(crate) watches_ends: bool,
    down: BTreeSet<u16>,
}

impl World {
    pub(crate) fn new(nodes: u16, law: Law, knobs: Knobs, weather: Weather, seed: u64) -> Self {
        let streams = [1, 2, 3].map(|stream| Dice(seed ^ stream << 60));
        let mut world = Self {
            law,
            knobs,
            sim: Sim::new(1_000_000_000, Links::new(weather, streams)),
            nodes: Vec::new(),
            writers: (0..nodes).collect(),
            next_writer: nodes,
            score: Score::default(),
            frames: None,
            watches_ends: false,
            down: BTreeSet::new(),
        };
        for node in 0..nodes {
            let replica = world.boot(node, nodes, None);
            world.nodes.push(Some(replica));
        }
        world
    }

    fn boot(&self, node: u16, nodes: u16, was: Option<u16>) -> Replica {
        let law = self.law;
        let setup = Setup {
            bucket: Bucket::new(law.burst, law.tokens, law.per_ns).unwrap(),
            me: NodeId(node),
            writer: Writer(self.writers[usize::from(node)]),
            was: was.map(Writer),
            members: (0..nodes).map(NodeId).collect(),
            seed: u64::from(node) * 77,
            start: self.instant(),
            wait_max: Span::ZERO,
            knobs: self.knobs.clone(),
        };
        Replica::new(Kind::Home, &setup)
    }

    pub(crate) fn now(&self) -> u64 {
        self.sim.now()
    }

    fn instant(&self) -> Instant {
        Instant::from_nanos(self.now())
    }

    pub(crate) fn at(&mut self, time: u64, event: Event) {
        self.sim.plan(time, event);
    }

    /// Runs until that time.
    pub(crate) fn run(&mut self, until: u64) {
        for node in 0..self.nodes.len() {
            self.drain(node);
        }
        while let Some(event) = self.sim.next(until) {
            if let sim::Event::Wake { node } = event {
                self.wake(usize::from(node));
                continue;
            }
            let before = self.ends();
            match event {
                sim::Event::Message { from, to, message } => self.deliver(from, to, &message),
                sim::Event::Plan(event) => self.carry_out(event),
                sim::Event::Wake { .. } => {}
            }
            self.compare(&before);
        }
        self.sim.pass(until);
    }

    fn wake(&mut self, node: usize) {
        let now = self.instant();
        if let Some(replica) = &mut self.nodes[node] {
            replica.handle_timeout(now);
        }
        self.drain(node);
    }

    fn deliver(&mut self, from: u16, to: u16, frame: &[u8]) {
        let now = self.instant();
        if let Some(replica) = &mut self.nodes[usize::from(to)] {
            replica.handle_frame(NodeId(from), frame, now).unwrap();
            self.drain(usize::from(to));
        }
    }

    /// What every node knows of the first two keys, with the boot that knows it.
    fn ends(&mut self) -> Vec<(u16, Known)> {
        if !self.watches_ends {
            return Vec::new();
        }
        let mut ends = Vec::new();
        for node in 0..self.nodes.len() {
            for key in 0..2 {
                let boot = self.writers[node];
                ends.extend(self.known(node, key).map(|known| (boot, known)));
            }
        }
        ends
    }

    fn compare(&mut self, before: &[(u16, Known)]) {
        let after = self.ends();
        if before.len() == after.len() {
            for (before, after) in before.iter().zip(after) {
                let is_same_boot = before.0 == after.0;
                assert!(!is_same_boot || before.1 >= after.1, "an end fell");
            }
        }
    }

    /// What a node would answer now, without counting anything.
    pub(crate) fn known(&mut self, node: usize, key: u128) -> Option<Known> {
        let now = self.instant();
        let replica = self.nodes[node].as_mut()?;
        Some(match replica.handle_request(Key(key), 0, now) {
            Verdict::Allow { remaining, .. } => Known::Left(remaining),
            Verdict::Deny { retry_after } => Known::Wait(std::cmp::Reverse(retry_after.as_nanos())),
            Verdict::Never => panic!("a bucket of nothing"),
        })
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Request { node, key, cost } => self.request(node, key, cost),
            Event::Crash { node } => {
                self.nodes[usize::from(node)] = None;
                self.sim.reset(node);
                self.down.insert(node);
                self.spread(500 + 500 * u64::from(node % 2));
            }
            Event::Restart { node } => {
                let was = self.writers[usize::from(node)];
                self.writers[usize::from(node)] = self.next_writer;
                self.next_writer += 1;
                let count = self.nodes.len() as u16;
                let replica = self.boot(node, count, Some(was));
                self.nodes[usize::from(node)] = Some(replica);
                self.down.remove(&node);
                self.drain(usize::from(node));
                self.members(node);
                self.spread(100 + 300 * u64::from(node % 3));
            }
            Event::Members { node } => self.members(node),
        }
    }

    /// Everybody hears who is alive, each a little later than the one before.
    fn spread(&mut self, after_ms: u64) {
        for node in 0..self.nodes.len() as u16 {
            let at = self.now() + (after_ms + 7 * u64::from(node)) * MS;
            self.at(at, Event::Members { node });
        }
    }

    fn members(&mut self, node: u16) {
        let alive: Vec<_> = (0..self.nodes.len() as u16)
            .filter(|node| !self.down.contains(node))
            .map(NodeId)
            .collect();
        let now = self.instant();
        if let Some(replica) = &mut self.nodes[usize::from(node)] {
            replica.handle_members(&alive, now);
            self.drain(usize::from(node));
        }
    }

    fn request(&mut self, node: u16, key: u128, cost: u64) {
        let count = self.nodes.len();
        let place = (0..count)
            .map(|step| (usize::from(node) + step) % count)
            .find(|&place| self.nodes[place].is_some());
        let Some(place) = place else { return };
        let now = self.instant();
        let replica = self.nodes[place].as_mut().unwrap();
        let verdict = replica.handle_request(Key(key), cost, now);
        self.drain(place);
        self.judge(key, cost, verdict);
    }

    fn judge(&mut self, key: u128, cost: u64, verdict: Verdict) {
        let (law, now) = (self.law, self.now());
        let score = &mut self.score;
        let central = score.centrals.entry(key).or_default();
        let is_right = law.has_room(*central, cost, now);
        if is_right {
            law.admit(central, cost, now);
        }
        score.wrong += u64::from(is_right != verdict.is_allowed());
        let judge = score.judges.entry(key).or_default();
        if verdict.is_allowed() {
            law.admit(judge, cost, now);
        } else {
            score.rejected += 1;
            score.false_rejections += u64::from(law.has_room(*judge, cost, now));
        }
    }

    /// Sends what a node wants to, and wakes it when it wants to be.
    fn drain(&mut self, node: usize) {
        let from = node as u16;
        while let Some(send) = self.nodes[node].as_mut().and_then(Machine::poll_send) {
            if let Some(frames) = &mut self.frames {
                frames.push((from, send.to.0, send.frame.to_vec()));
            }
            self.sim.post(from, send.to.0, send.frame);
        }
        let due = self.nodes[node].as_ref().and_then(Machine::poll_timeout);
        self.sim.let_sleep(from);
        if let Some(due) = due {
            self.sim.wake_at(from, due.as_nanos());
        }
    }
}
