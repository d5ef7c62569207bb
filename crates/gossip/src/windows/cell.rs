//! What a node keeps about one key: its own counts per slice, and the sums of everybody's.
//!
//! Not here: which slices still count.

use tollgate_limit::Instant;

use crate::list::Segment;
use crate::talk::{COUNT_MAX, Known};

/// What a node keeps about a key. Besides the sums, which follow from the rest, that is in bytes: key 16, version said
/// last 5, tokens restored 8, and 24 per own slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// Ascending, one per slice.
    pub(super) own: Vec<Own>,
    /// Tokens of former boots that nobody else knows of.
    pub(super) restored: u64,
    /// Ascending, one per slice that anybody counted in.
    sums: Vec<Sum>,
}

/// Tokens admitted here in one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) start: Instant,
    pub(super) count: u64,
    pub(super) sent: u64,
}

/// Tokens that anybody admitted in one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) start: Instant,
    /// As known here.
    pub(super) all: u64,
    /// As published.
    pub(super) public: u64,
}

impl Cell {
    pub(super) fn bytes(&self) -> u64 {
        29 + 24 * self.own.len() as u64
    }

    /// Sums of the slices that begin from `first` to `last`.
    pub(super) fn sums(&self, first: Instant, last: Instant) -> &[Sum] {
        let from = self.sums.partition_point(|sum| sum.start < first);
        let to = self.sums.partition_point(|sum| sum.start <= last);
        self.sums.get(from..to).unwrap_or_default()
    }

    /// Counts tokens admitted here.
    pub(super) fn count(&mut self, start: Instant, cost: u64) {
        match self.own.last_mut() {
            Some(last) if last.start == start => {
                last.count = last.count.saturating_add(cost).min(COUNT_MAX);
            }
            _ => self.own.push(Own {
                start,
                count: cost.min(COUNT_MAX),
                sent: 0,
            }),
        }
        let sum = self.sum(start);
        sum.all = sum.all.saturating_add(cost);
    }

    /// Takes over that a list was replaced.
    pub(super) fn replace(&mut self, old: &[Segment], new: &[Segment]) {
        for segment in new {
            let sum = self.sum(segment.start);
            sum.all = sum.all.saturating_add(segment.count);
            sum.public = sum.public.saturating_add(segment.count);
        }
        for segment in old {
            let sum = self.sum(segment.start);
            sum.all = sum.all.saturating_sub(segment.count);
            sum.public = sum.public.saturating_sub(segment.count);
        }
    }

    /// Takes everything as published.
    pub(super) fn publish(&mut self) {
        for own in &mut self.own {
            own.sent = own.count;
        }
        for sum in &mut self.sums {
            sum.public = sum.all;
        }
        self.restored = 0;
    }

    /// Computes the sums anew.
    pub(super) fn recompute(&mut self, known: &Known) {
        self.sums.clear();
        for own in self.own.clone() {
            let sum = self.sum(own.start);
            sum.all = sum.all.saturating_add(own.count);
            sum.public = sum.public.saturating_add(own.sent);
        }
        for segment in known.all() {
            let sum = self.sum(segment.start);
            sum.all = sum.all.saturating_add(segment.count);
        }
        for segment in known.published() {
            let sum = self.sum(segment.start);
            sum.public = sum.public.saturating_add(segment.count);
        }
    }

    /// Drops slices that begin before `first`.
    pub(super) fn drop_before(&mut self, first: Instant) {
        self.own.retain(|own| own.start >= first);
        self.sums.retain(|sum| sum.start >= first && sum.all > 0);
    }

    fn sum(&mut self, start: Instant) -> &mut Sum {
        let at = self.sums.partition_point(|sum| sum.start < start);
        if self.sums.get(at).is_none_or(|sum| sum.start != start) {
            let sum = Sum {
                start,
                all: 0,
                public: 0,
            };
            self.sums.insert(at, sum);
        }
        &mut self.sums[at]
    }
}
