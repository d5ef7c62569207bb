//! A few nodes, a network that may lose, double and delay, and one bucket that sees everything.

#![allow(
    clippy::cast_possible_truncation,
    reason = "small numbers, and tests may choose what they draw"
)]

mod cluster;
mod frames;
mod laws;
mod recovery;

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, NodeId, Writer};

use crate::bucket::Bucket;
use crate::machine::Exchange;
use crate::replica::Design;
use crate::setup::{Knobs, Ratio, Setup};
use tollgate_kit::Dice;

use super::{Segments, Talk, node as begin};

const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// A bucket by its numbers, for models that must not share its arithmetic.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    burst: u64,
    tokens: u64,
    per_ns: u64,
}

impl Numbers {
    fn bucket(self) -> Bucket {
        Bucket::new(self.burst, self.tokens, self.per_ns).unwrap()
    }
}

/// One bucket that sees everything, in units of 1 / `per_ns` token.
#[derive(Debug)]
struct Central {
    numbers: Numbers,
    ends: BTreeMap<Key, u128>,
}

impl Central {
    fn new(numbers: Numbers) -> Self {
        let ends = BTreeMap::new();
        Self { numbers, ends }
    }

    fn level(&self, key: Key, now: u64) -> u128 {
        let drained = u128::from(now) * u128::from(self.numbers.tokens);
        let end = self.ends.get(&key).copied().unwrap_or(0);
        end.saturating_sub(drained)
    }

    fn has_room(&self, key: Key, cost: u64, now: u64) -> bool {
        let unit = u128::from(self.numbers.per_ns);
        let wanted = self.level(key, now) + u128::from(cost) * unit;
        wanted <= u128::from(self.numbers.burst) * unit
    }

    fn take(&mut self, key: Key, cost: u64, now: u64) {
        let drained = u128::from(now) * u128::from(self.numbers.tokens);
        let end = self.ends.entry(key).or_default();
        *end = (*end).max(drained) + u128::from(cost) * u128::from(self.numbers.per_ns);
    }
}

/// What the network does; out of a hundred, and in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Net {
    loss: u64,
    copies: u64,
    delay_max: u64,
}

/// From, to, and what.
type Letter = (u16, u16, Arc<[u8]>);

/// Nodes and what is between them.
#[derive(Debug)]
struct Cluster {
    numbers: Numbers,
    knobs: Knobs,
    nodes: Vec<Talk<Segments>>,
    writers: Vec<u16>,
    boots: u16,
    net: Net,
    dice: Dice,
    flight: BTreeMap<(u64, u64), Letter>,
    sent: Vec<Letter>,
    now: u64,
}

impl Cluster {
    fn new(count: u16, numbers: Numbers, knobs: Knobs, net: Net) -> Self {
        let mut cluster = Self {
            numbers,
            knobs,
            nodes: Vec::new(),
            writers: Vec::new(),
            boots: 0,
            net,
            dice: Dice::new(u64::from(count) + numbers.burst),
            flight: BTreeMap::new(),
            sent: Vec::new(),
            now: SECOND,
        };
        let members: Vec<_> = (0..count).map(NodeId).collect();
        for node in 0..count {
            let setup = cluster.setup(node, None, members.clone());
            cluster.nodes.push(begin(&setup));
            cluster.writers.push(setup.writer.0);
        }
        cluster
    }

    fn setup(&mut self, node: u16, was: Option<Writer>, members: Vec<NodeId>) -> Setup {
        self.boots += 1;
        Setup {
            bucket: self.numbers.bucket(),
            me: NodeId(node),
            writer: Writer(100 + self.boots),
            was,
            members,
            seed: self.dice.roll(),
            start: at(self.now),
            wait_max: Span::ZERO,
            knobs: self.knobs.clone(),
        }
    }

    /// Restarts a node without its memory.
    fn restart(&mut self, node: u16) {
        let was = Writer(self.writers[usize::from(node)]);
        let members = (0..self.nodes.len() as u16).map(NodeId).collect();
        let setup = self.setup(node, Some(was), members);
        self.writers[usize::from(node)] = setup.writer.0;
        self.nodes[usize::from(node)] = begin(&setup);
        self.drain(node);
    }

    /// Asks a node; counts what it admits.
    fn request(&mut self, node: u16, key: Key, cost: u64) -> bool {
        let bucket = self.numbers.bucket();
        let now = at(self.now);
        let it = &mut self.nodes[usize::from(node)];
        let is_admitted = it.level(key, now) + bucket.grains(cost) <= bucket.capacity();
        if is_admitted {
            it.accept(key, cost, now);
            self.drain(node);
        }
        is_admitted
    }

    fn deliver(&mut self, from: u16, to: u16, frame: &[u8]) {
        let it = &mut self.nodes[usize::from(to)];
        it.handle_frame(NodeId(from), frame, at(self.now)).unwrap();
        self.drain(to);
    }

    /// Lets everything happen that is due by then.
    fn run_until(&mut self, until: u64) {
        loop {
            let frame = self.flight.first_key_value().map(|(&(due, _), _)| due);
            let dues = self.nodes.iter().map(Exchange::poll_timeout);
            let timeouts = (0_u16..)
                .zip(dues)
                .filter_map(|(node, due)| Some((due?, node)));
            let timeout = timeouts.min().map(|(due, node)| (due.as_nanos(), node));
            match (frame, timeout) {
                (Some(due), timer) if due <= until && timer.is_none_or(|(at, _)| due <= at) => {
                    self.now = self.now.max(due);
                    if let Some((_, (from, to, frame))) = self.flight.pop_first() {
                        self.deliver(from, to, &frame);
                    }
                }
                (_, Some((due, node))) if due <= until => {
                    self.now = self.now.max(due);
                    self.nodes[usize::from(node)].handle_timeout(at(self.now));
                    self.drain(node);
                }
                _ => break,
            }
        }
        self.now = self.now.max(until);
    }

    /// Puts what a node says on the network, and looks whether its caches are right.
    fn drain(&mut self, node: u16) {
        while let Some(send) = self.nodes[usize::from(node)].poll_send() {
            self.sent.push((node, send.to.0, Arc::clone(&send.frame)));
            let is_lost = self.dice.below(100) < self.net.loss;
            let is_copied = self.dice.below(100) < self.net.copies;
            for _ in 0..usize::from(!is_lost) + usize::from(is_copied) {
                let due = self.now + self.dice.below(self.net.delay_max + 1);
                // Instant frames stay in order; others may overtake each other.
                let order = match self.net.delay_max {
                    0 => self.sent.len() as u64,
                    _ => self.dice.roll(),
                };
                let frame = Arc::clone(&send.frame);
                self.flight.insert((due, order), (node, send.to.0, frame));
            }
        }
        self.nodes[usize::from(node)].check_caches();
    }
}

impl Talk<Segments> {
    /// The backlogs that were kept up to date are those of the whole union, and so are the bytes.
    fn check_caches(&self) {
        let mut bytes = 0;
        for (cell, known) in self.cells() {
            let mut anew = cell.clone();
            anew.recompute(self.rule().bucket, known);
            assert_eq!((cell.all, cell.public), (anew.all, anew.public));
            bytes += cell.bytes() + known.bytes();
        }
        assert_eq!(self.footprint().local, bytes);
    }
}

/// Nothing is ever forgotten before it drained, and nobody keeps more than its share.
fn strict() -> Knobs {
    Knobs {
        beta: Some(Ratio::new(1, 1)),
        fade: Ratio::new(0, 1),
        ..Knobs::default()
    }
}
