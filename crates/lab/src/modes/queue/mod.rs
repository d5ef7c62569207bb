//! Elements with a time of birth and a time of death, one for each admitted token.
//!
//! The design of Henriksson and Bennhage, Trading performance for precision in a CRDT-based rate-limiting system
//! (2021), with the corrections it needs: an element is known by its birth and its node; one merge serves every state;
//! an element is told on only if it is new or its death moved, and not to a neighbour that told the same death; the
//! dead are told to nobody and are kept for [`MARGIN_ROUNDS`] rounds, so that news of their time still finds them.
//!
//! - `freq`: what came fast is sent at once. If the newest `window` elements that wait for a neighbour are less
//!   than the threshold apart on average, all of the key that waits for it is sent.
//! - `linf`: a round goes to the neighbour for which most elements wait.
//!
//! A delta state is not stored: every element knows which neighbours it waits for, and what they would be sent is
//! always what is known here. A line of more than [`BURST_ELEMENTS`] elements would be absurd, so in larger buckets an
//! element stands for several tokens; a node pays for a whole one and uses it up. Elements of nodes that this one never
//! heard of count like any other, for a neighbour may know of a newcomer first; [`line::ELEMENTS_MAX`] bounds them all.
//! [`wire`] has the encoding. Not here: rounds of gossip.

mod line;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tollgate_gossip::{Bucket, Decoder, Footprint, Malformed, ModeKey, NodeId, Send, planted};
use tollgate_limit::Instant;

use self::line::{ElementReport, Id, KeyQueue, QueueChange, QueueCounts};
use self::wire::{Parsed, Reading};
use crate::modes::rounds::{RoundOutbox, Rounds, codec};
use crate::modes::{Frequency, PaperDesign, PaperSetup};

/// The most elements that a full bucket is worth.
const BURST_ELEMENTS: u64 = 1 << 16;
/// Rounds for which the dead are kept.
const MARGIN_ROUNDS: u128 = 4;
const KIND: u8 = 3;
/// Bytes of a key and the count of its elements.
const KEY_BYTES: u64 = 24;
const ELEMENT_BYTES: u64 = 16;

/// A node's part, with frequency analysis and least informed neighbour first as told.
pub(super) fn build(
    setup: &PaperSetup,
    freq: Option<Frequency>,
    linf: bool,
) -> Box<dyn PaperDesign> {
    Box::new(Queue::new(setup, freq, linf))
}

#[derive(Clone, Copy, Debug)]
struct Rules {
    bucket: Bucket,
    me: u16,
    /// Tokens that an element stands for.
    unit: u64,
    /// Grains between two deaths.
    step: u128,
    /// Grains for which the dead are kept.
    margin: u128,
    /// The most nodes there were.
    nodes: u64,
    /// What frequency analysis is told: how many elements, and how far apart.
    freq: Option<Frequency>,
    /// Elements that frequency analysis looks at, and nanoseconds within which they must have come.
    eager: Option<(usize, u128)>,
    linf: bool,
}

#[derive(Debug)]
struct Queue {
    rules: Rules,
    lines: BTreeMap<ModeKey, KeyQueue>,
    /// When something dies or is dropped next, at most one for each key, and never too late.
    wakes: BTreeSet<(Instant, ModeKey)>,
    rounds: Rounds,
    outbox: RoundOutbox,
    parsed: Parsed,
    counts: QueueCounts,
    /// Elements in all lines, and lines in all delta states.
    elements: u64,
    listed: u64,
    /// The first unit of birth that this node has not used.
    birth: u64,
}

impl Rules {
    fn new(setup: &PaperSetup, freq: Option<Frequency>, linf: bool) -> Self {
        let bucket = setup.bucket;
        let unit = bucket.burst().div_ceil(BURST_ELEMENTS);
        let interval = setup.interval.as_nanos().min(u128::from(u64::MAX));
        let rules = Self {
            bucket,
            me: setup.me.0,
            unit,
            step: bucket.grains(unit),
            margin: bucket.refilled(u64::try_from(interval).unwrap_or(u64::MAX)) * MARGIN_ROUNDS,
            nodes: 0,
            freq,
            eager: None,
            linf,
        };
        rules.among(setup.members.len())
    }

