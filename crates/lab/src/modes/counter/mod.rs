//! Counters per node, a limit and the instant of the last refill.
//!
//! The baseline of Henriksson and Bennhage, Trading performance for precision in a CRDT-based rate-limiting system
//! (2021), in two readings. Both end a request at its rejection, create a bucket with its instant, keep fractions of
//! tokens, and compare values before and after a merge; without these the design does not work at all.
//!
//! - `counter` is otherwise as printed. A refill is bounded by the capacity, the balance is not: every idle time adds
//!   up to a capacity. The greater limit wins whatever its instant. A restarted node counts from zero again, and its
//!   old count hides as many new requests.
//! - `counter+fixed` bounds the balance by the capacity, compares limits at a common instant, and counts per boot
//!   of a node. The bound depends on what a node knows, so a node that knows too little throws refill away, or keeps
//!   what others threw away; no merge repairs that.
//!
//! Nothing is forgotten. Entries of nodes that this one never heard of count like any other, for a neighbour may know
//! of a newcomer first; beyond [`tally::ENTRIES_MAX`] per key they do not.
//! [`wire`] has the encoding. Not here: rounds of gossip.

mod tally;
mod wire;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tollgate_gossip::{Decoder, Footprint, Malformed, ModeKey, NodeId, Send};
use tollgate_limit::Instant;

use self::tally::{CounterReport, CounterRules, CounterTally};
use self::wire::{FrameContext, Parsed};
use crate::modes::rounds::codec::{self, latest};
use crate::modes::rounds::{Bits, RoundOutbox, Rounds};
use crate::modes::{PaperDesign, PaperSetup};

const KIND_PRINTED: u8 = 1;
const KIND_FIXED: u8 = 2;

/// A node's part; `fixed` clamps the limit and compares limits at a common instant.
pub(crate) fn build(setup: &PaperSetup, fixed: bool) -> Box<dyn PaperDesign> {
    Box::new(Counter::new(setup, fixed))
}

#[derive(Debug)]
struct Counter {
    rules: CounterRules,
    /// Whose entry this node writes.
    who: u16,
    tallies: BTreeMap<ModeKey, CounterTally>,
    rounds: Rounds,
    outbox: RoundOutbox,
    parsed: Parsed,
    footprint: Footprint,
}

impl Counter {
    fn new(setup: &PaperSetup, fixed: bool) -> Self {
        let (kind, who) = if fixed {
            (KIND_FIXED, setup.writer.0)
        } else {
            (KIND_PRINTED, setup.me.0)
        };
        Self {
            rules: CounterRules {
                bucket: setup.bucket,
                fixed,
            },
            who,
            tallies: BTreeMap::new(),
            rounds: Rounds::new(setup),
            outbox: RoundOutbox::new(kind, setup.writer),
            parsed: Parsed::default(),
            footprint: Footprint::default(),
        }
    }

    /// Merges what was heard of one key. News waits for the neighbours in `to`.
    fn merge(&mut self, key: ModeKey, heard: CounterReport<'_>, to: &Bits) {
        if let Some(tally) = self.tallies.get_mut(&key) {
            less(&mut self.footprint, weigh(tally));
            if tally.merge(heard, self.rules) {
                raise(tally, key, to, &mut self.rounds);
            }
            more(&mut self.footprint, weigh(tally));
        } else {
            let mut tally = CounterTally::copy(heard);
            raise(&mut tally, key, to, &mut self.rounds);
            more(&mut self.footprint, weigh(&tally));
            self.tallies.insert(key, tally);
        }
    }

    /// Sends a neighbour all that waits for it.
    fn tell(&mut self, slot: usize) {
        let Some(to) = self.rounds.node(slot) else {
            return;
        };
        let mut batch = self.outbox.batch(to);
        for key in self.rounds.take(slot) {
            let Some(tally) = self.tallies.get_mut(&key) else {
                continue;
            };
            if tally.waiting.remove(slot) {
                self.footprint.extra -= tally.bytes();
                wire::encode(batch.next(), key, tally);
            }
        }
        batch.flush();
    }

