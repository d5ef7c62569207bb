//! A bucket as the set of its busy intervals: between them it is full.
//!
//! Work that comes at an instant fills the first idle time from there on. So the set does not depend on the order in
//! which work is pushed, and equals that of the bucket that saw all of it in order of time. Leaving work out, moving it
//! to an earlier instant, and dropping what has drained never raise the last end: who knows a part, late, refuses
//! nothing that the true bucket would admit. Not here: whose work it is.

use tollgate_limit::Instant;
use tollgate_mode::planted;

use crate::bucket::{Bucket, Mark};

use super::law::Seg;

/// A time in which the bucket was not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: Instant,
    pub(super) end: Mark,
    /// Some of its work is known here as earlier than elsewhere: its end is not beyond the true one, but the others may
    /// have seen the bucket full somewhere inside it, so nothing is carried over it.
    pub(super) is_loose: bool,
}

/// Intervals in ascending order, with time between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Intervals {
    list: Vec<Interval>,
}

/// Intervals of a key at most; beyond that the earliest goes.
const INTERVALS_MAX: usize = 256;

impl Intervals {
    /// One interval.
    pub(super) fn of(interval: Interval) -> Self {
        Self {
            list: vec![interval],
        }
    }

    /// Fills the first idle time from the instant of the tokens on.
    pub(super) fn push(&mut self, bucket: Bucket, seg: Seg) {
        let Seg { at, n, is_loose } = seg;
        if n == 0 {
            return;
        }
        let (mark, work) = (bucket.mark(at), bucket.grains(n));
        let place = self.list.partition_point(|it| it.end < mark);
        match self.list.get_mut(place).filter(|it| it.start <= at) {
            Some(it) => {
                it.end = it.end.plus(work);
                it.is_loose |= is_loose;
            }
            None => self.insert(
                place,
                Interval {
                    start: at,
                    end: mark.plus(work),
                    is_loose,
                },
            ),
        }
        while let Some(next) = self.list.get(place + 1).copied() {
            let it = &mut self.list[place];
            let start = bucket.mark(next.start);
            if it.end < start {
                break;
            }
            let carried = next.end.plus(it.end.since(start));
            it.end = planted!("links-no-carry-over", carried, next.end.max(it.end));
            it.is_loose |= next.is_loose;
            self.list.remove(place + 1);
        }
        if self.list.len() > INTERVALS_MAX {
            self.list.remove(0);
        }
    }

    /// Takes the greater of the last end and that of an interval which is known from elsewhere.
    pub(super) fn raise(&mut self, bucket: Bucket, known: Interval) {
        let last = self.last().map_or(Mark(0), |last| last.end);
        if known.end <= last {
            return;
        }
        let Interval {
            mut start,
            end,
            mut is_loose,
        } = known;
        while let Some(last) = self.last()
            && last.end >= bucket.mark(start)
        {
            start = start.min(last.start);
            is_loose |= last.is_loose;
            self.list.pop();
        }
        let all = Interval {
            start,
            end,
            is_loose,
        };
        self.insert(self.list.len(), all);
    }

    /// The last interval.
    pub(super) fn last(&self) -> Option<Interval> {
        self.list.last().copied()
    }

    /// Has the last interval end somewhere else, though not before it starts.
    pub(super) fn end_at(&mut self, bucket: Bucket, end: Mark) {
        if let Some(last) = self.list.last_mut() {
            last.end = end.max(bucket.mark(last.start));
        }
    }

    /// The interval that holds an instant.
    pub(super) fn around(&self, bucket: Bucket, at: Instant) -> Option<Interval> {
        let mark = bucket.mark(at);
        let place = self.list.partition_point(|it| it.end <= mark);
        self.list.get(place).copied().filter(|it| it.start <= at)
    }

    /// Drops what ended by `end`; whether there was anything.
    pub(super) fn drop_until(&mut self, end: Mark) -> bool {
        let gone = self.list.partition_point(|it| it.end <= end);
        self.list.drain(..gone);
        gone > 0
    }

    /// Changes every interval, and not their order.
    pub(super) fn each(&mut self, change: impl FnMut(&mut Interval)) {
        self.list.iter_mut().for_each(change);
    }

    pub(super) const fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// Bytes of memory behind it.
    pub(super) const fn heap_bytes(&self) -> u64 {
        (self.list.capacity() * size_of::<Interval>()) as u64
    }

    fn insert(&mut self, place: usize, interval: Interval) {
        if self.list.is_empty() {
            self.list.reserve_exact(1);
        }
        self.list.insert(place, interval);
    }
}