    /// The same among so many nodes, or as many as there were before.
    fn among(self, nodes: usize) -> Self {
        let nodes = self.nodes.max(nodes as u64);
        let share = self.bucket.burst() / nodes.max(1);
        let eager = |Frequency { window, threshold }| {
            let window = (window.unwrap_or(share) / self.unit).max(1);
            let within = u128::from(window - 1).max(1);
            let within = within.saturating_mul(threshold.as_nanos());
            (usize::try_from(window).unwrap_or(usize::MAX), within)
        };
        Self {
            nodes,
            eager: self.freq.map(eager),
            ..self
        }
    }

    /// When something in a line dies or is dropped next.
    fn wake(self, line: &KeyQueue, now: Instant) -> Option<Instant> {
        let dead = line.dead(self.bucket.mark(now));
        let dies = line.elements.get(dead).map(|element| element.death);
        let goes = line
            .elements
            .first()
            .map(|element| element.death.plus(self.margin));
        let next = dies.into_iter().chain(goes).min()?;
        Some(self.bucket.instant(next))
    }
}

impl Queue {
    fn new(setup: &PaperSetup, freq: Option<Frequency>, linf: bool) -> Self {
        Self {
            rules: Rules::new(setup, freq, linf),
            lines: BTreeMap::new(),
            wakes: BTreeSet::new(),
            rounds: Rounds::new(setup),
            outbox: RoundOutbox::new(KIND, setup.writer),
            parsed: Parsed::default(),
            counts: QueueCounts::default(),
            elements: 0,
            listed: 0,
            birth: 0,
        }
    }

    /// Changes a line, and all that is counted about it. An empty one is dropped.
    fn alter(
        &mut self,
        key: ModeKey,
        now: Instant,
        make: impl FnOnce(&mut KeyQueue, &mut QueueChange<'_>),
    ) {
        let Some(line) = self.lines.get_mut(&key) else {
            return;
        };
        let before = line.elements.len() as u64;
        let mut change = QueueChange {
            step: self.rules.step,
            now: self.rules.bucket.mark(now),
            all: self.rounds.all(),
            counts: &mut self.counts,
        };
        make(line, &mut change);
        self.elements = self.elements - before + line.elements.len() as u64;
        let audience = line.audience();
        for slot in audience.without(&line.waiting) {
            self.rounds.list(slot, key);
        }
        self.listed = self.listed - line.waiting.count() + audience.count();
        line.waiting = audience;
        let wake = self.rules.wake(line, now);
        if line.wake != wake {
            self.wakes.extend(wake.map(|wake| (wake, key)));
            let old = std::mem::replace(&mut line.wake, wake);
            old.map(|old| self.wakes.remove(&(old, key)));
        }
        if line.elements.is_empty() {
            self.lines.remove(&key);
        }
    }

    fn refill(&mut self, key: ModeKey, now: Instant) {
        let margin = self.rules.margin;
        self.alter(key, now, |line, change| line.refill(margin, change));
    }

    /// Refills every line in which something died.
    fn refill_due(&mut self, now: Instant) {
        while let Some(&(wake, key)) = self.wakes.first()
            && wake <= now
        {
            self.wakes.pop_first();
            self.refill(key, now);
        }
    }

    fn absorb(&mut self, key: ModeKey, heard: &[ElementReport], sender: usize, now: Instant) {
        if heard.is_empty() {
            return;
        }
        self.lines.entry(key).or_default();
        self.alter(key, now, |line, change| line.absorb(heard, sender, change));
    }

    /// Reads elements that the neighbour in a slot knows, and merges them if all of them make sense.
    fn take(&mut self, decoder: Decoder<'_>, sender: usize, now: Instant) -> Result<(), Malformed> {
        let reading = Reading {
            bucket: self.rules.bucket,
            step: self.rules.step,
            margin: self.rules.margin,
            now,
        };
        let mut parsed = std::mem::take(&mut self.parsed);
        let read = parsed.read(decoder, reading);
        if read.is_ok() {
            for (key, heard) in parsed.iter() {
                self.absorb(key, heard, sender, now);
            }
        }
        parsed.clear();
        self.parsed = parsed;
        read
    }

    /// Sends a neighbour all that waits for it.
    fn tell(&mut self, slot: usize) {
        let Some(to) = self.rounds.node(slot) else {
            return;
        };
        let mut batch = self.outbox.batch(to);
        for key in self.rounds.take(slot) {
            let Some(line) = self.lines.get_mut(&key) else {
                continue;
            };
            if line.waiting.remove(slot) {
                let elements = line.take_waiting(slot, &mut self.counts);
                wire::encode(batch.next(), self.rules.bucket, key, &elements);
                self.listed -= 1;
            }
        }
        batch.flush();
    }

    /// Sends every neighbour for which fast elements wait all of the key that waits for it.
    fn tell_fast(&mut self, key: ModeKey, now: Instant) {
        let Some((window, within)) = self.rules.eager else {
            return;
        };
        let Some(line) = self.lines.get_mut(&key) else {
            return;
        };
        let mut last: Option<(Vec<ElementReport>, Arc<[u8]>)> = None;
        for &slot in self.rounds.neighbours() {
            let newest = line.waiting_for(slot).rev().nth(window - 1);
            let apart = newest.map(|newest| now.as_nanos().saturating_sub(newest.id.birth_ns()));
            let is_fast = |apart| planted!("queue-frequency", apart < within, apart > within);
            if !apart.map(u128::from).is_some_and(is_fast) {
                continue;
            }
            let elements = line.take_waiting(slot, &mut self.counts);
            line.waiting.remove(slot);
            self.listed -= 1;
            let same = last.take().filter(|(told, _)| *told == elements);
            let (_, frame) = last.insert(same.unwrap_or_else(|| {
                let mut encoder = self.outbox.open();
                wire::encode(&mut encoder, self.rules.bucket, key, &elements);
                (elements, encoder.finish())
            }));
            if let Some(to) = self.rounds.node(slot) {
                self.outbox.send(to, Arc::clone(frame));
            }
        }
    }

    /// Elements to bear for that many tokens, after those paid for already.
    fn pay(&mut self, key: ModeKey, cost: u64) -> u64 {
        let line = self.lines.entry(key).or_default();
        let rest = cost.saturating_sub(line.paid);
        let elements = rest.div_ceil(self.rules.unit);
        let unused = (self.rules.unit - rest % self.rules.unit) % self.rules.unit;
        line.paid = line.paid.saturating_sub(cost) + unused;
        elements
    }
}

impl PaperDesign for Queue {
    fn level(&mut self, key: ModeKey, now: Instant) -> u128 {
        if let Some(line) = self.lines.get(&key)
            && line.wake.is_some_and(|wake| wake <= now)
        {
            self.refill(key, now);
        }
        let now = self.rules.bucket.mark(now);
        self.lines
            .get(&key)
            .map_or(0, |line| line.level(self.rules.step, now))
    }