    /// Reads counters, and merges them if all of them make sense. News waits for the neighbours in `to`.
    fn absorb(&mut self, decoder: Decoder<'_>, to: &Bits, now: Instant) -> Result<(), Malformed> {
        let mut parsed = std::mem::take(&mut self.parsed);
        let known = FrameContext {
            latest: latest(now),
            image: |key| {
                self.tallies
                    .get(&key)
                    .map_or(&[][..], |tally| tally.image.as_slice())
            },
        };
        let read = parsed.read(decoder, &known);
        if read.is_ok() {
            for (key, heard) in parsed.iter() {
                self.merge(key, heard, to);
            }
        }
        parsed.clear();
        self.parsed = parsed;
        read
    }
}

impl PaperDesign for Counter {
    fn level(&mut self, key: ModeKey, now: Instant) -> u128 {
        let rules = self.rules;
        self.tallies.get_mut(&key).map_or(0, |tally| {
            tally.refill(rules, now);
            tally.level(rules)
        })
    }

    fn accept(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.rounds.hear(now);
        let tally = match self.tallies.entry(key) {
            Entry::Vacant(place) => place.insert(CounterTally::new(self.rules, now)),
            Entry::Occupied(place) => {
                less(&mut self.footprint, weigh(place.get()));
                place.into_mut()
            }
        };
        tally.consume(self.who, cost);
        let to = self.rounds.all().clone();
        raise(tally, key, &to, &mut self.rounds);
        more(&mut self.footprint, weigh(tally));
    }

    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        let sender = self.rounds.sender(from)?;
        let (header, decoder) = codec::open(frame)?;
        if header.kind != self.outbox.kind() {
            return Err(Malformed::Kind(header.kind));
        }
        let mut to = self.rounds.all().clone();
        to.remove(sender);
        self.absorb(decoder, &to, now)?;
        self.rounds.hear(now);
        Ok(())
    }

    fn handle_members(&mut self, alive: &[NodeId]) {
        let left = self.rounds.set_members(alive);
        if left.is_empty() {
            return;
        }
        for tally in self.tallies.values_mut() {
            for &slot in &left {
                if tally.waiting.remove(slot) {
                    self.footprint.extra -= tally.bytes();
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if !self.rounds.is_due(now) {
            return;
        }
        if let Some(slot) = self.rounds.pick() {
            self.tell(slot);
        }
        let tallies = &self.tallies;
        self.rounds.trim(tallies.len(), |key, slot| {
            tallies
                .get(&key)
                .is_some_and(|tally| tally.waiting.contains(slot))
        });
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.rounds.next()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.outbox.poll()
    }

    fn is_quiet(&self) -> bool {
        self.footprint.extra == 0 && self.outbox.is_empty()
    }

    fn footprint(&self) -> Footprint {
        self.footprint
    }

    fn keys_count(&self) -> usize {
        self.tallies.len()
    }

    fn knows(&self, key: ModeKey) -> bool {
        self.tallies.contains_key(&key)
    }

    fn keys(&self) -> Vec<ModeKey> {
        self.tallies.keys().copied().collect()
    }
}

/// Makes a key wait for the neighbours in `to`.
fn raise(tally: &mut CounterTally, key: ModeKey, to: &Bits, rounds: &mut Rounds) {
    for slot in to.without(&tally.waiting) {
        rounds.list(slot, key);
    }
    tally.waiting.join(to);
}

/// Bytes of a key here and in the delta states it waits in.
fn weigh(tally: &CounterTally) -> Footprint {
    Footprint {
        local: tally.bytes(),
        extra: tally.bytes() * tally.waiting.count(),
    }
}

fn more(sum: &mut Footprint, part: Footprint) {
    sum.local += part.local;
    sum.extra += part.extra;
}

fn less(sum: &mut Footprint, part: Footprint) {
    sum.local -= part.local;
    sum.extra -= part.extra;
}
