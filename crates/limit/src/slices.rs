//! Sliding counters: the period cut into slices, one counter each.
//!
//! The sum covers the current slice and the `k - 1` before it. Counters live in a sorted list while few slices are
//! in use and in a ring of `k` counters, as narrow as the counts allow, once that is smaller.

use crate::state::Probe;
use crate::time::{Instant, Span};

/// Compiled sliding counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SliceRule {
    pub(crate) limit: u64,
    /// Slices in a period.
    pub(crate) slices: u64,
    /// Nanoseconds in a slice.
    pub(crate) width_ns: u64,
}

/// The counters of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    /// The newest slice written.
    newest: u64,
    sum: u128,
    counters: Counters,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Counters {
    /// (slice, count), oldest first, no zero counts.
    Sparse(Vec<(u64, u64)>),
    /// A ring indexed by slice modulo `k`: little-endian counters of `width` bytes.
    Dense { bytes: Box<[u8]>, width: usize },
}

impl Slices {
    /// No counts at all.
    pub(crate) const fn empty() -> Self {
        Self {
            newest: 0,
            sum: 0,
            counters: Counters::Sparse(Vec::new()),
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.counters {
            Counters::Sparse(list) => list.capacity() * size_of::<(u64, u64)>(),
            Counters::Dense { bytes, .. } => bytes.len(),
        }
    }

    /// The sum of all counters.
    pub(crate) const fn sum(&self) -> u128 {
        self.sum
    }

    /// These counts, each in one of the slices that end with the newest.
    pub(crate) fn of(newest: u64, entries: &[(u64, u64)], rule: &SliceRule) -> Self {
        let mut slices = Self {
            newest,
            ..Self::empty()
        };
        for &(slice, count) in entries {
            slices.set(slice, count, rule);
        }
        slices
    }

    /// The newest slice written.
    pub(crate) const fn newest(&self) -> u64 {
        self.newest
    }

    /// (slice, count) of every counter in use, oldest first; `k` is the policy's number of slices.
    pub(crate) fn in_use(&self, k: u64) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        let (list, ring) = match &self.counters {
            Counters::Sparse(list) => (list.as_slice(), 0),
            Counters::Dense { .. } => (&[][..], k),
        };
        let oldest = self.newest.saturating_sub(k.saturating_sub(1));
        let dense = (oldest
            ..oldest
                .saturating_add(ring)
                .min(self.newest.saturating_add(1)))
            .map(move |slice| (slice, self.dense_count(slice, k)))
            .filter(|entry| entry.1 > 0);
        list.iter().copied().chain(dense)
    }

    fn dense_count(&self, slice: u64, k: u64) -> u64 {
        match &self.counters {
            Counters::Sparse(_) => 0,
            Counters::Dense { bytes, width } => {
                let start = ring_index(slice, k) * width;
                let mut word = [0; 8];
                for (to, from) in word.iter_mut().zip(bytes.iter().skip(start).take(*width)) {
                    *to = *from;
                }
                u64::from_le_bytes(word)
            }
        }
    }

    fn count(&self, slice: u64, k: u64) -> u64 {
        match &self.counters {
            Counters::Sparse(list) => list
                .binary_search_by_key(&slice, |entry| entry.0)
                .map_or(0, |i| list[i].1),
            Counters::Dense { .. } => self.dense_count(slice, k),
        }
    }

    /// Writes one counter; the slice must lie within the `k` that end with the newest.
    fn set(&mut self, slice: u64, count: u64, rule: &SliceRule) {
        self.sum = self.sum - u128::from(self.count(slice, rule.slices)) + u128::from(count);
        if let Counters::Sparse(list) = &mut self.counters {
            match list.binary_search_by_key(&slice, |entry| entry.0) {
                Ok(i) if count == 0 => {
                    list.remove(i);
                }
                Ok(i) => list[i].1 = count,
                Err(_) if count == 0 => {}
                Err(i) => list.insert(i, (slice, count)),
            }
            if list.len() * size_of::<(u64, u64)>() <= rule.dense_bytes() {
                return;
            }
            self.densify(rule.dense_width(), rule);
        } else {
            self.set_dense(slice, count, rule);
        }
    }

