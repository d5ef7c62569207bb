//! Machines of this design in a small world on the one simulator, and a judge that sees everything.
//!
//! The judge shares no code with what it judges: it is the textbook bucket in whole nanoseconds times refill.

mod cluster;
mod faults;
mod frames;
mod laws;
mod mode;
mod once;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};
use tollgate_mode::{ModeKey, NodeId, Writer};
use tollgate_sim::{Conditions, Links, Sim, SimEvent};

use super::law::Law;
use super::level::Buckets;
use super::machine::{Machine, MachinePlan};
use crate::bucket::Bucket;
use crate::setup::Ratio;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;
pub(super) const START: u64 = 1_000_000 * SECOND;

/// A bucket in the judge's own numbers: `tokens` in `per_ns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgedLimit {
    pub(super) burst: u64,
    pub(super) tokens: u64,
    pub(super) per_ns: u64,
}

impl JudgedLimit {
    pub(super) fn bucket(self) -> Bucket {
        Bucket::new(self.burst, self.tokens, self.per_ns).unwrap()
    }

    /// A bucket with whole shares, as the defaults have it.
    pub(super) fn law(self) -> Buckets {
        Buckets {
            bucket: self.bucket(),
            wait_max: Span::ZERO,
            repays_all: false,
            leaks: false,
            sigma: Ratio::new(1, 1),
            fade: Ratio::new(1, 4),
            grace: span(3_000),
            segs_max: 8,
            nodes: 1,
        }
    }
}

/// One bucket that sees every admission.
#[derive(Clone, Debug)]
pub(super) struct Central {
    numbers: JudgedLimit,
    ends: BTreeMap<ModeKey, u128>,
}

impl Central {
    pub(super) const fn new(numbers: JudgedLimit) -> Self {
        Self {
            numbers,
            ends: BTreeMap::new(),
        }
    }

    pub(super) fn level(&self, key: ModeKey, now: u64) -> u128 {
        let end = self.ends.get(&key).copied().unwrap_or(0);
        end.saturating_sub(u128::from(now) * u128::from(self.numbers.tokens))
    }

    pub(super) fn has_room(&self, key: ModeKey, cost: u64, now: u64) -> bool {
        let token = u128::from(self.numbers.per_ns);
        let full = u128::from(self.numbers.burst) * token;
        self.level(key, now) + u128::from(cost) * token <= full
    }

    pub(super) fn take(&mut self, key: ModeKey, cost: u64, now: u64) {
        let now = u128::from(now) * u128::from(self.numbers.tokens);
        let end = self.ends.entry(key).or_insert(now);
        *end = (*end).max(now) + u128::from(cost) * u128::from(self.numbers.per_ns);
    }

    /// Tokens that were admitted beyond the bucket.
    pub(super) fn debt(&self, key: ModeKey, now: u64) -> u128 {
        let token = u128::from(self.numbers.per_ns);
        let full = u128::from(self.numbers.burst) * token;
        self.level(key, now).saturating_sub(full).div_ceil(token)
    }
}

pub(super) fn span(millis: u64) -> Span {
    Span::from_nanos(u128::from(millis * MS))
}

/// What nodes are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Make {
    pub(super) nodes: u16,
    pub(super) keeps: bool,
    pub(super) weather: Conditions,
    pub(super) delay: Span,
    pub(super) seed: u64,
}

impl Make {
    pub(super) fn calm(nodes: u16) -> Self {
        Self {
            nodes,
            keeps: false,
            weather: Conditions::default(),
            delay: Span::ZERO,
            seed: 1,
        }
    }
}

/// Something that a test plans.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlannedStep {
    Crash(u16),
    Restart(u16),
}

/// A frame that was sent.
#[derive(Clone, Debug)]
pub(super) struct SentFrame {
    pub(super) from: u16,
    pub(super) to: u16,
    pub(super) frame: Arc<[u8]>,
}

/// Nodes and what is between them.
pub(super) struct LinkWorld<L: Law + Clone> {
    pub(super) law: L,
    pub(super) make: Make,
    pub(super) sim: Sim<Arc<[u8]>, PlannedStep, Dice>,
    pub(super) nodes: Vec<Option<Machine<L>>>,
    boots: u16,
    writers: BTreeMap<u16, Writer>,
    pub(super) bytes: u64,
    pub(super) frames: u64,
    /// Every frame with its sender and receiver, for tests that replay them.
    pub(super) sent: Option<Vec<SentFrame>>,
}