    fn accept(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.rounds.hear(now);
        let elements = self.pay(key, cost);
        let first = self.birth.max(Id::unit_of(now.as_nanos()));
        let me = self.rules.me;
        let mut born = 0;
        self.alter(key, now, |line, change| {
            while born < elements && line.bear(Id::new(first + born, me), change) {
                born += 1;
            }
        });
        self.birth = first + born;
        self.tell_fast(key, now);
    }

    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        let sender = self.rounds.sender(from)?;
        let (header, decoder) = codec::open(frame)?;
        if header.kind != self.outbox.kind() {
            return Err(Malformed::Kind(header.kind));
        }
        self.take(decoder, sender, now)?;
        self.rounds.hear(now);
        Ok(())
    }

    fn handle_members(&mut self, alive: &[NodeId]) {
        self.rules = self.rules.among(alive.len());
        for slot in self.rounds.set_members(alive) {
            for line in self.lines.values_mut() {
                if line.waiting.remove(slot) {
                    line.settle(slot, &mut self.counts);
                    self.listed -= 1;
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if !self.rounds.is_due(now) {
            return;
        }
        self.refill_due(now);
        let counts = &self.counts.elements;
        let picked = if self.rules.linf {
            self.rounds
                .pick_heaviest(|slot| counts.get(slot).copied().unwrap_or(0))
        } else {
            self.rounds.pick()
        };
        if let Some(slot) = picked {
            self.tell(slot);
        }
        let lines = &self.lines;
        self.rounds.trim(lines.len(), |key, slot| {
            lines
                .get(&key)
                .is_some_and(|line| line.waiting.contains(slot))
        });
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.rounds.next()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.outbox.poll()
    }

    fn is_quiet(&self) -> bool {
        self.counts.total == 0 && self.outbox.is_empty()
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            local: self.lines.len() as u64 * KEY_BYTES + self.elements * ELEMENT_BYTES,
            extra: self.listed * KEY_BYTES + self.counts.total * ELEMENT_BYTES,
        }
    }

    fn keys_count(&self) -> usize {
        self.lines.len()
    }

    fn knows(&self, key: ModeKey) -> bool {
        self.lines.contains_key(&key)
    }

    fn keys(&self) -> Vec<ModeKey> {
        self.lines.keys().copied().collect()
    }
}