    fn set_dense(&mut self, slice: u64, count: u64, rule: &SliceRule) {
        let needed = bytes_of(count);
        if let Counters::Dense { bytes, width } = &mut self.counters
            && needed <= *width
        {
            let start = ring_index(slice, rule.slices) * *width;
            let word = count.to_le_bytes();
            for (to, from) in bytes.iter_mut().skip(start).take(*width).zip(word) {
                *to = from;
            }
            return;
        }
        self.densify(needed, rule);
        self.set_dense(slice, count, rule);
    }

    /// Moves every counter into a ring of counters at least `width` bytes wide.
    fn densify(&mut self, width: usize, rule: &SliceRule) {
        let list: Vec<_> = self.in_use(rule.slices).collect();
        let width = list
            .iter()
            .map(|entry| bytes_of(entry.1))
            .fold(width, usize::max);
        let ring = usize::try_from(rule.slices).unwrap_or(0);
        let bytes = vec![0; ring * width].into_boxed_slice();
        self.counters = Counters::Dense { bytes, width };
        for (slice, count) in list {
            self.set_dense(slice, count, rule);
        }
    }
}

impl SliceRule {
    /// Would `tokens` pass at `now`?
    pub(crate) fn probe(&self, slices: &Slices, tokens: u64, now: Instant) -> Probe {
        let used = slices.sum - self.expired(slices, self.slice(now));
        Probe::of_window(self.limit, used, tokens, || {
            self.retry_after(slices, tokens, now)
        })
    }

    /// The shortest wait, for `tokens` within the limit that do not fit at `now`.
    fn retry_after(&self, slices: &Slices, tokens: u64, now: Instant) -> Span {
        let allowed = u128::from(self.limit - tokens);
        let mut used = slices.sum;
        for (slice, count) in slices.in_use(self.slices) {
            used -= u128::from(count);
            if used <= allowed {
                return Span::between(now, self.leaves_at(slice));
            }
        }
        Span::ZERO
    }

    /// Forgets the slices that no longer count at `now`.
    pub(crate) fn expire(&self, slices: &mut Slices, now: Instant) {
        let current = self.slice(now);
        if current <= slices.newest {
            return;
        }
        if let Counters::Sparse(list) = &mut slices.counters {
            // Where the sum saturates it is after every slice that has an instant, as it should be.
            list.retain(|entry| entry.0.saturating_add(self.slices) > current);
            slices.sum = list.iter().map(|entry| u128::from(entry.1)).sum();
        } else if current - slices.newest >= self.slices {
            *slices = Slices::empty();
        } else {
            for slice in slices.newest + 1..=current {
                // The ring cell of a coming slice holds the one that leaves as it comes.
                slices.set_dense_leaving(slice, self);
            }
        }
        slices.newest = current;
    }

    /// Adds to the slice of `time`, which must still count.
    pub(crate) fn add(&self, slices: &mut Slices, time: Instant, tokens: u64) {
        let slice = self.slice(time);
        let count = slices.count(slice, self.slices).saturating_add(tokens);
        slices.set(slice, count, self);
    }

    /// Takes up to `tokens` from the slice of `time`, where it still counts.
    pub(crate) fn remove_at(&self, slices: &mut Slices, time: Instant, tokens: u64) {
        let slice = self.slice(time);
        let count = slices.count(slice, self.slices).saturating_sub(tokens);
        slices.set(slice, count, self);
    }

    /// Takes up to `tokens` from the newest slices.
    pub(crate) fn remove_newest(&self, slices: &mut Slices, mut tokens: u64) {
        let newest_first: Vec<_> = slices.in_use(self.slices).rev().collect();
        for (slice, count) in newest_first {
            let taken = count.min(tokens);
            tokens -= taken;
            slices.set(slice, count - taken, self);
            if tokens == 0 {
                return;
            }
        }
    }

    /// Whether the slice of `then` counts at `now`.
    pub(crate) fn counts(&self, then: Instant, now: Instant) -> bool {
        self.slice(now) - self.slice(then).min(self.slice(now)) < self.slices
    }