impl<L: Law + Clone> LinkWorld<L> {
    pub(super) fn new(law: L, make: Make) -> Self {
        let dice = [1, 2, 3].map(|stream| Dice::new(make.seed ^ stream << 60));
        let mut world = Self {
            law,
            make,
            sim: Sim::new(START, Links::new(make.weather, dice)),
            nodes: Vec::new(),
            boots: 0,
            writers: BTreeMap::new(),
            bytes: 0,
            frames: 0,
            sent: None,
        };
        for node in 0..make.nodes {
            let machine = world.boot(node, false);
            world.nodes.push(Some(machine));
        }
        world
    }

    pub(super) fn boot(&mut self, node: u16, is_restart: bool) -> Machine<L> {
        self.boots += 1;
        let was = self.writers.insert(node, Writer(1_000 + self.boots));
        let plan = MachinePlan {
            me: NodeId(node),
            writer: Writer(1_000 + self.boots),
            was: was.filter(|_| is_restart),
            members: (0..self.make.nodes).map(NodeId).collect(),
            seed: self.make.seed ^ u64::from(self.boots) << 32,
            start: Instant::from_nanos(self.sim.now()),
            delay: self.make.delay,
            keep: self.make.keeps.then(|| span(300)),
            linger: Span::ZERO,
        };
        Machine::new(self.law.clone(), &plan)
    }

    pub(super) fn now(&self) -> u64 {
        self.sim.now()
    }

    pub(super) fn instant(&self) -> Instant {
        Instant::from_nanos(self.now())
    }

    pub(super) fn run(&mut self, until: u64) {
        for node in 0..self.make.nodes {
            self.drain(node);
        }
        while let Some(event) = self.sim.next(until) {
            let now = self.instant();
            match event {
                SimEvent::Message { from, to, message } => self.deliver(from, to, &message),
                SimEvent::Wake { node } => {
                    if let Some(machine) = &mut self.nodes[usize::from(node)] {
                        machine.handle_timeout(now);
                    }
                    self.drain(node);
                }
                SimEvent::Plan(PlannedStep::Crash(node)) => {
                    self.nodes[usize::from(node)] = None;
                    self.sim.reset(node);
                }
                SimEvent::Plan(PlannedStep::Restart(node)) => {
                    let machine = self.boot(node, true);
                    self.nodes[usize::from(node)] = Some(machine);
                    self.drain(node);
                }
            }
        }
        self.sim.pass(until);
    }

    pub(super) fn run_for(&mut self, millis: u64) {
        self.run(self.now() + millis * MS);
    }

    pub(super) fn deliver(&mut self, from: u16, to: u16, frame: &[u8]) {
        let now = self.instant();
        if let Some(machine) = &mut self.nodes[usize::from(to)] {
            machine.handle_frame(NodeId(from), frame, now).unwrap();
            self.drain(to);
        }
    }

    pub(super) fn node(&mut self, node: u16) -> &mut Machine<L> {
        self.nodes[usize::from(node)].as_mut().unwrap()
    }

    /// Asks a node, or the next one that runs.
    pub(super) fn request(&mut self, node: u16, key: ModeKey, cost: u64) -> bool {
        let (count, now) = (self.make.nodes, self.instant());
        let up = |node: &u16| self.nodes[usize::from(*node)].is_some();
        let Some(node) = (0..count).map(|step| (node + step) % count).find(up) else {
            return false;
        };
        let machine = self.node(node);
        let is_allowed = machine.probe(key, cost, now).verdict.is_allowed();
        if is_allowed {
            machine.take(key, cost, now);
        }
        self.drain(node);
        is_allowed
    }

    /// What is left of a key at every node that runs.
    pub(super) fn left(&mut self, key: ModeKey) -> Vec<u64> {
        let now = self.instant();
        let nodes = self.nodes.iter_mut().flatten();
        nodes
            .map(|node| node.standing(key, now).remaining)
            .collect()
    }

    /// Has every node report what it is silent about.
    pub(super) fn tell_all(&mut self) {
        let now = self.instant();
        for node in self.nodes.iter_mut().flatten() {
            node.leave(now);
        }
        self.run_for(1_000);
    }

    pub(super) fn drain(&mut self, node: u16) {
        let Some(machine) = &mut self.nodes[usize::from(node)] else {
            return;
        };
        while let Some(send) = machine.poll_send() {
            self.bytes += 28 + send.frame.len() as u64;
            self.frames += 1;
            if let Some(sent) = &mut self.sent {
                sent.push(SentFrame {
                    from: node,
                    to: send.to.0,
                    frame: Arc::clone(&send.frame),
                });
            }
            self.sim.post(node, send.to.0, send.frame);
        }
        let due = machine.poll_timeout();
        self.sim.let_sleep(node);
        if let Some(due) = due {
            self.sim
                .wake_at(node, due.as_nanos().max(self.sim.now() + 1));
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "there are few nodes")]
pub(super) fn any(dice: &mut Dice, nodes: u16) -> u16 {
    dice.below(u64::from(nodes)) as u16
}
