//! One thread's counters. Only it writes; readers sum over all threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_kit::Dice;
use tollgate_limit::Instant;

use super::event::{DOORS, Decided, EVENTS, JUDGEMENTS};
use super::history::History;
use super::labels::COLUMNS;
use super::latency::BUCKETS;
use super::rules::STATS;
use super::sketch::{Sketch, SketchSample, SketchText};

pub(super) struct Shard {
    /// Whether several threads write here.
    is_common: bool,
    /// Decisions until the next one is sampled.
    skip: AtomicU64,
    /// Decisions since one was traced.
    untraced: AtomicU64,
    /// When a new second must be recorded.
    second_ends: AtomicU64,
    pub(super) counts: MeterCounters,
    closer: Mutex<Closer>,
}

pub(super) struct MeterCounters {
    pub(super) decisions: [[AtomicU64; JUDGEMENTS]; DOORS],
    pub(super) contracts: [[AtomicU64; JUDGEMENTS]; COLUMNS],
    pub(super) rules: [[AtomicU64; STATS]; COLUMNS],
    pub(super) events: [AtomicU64; EVENTS],
    pub(super) latency: [[AtomicU64; BUCKETS]; DOORS],
    /// Nanoseconds of all answers together.
    pub(super) latency_sum: [AtomicU64; DOORS],
}

/// Sampled data: busy keys, and counts at the start of each second.
pub(super) struct Closer {
    pub(super) all: Sketch,
    pub(super) denied: Sketch,
    pub(super) history: History,
    /// One of this many decisions is sampled.
    step: u64,
    /// Decisions sampled in this second.
    looked: u64,
    /// Source of the next skip.
    dice: Dice,
}

/// A sampled key.
pub(super) struct MeteredKey<'a> {
    pub(super) decided: &'a Decided<'a>,
    pub(super) hash: u64,
    /// Whether texts are kept.
    pub(super) with_text: bool,
}

impl Shard {
    pub(super) fn new(is_common: bool, dice: u64) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            is_common,
            skip: zero(),
            untraced: zero(),
            second_ends: zero(),
            counts: MeterCounters {
                decisions: std::array::from_fn(|_| std::array::from_fn(|_| zero())),
                contracts: std::array::from_fn(|_| std::array::from_fn(|_| zero())),
                rules: std::array::from_fn(|_| std::array::from_fn(|_| zero())),
                events: std::array::from_fn(|_| zero()),
                latency: std::array::from_fn(|_| std::array::from_fn(|_| zero())),
                latency_sum: std::array::from_fn(|_| zero()),
            },
            closer: Mutex::new(Closer {
                all: Sketch::new(Instant::default()),
                denied: Sketch::new(Instant::default()),
                history: History::default(),
                step: 1,
                looked: 0,
                dice: Dice::new(dice),
            }),
        }
    }

    /// Adds to a counter of this shard.
    #[inline]
    pub(super) fn add(&self, counter: &AtomicU64, number: u64) {
        if self.is_common {
            counter.fetch_add(number, Relaxed);
        } else {
            // The only writer, so nothing is lost between load and store.
            counter.store(counter.load(Relaxed).wrapping_add(number), Relaxed);
        }
    }

    /// Whether this decision is to be sampled, or its second to be recorded.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let skip = self.skip.load(Relaxed);
        if skip == 0 || now.as_nanos() >= self.second_ends.load(Relaxed) {
            return true;
        }
        self.skip.store(skip - 1, Relaxed);
        false
    }

    /// Samples a decision; returns for how many it stands. Does not wait for a reader: another decision will do.
    #[cold]
    pub(super) fn look(&self, look: &MeteredKey<'_>) -> u64 {
        let Some(mut closer) = self.closer.try_lock() else {
            return 0;
        };
        let now = look.decided.now;
        if now.as_nanos() >= self.second_ends.load(Relaxed) {
            let second = now.as_nanos() / SECOND_NS;
            closer.begin_second(second, &self.counts);
            self.second_ends
                .store((second + 1).saturating_mul(SECOND_NS), Relaxed);
        }
        if self.skip.load(Relaxed) != 0 {
            return 0;
        }
        closer.add(look);
        self.skip.store(closer.next_skip(), Relaxed);
        closer.step
    }

    /// Whether one of these decisions is to be traced, at a rate of one in `one_in`.
    pub(super) fn is_traced(&self, decisions: u64, one_in: u32) -> bool {
        let untraced = self.untraced.load(Relaxed) + decisions;
        let is_due = one_in > 0 && untraced >= u64::from(one_in);
        self.untraced
            .store(if is_due { 0 } else { untraced }, Relaxed);
        is_due
    }

    /// Gives access to the sampled data.
    pub(super) fn with_closer<T>(&self, read: impl FnOnce(&mut Closer, &MeterCounters) -> T) -> T {
        read(&mut self.closer.lock(), &self.counts)
    }
}

impl Closer {
    /// The sampling error alone, for a key that came `count` times: two standard deviations.
    #[allow(clippy::cast_precision_loss)] // A small number.
    pub(super) fn sampling_error(&self, count: f64) -> f64 {
        if self.step == 1 {
            0.0
        } else {
            2.0 * (count * self.step as f64).sqrt()
        }
    }

    fn begin_second(&mut self, second: u64, counts: &MeterCounters) {
        self.history.begin_second(second, counts);
        if self.looked < EVERY_ONE_MAX / STEP {
            self.step = 1;
        }
        self.looked = 0;
    }

    #[allow(clippy::cast_precision_loss)] // A small number.
    fn add(&mut self, look: &MeteredKey<'_>) {
        let Decided {
            key,
            judgement,
            now,
            ..
        } = *look.decided;
        let text = || {
            if look.with_text {
                text_of(key)
            } else {
                SketchText::NONE
            }
        };
        let (times, is_denied) = (self.step as f64, judgement.is_denied());
        let seen = SketchSample {
            times,
            is_denied,
            now,
        };
        self.all.add(look.hash, seen, text);
        if is_denied {
            self.denied.add(look.hash, seen, text);
        }
        self.looked += 1;
        if self.looked > EVERY_ONE_MAX {
            self.step = STEP;
        }
    }

    /// Decisions to skip: drawn evenly, so that no pattern of keys hides between the samples.
    fn next_skip(&mut self) -> u64 {
        self.dice.below(2 * self.step - 1)
    }
}

fn text_of(key: tollgate_node::Key<'_>) -> SketchText {
    use tollgate_node::Key;
    match key {
        Key::Text(text) => SketchText::of(std::iter::once(text)),
        Key::Word(word) => SketchText::of(std::iter::once(word.to_string().as_bytes())),
        Key::Entries(entries) => {
            let parts = entries
                .iter()
                .enumerate()
                .flat_map(|(place, (name, value))| {
                    let comma: &[u8] = if place == 0 { b"" } else { b"," };
                    [comma, name.as_bytes(), b"=", value.as_bytes()]
                });
            SketchText::of(parts)
        }
    }
}

const SECOND_NS: u64 = 1_000_000_000;
/// Up to this many decisions a second are all sampled.
const EVERY_ONE_MAX: u64 = 2_000;
/// Beyond, one of this many is.
pub(super) const STEP: u64 = 16;