    /// The nanosecond from which nothing counts, when brought to `at`.
    pub(crate) fn fresh_at_ns(&self, slices: &Slices, at: Instant) -> u128 {
        let at = u128::from(at.as_nanos());
        let newest = slices.in_use(self.slices).next_back();
        newest.map_or(at, |(slice, _)| self.leaves_at(slice).max(at))
    }

    /// Every count with the last instant of its slice, for carrying over to other slices.
    pub(crate) fn entries<'a>(
        &'a self,
        slices: &'a Slices,
    ) -> impl DoubleEndedIterator<Item = (Instant, u64)> + 'a {
        slices.in_use(self.slices).map(|(slice, count)| {
            let end = slice.saturating_add(1).saturating_mul(self.width_ns);
            (Instant::from_nanos(end.saturating_sub(1)), count)
        })
    }

    /// The slice that holds an instant.
    pub(crate) fn slice(&self, now: Instant) -> u64 {
        now.as_nanos() / self.width_ns
    }

    fn leaves_at(&self, slice: u64) -> u128 {
        (u128::from(slice) + u128::from(self.slices)) * u128::from(self.width_ns)
    }

    fn expired(&self, slices: &Slices, current: u64) -> u128 {
        if current <= slices.newest {
            return 0;
        }
        slices
            .in_use(self.slices)
            .take_while(|entry| entry.0.saturating_add(self.slices) <= current)
            .map(|entry| u128::from(entry.1))
            .sum()
    }

    /// Bytes of a counter that holds the limit.
    fn dense_width(&self) -> usize {
        bytes_of(self.limit)
    }

    fn dense_bytes(&self) -> usize {
        usize::try_from(self.slices)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.dense_width())
    }
}

impl Slices {
    /// Clears the ring cell that `slice` will use.
    fn set_dense_leaving(&mut self, slice: u64, rule: &SliceRule) {
        self.sum -= u128::from(self.dense_count(slice, rule.slices));
        self.set_dense(slice, 0, rule);
    }
}

/// 1, 2, 4 or 8: the narrowest counter that holds `count`.
fn bytes_of(count: u64) -> usize {
    match count {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

fn ring_index(slice: u64, k: u64) -> usize {
    usize::try_from(slice % k.max(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Fit;

    fn rule(limit: u64, slices: u64) -> SliceRule {
        SliceRule {
            limit,
            slices,
            width_ns: 10,
        }
    }

    fn filled(rule: &SliceRule) -> Slices {
        let mut slices = Slices::empty();
        for slice in 100..100 + rule.slices {
            let now = Instant::from_nanos(slice * 10);
            rule.expire(&mut slices, now);
            rule.add(&mut slices, now, 1);
        }
        slices
    }

    #[test]
    fn a_full_key_needs_one_narrow_counter_per_slice() {
        let rule = rule(200, 64);
        assert_eq!(filled(&rule).heap_bytes(), 64);
    }

    #[test]
    fn a_count_beyond_the_limit_widens_the_ring_and_loses_nothing() {
        let rule = rule(200, 64);
        let mut slices = filled(&rule);
        rule.add(&mut slices, Instant::from_nanos(1_630), 70_000);
        assert_eq!(slices.sum(), 70_064);
        assert_eq!(slices.in_use(64).map(|entry| entry.1).sum::<u64>(), 70_064);
        assert_eq!(slices.heap_bytes(), 256);
    }

    #[test]
    fn the_oldest_slice_leaves_when_the_kth_after_it_begins() {
        let rule = rule(64, 64);
        let slices = filled(&rule);
        let probe = rule.probe(&slices, 1, Instant::from_nanos(1_639));
        assert_eq!(probe.fit, Fit::Retry(Span::from_nanos(1)));
        assert!(
            rule.probe(&slices, 1, Instant::from_nanos(1_640))
                .fit
                .admits()
        );
    }

    #[test]
    fn refunds_come_off_the_newest_slices_first() {
        let rule = rule(64, 64);
        let mut slices = filled(&rule);
        rule.remove_newest(&mut slices, 3);
        assert_eq!(slices.in_use(64).next_back(), Some((160, 1)));
        assert_eq!(slices.sum(), 61);
    }
}
