//! Counters of decisions, refusals, connections, bytes; and the busiest keys.
//!
//! Counting must cost a decision next to nothing: no lock, and no cache line that two threads write. Every thread has
//! its own counters, and readers sum them.

mod cluster;
mod count;
mod durable;
mod event;
mod history;
mod labels;
pub(crate) mod latency;
mod modes;
pub(crate) mod process;
mod render;
mod rules;
mod shard;
mod sketch;
pub(crate) mod slot;
mod statistics;
mod text;
mod top;
mod view;

use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tollgate_contract::Contracts;
use tollgate_limit::Instant;
use tollgate_node::Key;
use tollgate_stats::key_name;
use tollgate_table::Seed;

use crate::traces::{Parent, TraceSpan, Tracer};
use labels::Labels;
use shard::{MeterCounters, MeteredKey, Shard};
use slot::{COMMON, SLOTS};

pub(crate) use cluster::cluster;
pub use count::Count;
pub use durable::DurableMeter;
pub use event::{Decided, Door, Event, Judgement};
pub(crate) use modes::modes;
pub use rules::Hits;
pub(crate) use statistics::statistics;
pub use text::Exposition;
pub use top::{Percentiles, Rates, Top, TopKey};

pub struct Meter {
    shards: Box<[OnceLock<Box<Shard>>]>,
    labels: Labels,
    /// Seed of the hash of keys, so that collisions cannot be provoked.
    seed: Seed,
    shows_keys: AtomicBool,
    durable: DurableMeter,
    started: Instant,
    tracer: OnceLock<Arc<Tracer>>,
}

impl Meter {
    #[allow(clippy::new_without_default)] // A meter draws randomness, which a default should not.
    pub fn new() -> Self {
        let shards = std::iter::repeat_with(OnceLock::new).take(SLOTS);
        Self {
            shards: shards.collect(),
            labels: Labels::new(),
            seed: Seed::new([random(), random()]),
            shows_keys: AtomicBool::new(true),
            durable: DurableMeter::default(),
            started: process::wall(),
            tracer: OnceLock::new(),
        }
    }

    /// Call after contracts were loaded. Decisions are counted by their ids, for the first sixty-four of them.
    pub fn load(&self, contracts: &Contracts) {
        self.labels.load(contracts);
    }

    /// Whether the texts of busy keys are kept and shown; on by default.
    pub fn show_keys(&self, show: bool) {
        self.shows_keys.store(show, Relaxed);
    }

    /// Counts a decision, by contracts or by a policy in the request.
    #[inline]
    pub fn decided(&self, decided: &Decided<'_>) {
        let shard = self.shard();
        // First, so that a second that begins with this decision includes it.
        if shard.is_due(decided.now) {
            self.look(shard, decided);
        }
        let judgement = decided.judgement as usize;
        let counts = &shard.counts;
        shard.add(&counts.decisions[decided.door as usize][judgement], 1);
        let column = self.labels.column(decided.contract);
        if let Some(contract) = counts.contracts.get(column) {
            shard.add(&contract[judgement], 1);
        }
    }

    /// Counts decided hits of an imported rule.
    #[inline]
    pub(crate) fn ruled(&self, contract: usize, hits: &Hits) {
        let shard = self.shard();
        let column = self.labels.column(Some(contract));
        if let Some(counts) = shard.counts.rules.get(column) {
            for (counter, hits) in counts.iter().zip(hits.each()) {
                shard.add(counter, hits);
            }
        }
    }

    /// Counts requests that arrived together and were answered in this time.
    #[inline]
    pub fn served(&self, door: Door, requests: u64, took: Duration) {
        let shard = self.shard();
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let place = door as usize;
        shard.add(
            &shard.counts.latency[place][latency::bucket(nanos)],
            requests,
        );
        shard.add(
            &shard.counts.latency_sum[place],
            nanos.saturating_mul(requests),
        );
    }

    #[inline]
    pub fn count(&self, event: Event) {
        let shard = self.shard();
        shard.add(&shard.counts.events[event.number()], 1);
    }

    pub const fn durable(&self) -> &DurableMeter {
        &self.durable
    }

    /// Sets the tracer. The first one stays.
    pub fn trace(&self, tracer: Arc<Tracer>) {
        // A second one would have no reader.
        let _ = self.tracer.set(tracer);
    }

    /// Whether spans are made at all.
    #[inline]
    pub fn is_tracing(&self) -> bool {
        self.tracer.get().is_some()
    }

    /// Starts the span of a request off the hot path; `None` without tracing. `parent` returns the header field
    /// `traceparent` and is called only if needed.
    #[inline]
    pub fn span<'p>(
        &self,
        name: impl FnOnce() -> String,
        parent: impl FnOnce() -> Option<&'p [u8]>,
    ) -> Option<TraceSpan<'_>> {
        let tracer = self.tracer.get()?;
        Some(tracer.span(name(), parent().and_then(Parent::parse)))
    }

    #[cold]
    fn look(&self, shard: &Shard, decided: &Decided<'_>) {
        let looked = shard.look(&MeteredKey {
            decided,
            hash: self.hash(decided.key),
            with_text: self.shows_keys.load(Relaxed),
        });
        if let Some(tracer) = self.tracer.get()
            && shard.is_traced(looked, tracer.one_in())
        {
            let mut span = tracer.span("decide", None);
            span.text("tollgate.door", decided.door.name());
            span.text("tollgate.verdict", decided.judgement.name());
            span.text("tollgate.contract", self.labels.name(decided.contract));
        }
    }

    /// The key's text if keys are shown, otherwise its hash.
    pub(crate) fn name_of(&self, key: Key<'_>) -> String {
        if !self.shows_keys.load(Relaxed) {
            return hash_name(self.hash(key));
        }
        let mut name = String::new();
        key_name(key, &mut name);
        name
    }

    pub(crate) fn hash(&self, key: Key<'_>) -> u64 {
        match key {
            Key::Word(word) => self.seed.word(word).0,
            Key::Text(text) => self.seed.bytes(text).0,
            Key::Entries(entries) => {
                let mut hasher = self.seed.hasher();
                for (name, value) in entries {
                    hasher.bytes(name.as_bytes());
                    hasher.bytes(value.as_bytes());
                }
                hasher.finish().0
            }
        }
    }

    #[inline]
    fn shard(&self) -> &Shard {
        let slot = slot::mine();
        let shard = &self.shards[slot];
        shard.get_or_init(|| Box::new(Shard::new(slot == COMMON, random())))
    }

    /// One counter, summed over all threads.
    fn sum(&self, counter: impl Fn(&MeterCounters) -> &AtomicU64) -> u64 {
        let each = self
            .shards()
            .map(|shard| counter(&shard.counts).load(Relaxed));
        each.fold(0, u64::wrapping_add)
    }

    /// The counters of all threads.
    fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards
            .iter()
            .filter_map(|shard| shard.get().map(Box::as_ref))
    }
}

fn hash_name(hash: u64) -> String {
    format!("#{:012x}", hash >> 16)
}

/// Not fit for secrets.
fn random() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}
