//! Current rates and keys, read from all threads' counters.

#![allow(clippy::cast_precision_loss)] // Rates are for people.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_limit::Instant;

use super::event::JUDGEMENTS;
use super::history::{ByJudgement, ByLength};
use super::latency::{BUCKETS, percentile};
use super::shard::Closer;
use super::sketch::{FADE_NS, KeySketch, Sketch};
use super::{Door, Event, Meter, Percentiles, Rates, Top, TopKey};
use crate::engine::Engine;

/// Keys in each list.
const KEYS_MAX: usize = 20;

impl Meter {
    /// Rates, latencies, and the keys requested and refused most.
    pub fn top(&self, engine: &Engine) -> Top {
        let now = engine.now();
        let node = engine.node();
        let (keys, denied) = self.keys(now, KEYS_MAX);
        Top {
            at_ms: now.as_nanos() / 1_000_000,
            uptime_s: now.nanos_since(self.started) / 1_000_000_000,
            last_1s: self.rates(now, 1),
            last_10s: self.rates(now, 10),
            last_60s: self.rates(now, 60),
            latency: self.percentiles(now),
            cells: engine.cells_count() as u64,
            bytes: node.bytes(),
            bytes_max: node.bytes_max(),
            connections: Door::ALL.iter().map(|door| self.open(*door)).sum(),
            keys,
            denied,
        }
    }

    pub(super) fn open(&self, door: Door) -> u64 {
        let opened = self.events(Event::Opened(door));
        opened.saturating_sub(self.events(Event::Closed(door)))
    }

    /// Requests whose key no contract matches, over all protocols.
    pub fn unmatched(&self) -> u64 {
        let doors = Door::ALL.into_iter();
        doors.map(|door| self.events(Event::Unmatched(door))).sum()
    }

    pub fn events(&self, event: Event) -> u64 {
        self.sum(|counts| &counts.events[event.number()])
    }

    pub fn rates(&self, now: Instant, seconds: u64) -> Rates {
        let end = now.as_nanos() / 1_000_000_000;
        let span = end.saturating_sub(seconds)..end;
        let mut sum: ByJudgement = [0; JUDGEMENTS];
        for shard in self.shards() {
            let counts =
                shard.with_closer(|closer, counts| closer.history.decisions(&span, counts));
            sum.iter_mut()
                .zip(counts)
                .for_each(|(to, count)| *to += count);
        }
        let [allowed, delayed, denied, shadow_denied, failed] =
            sum.map(|count| count as f64 / seconds.max(1) as f64);
        Rates {
            all: allowed + delayed + denied + shadow_denied + failed,
            allowed,
            delayed,
            denied,
            shadow_denied,
            failed,
        }
    }

    fn percentiles(&self, now: Instant) -> Percentiles {
        let ten = (now.as_nanos() / 10_000_000_000).saturating_sub(6);
        let mut sum: ByLength = [0; BUCKETS];
        for shard in self.shards() {
            let counts =
                shard.with_closer(|closer, counts| closer.history.lengths_since(ten, counts));
            sum.iter_mut()
                .zip(counts)
                .for_each(|(to, count)| *to += count);
        }
        let micros = |per_mille| percentile(&sum, per_mille) as f64 / 1_000.0;
        Percentiles {
            p50_us: micros(500),
            p99_us: micros(990),
            p999_us: micros(999),
        }
    }

    /// The busiest keys and those refused most, at most `most` each.
    pub fn keys(&self, now: Instant, most: usize) -> (Vec<TopKey>, Vec<TopKey>) {
        // Until the first requests have faded, their total gives the rate.
        let up = now.nanos_since(self.started).max(1_000_000_000) as f64 / 1e9;
        let fade = FADE_NS as f64 / 1e9;
        let seconds = fade * (1.0 - (-up / fade).exp());
        let all = self.merged(now, all_of);
        let refused = self.merged(now, denied_of);
        let share = |hash: &u64, denied: f64| {
            let known = all.get(hash).map_or(denied, |merged| merged.tally.count);
            (denied / known.max(denied).max(f64::MIN_POSITIVE)).min(1.0)
        };
        let keys = largest(&all, most).map(|merged| {
            let denied = merged.tally.denied / merged.tally.count.max(f64::MIN_POSITIVE);
            let missed = self.missed(merged.tally.hash, now, all_of);
            self.key(merged, missed, seconds, denied)
        });
        let denied = largest(&refused, most).map(|merged| {
            let denied = share(&merged.tally.hash, merged.tally.count);
            let missed = self.missed(merged.tally.hash, now, denied_of);
            self.key(merged, missed, seconds, denied)
        });
        (keys.collect(), denied.collect())
    }

    /// The sum of all threads' sketches by key.
    fn merged(
        &self,
        now: Instant,
        sketch: fn(&mut Closer) -> &mut Sketch,
    ) -> BTreeMap<u64, Merged> {
        let mut keys: BTreeMap<u64, Merged> = BTreeMap::new();
        for shard in self.shards() {
            shard.with_closer(|closer, _| {
                let tallies: Vec<_> = sketch(closer).tallies(now).collect();
                for tally in tallies {
                    let sampling = closer.sampling_error(tally.count);
                    let merged = keys.entry(tally.hash).or_insert_with(|| Merged::new(tally));
                    merged.tally.count += tally.count;
                    merged.tally.denied += tally.denied;
                    merged.tally.error += tally.error;
                    merged.sampling += sampling;
                }
            });
        }
        keys
    }

    /// How often a key may have come on threads that do not know it.
    fn missed(&self, hash: u64, now: Instant, sketch: fn(&mut Closer) -> &mut Sketch) -> f64 {
        let each = self.shards();
        each.map(|shard| shard.with_closer(|closer, _| sketch(closer).missed(hash, now)))
            .sum()
    }

    fn key(&self, merged: &Merged, missed: f64, seconds: f64, denied: f64) -> TopKey {
        let text = merged.tally.text.as_bytes();
        let key = if text.is_empty() || !self.shows_keys.load(Relaxed) {
            super::hash_name(merged.tally.hash)
        } else {
            String::from_utf8_lossy(text).into_owned()
        };
        TopKey {
            key,
            rate: merged.tally.count / seconds,
            error: (merged.tally.error + merged.sampling + missed) / seconds,
            denied: denied.min(1.0),
        }
    }
}

fn all_of(closer: &mut Closer) -> &mut Sketch {
    &mut closer.all
}

fn denied_of(closer: &mut Closer) -> &mut Sketch {
    &mut closer.denied
}

/// One key over all threads.
struct Merged {
    tally: KeySketch,
    sampling: f64,
}

impl Merged {
    fn new(tally: KeySketch) -> Self {
        let nothing = KeySketch {
            count: 0.0,
            error: 0.0,
            denied: 0.0,
            ..tally
        };
        Self {
            tally: nothing,
            sampling: 0.0,
        }
    }
}

/// The busiest keys in order, without those that have faded.
fn largest(keys: &BTreeMap<u64, Merged>, most: usize) -> impl Iterator<Item = &Merged> {
    const FADED: f64 = 0.05;
    let mut sorted: Vec<&Merged> = keys
        .values()
        .filter(|key| key.tally.count > FADED)
        .collect();
    sorted.sort_by(|a, b| b.tally.count.total_cmp(&a.tally.count));
    sorted.into_iter().take(most)
}
