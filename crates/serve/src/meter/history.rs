//! One thread's counts at the start of each second, for rates over the last seconds.
//!
//! The first decision of a second records it; a second without decisions needs no record.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::event::{DOORS, JUDGEMENTS};
use super::latency::BUCKETS;
use super::shard::MeterCounters;

pub(super) type ByJudgement = [u64; JUDGEMENTS];
/// Answers by length, all protocols together.
pub(super) type ByLength = [u64; BUCKETS];

pub(super) struct History {
    /// Oldest first, each as of the start of its second.
    seconds: Ring<ByJudgement, SECONDS>,
    /// The same for every tenth second.
    tens: Ring<ByLength, TENS>,
}

impl History {
    /// Records the counts at the start of a second.
    pub(super) fn begin_second(&mut self, second: u64, counts: &MeterCounters) {
        self.seconds.push(second, judgements(counts));
        self.tens.push(second / 10, lengths(counts));
    }

    pub(super) fn decisions(&self, seconds: &Range<u64>, counts: &MeterCounters) -> ByJudgement {
        let now = judgements(counts);
        let at = |second| *self.seconds.since(second).unwrap_or(&now);
        let (from, to) = (at(seconds.start), at(seconds.end));
        std::array::from_fn(|i| to[i].saturating_sub(from[i]))
    }

    /// Answers since the start of this ten-second period.
    pub(super) fn lengths_since(&self, ten: u64, counts: &MeterCounters) -> ByLength {
        let now = lengths(counts);
        let from = *self.tens.since(ten).unwrap_or(&now);
        std::array::from_fn(|i| now[i].saturating_sub(from[i]))
    }
}

impl Default for History {
    fn default() -> Self {
        Self {
            seconds: Ring::new([0; JUDGEMENTS]),
            tens: Ring::new([0; BUCKETS]),
        }
    }
}

/// The last `N` values, each with the time from which it holds.
struct Ring<T, const N: usize> {
    values: Box<[(u64, T)]>,
    next: usize,
}

impl<T: Copy, const N: usize> Ring<T, N> {
    /// The first value holds from time zero.
    fn new(value: T) -> Self {
        Self {
            values: vec![(NEVER, value); N].into(),
            next: 0,
        }
    }

    /// Adds a value, unless there is one for this time.
    fn push(&mut self, time: u64, value: T) {
        let last = self.values[(self.next + N - 1) % N].0;
        if last == NEVER || last < time {
            self.values[self.next] = (time, value);
            self.next = (self.next + 1) % N;
        }
    }

    /// The first value at or after a time.
    fn since(&self, time: u64) -> Option<&T> {
        let later = self
            .values
            .iter()
            .filter(|(at, _)| *at != NEVER && *at >= time);
        later.min_by_key(|(at, _)| *at).map(|(_, value)| value)
    }
}

fn judgements(counts: &MeterCounters) -> ByJudgement {
    std::array::from_fn(|judgement| {
        let doors = counts.decisions.iter();
        doors.map(|door| door[judgement].load(Relaxed)).sum()
    })
}

fn lengths(counts: &MeterCounters) -> ByLength {
    std::array::from_fn(|bucket| {
        (0..DOORS)
            .map(|door| counts.latency[door][bucket].load(Relaxed))
            .sum()
    })
}

const NEVER: u64 = u64::MAX;
/// A minute, and slack for a reader in another second.
const SECONDS: usize = 64;
const TENS: usize = 8;
