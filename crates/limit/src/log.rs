//! Sliding log: the time and cost of every admitted request, for one period.
//!
//! An entry of time `e` counts at `t` while `e > t - P`. Equal times are one entry, so admissions keep at most
//! `limit` entries; what is charged beyond the limit is bounded by [`LogRule::prune`].

use std::collections::VecDeque;

use crate::ratio::Ratio;
use crate::state::Probe;
use crate::time::{Instant, Span};

/// A compiled sliding log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogRule {
    pub(crate) limit: u64,
    pub(crate) period_ns: u64,
}

/// Entries by time, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    entries: VecDeque<(Instant, u64)>,
    sum: u128,
}

impl Log {
    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<(Instant, u64)>()
    }

    /// Adds to the entry of `time`, making one where there is none.
    pub(crate) fn add(&mut self, time: Instant, tokens: u64) {
        if tokens == 0 {
            return;
        }
        let place = self.entries.partition_point(|entry| entry.0 < time);
        match self.entries.get_mut(place) {
            Some(entry) if entry.0 == time => {
                let added = tokens.min(u64::MAX - entry.1);
                entry.1 += added;
                self.sum += u128::from(added);
            }
            Some(_) | None => {
                self.entries.insert(place, (time, tokens));
                self.sum += u128::from(tokens);
            }
        }
    }

    /// Takes up to `tokens` from the entry of `time`.
    pub(crate) fn remove_at(&mut self, time: Instant, tokens: u64) {
        if let Ok(place) = self.entries.binary_search_by_key(&time, |entry| entry.0) {
            self.lower(place, tokens);
        }
    }

    /// Takes up to `tokens` from the newest entries.
    pub(crate) fn remove_newest(&mut self, mut tokens: u64) {
        while let Some(place) = self.entries.len().checked_sub(1).filter(|_| tokens > 0) {
            tokens -= self.lower(place, tokens);
        }
    }

    /// Takes up to `tokens` from one entry and says how many it had.
    fn lower(&mut self, place: usize, tokens: u64) -> u64 {
        let Some(entry) = self.entries.get_mut(place) else {
            return tokens;
        };
        let taken = tokens.min(entry.1);
        entry.1 -= taken;
        if entry.1 == 0 {
            self.entries.remove(place);
        }
        self.sum = self.sum.saturating_sub(u128::from(taken));
        taken
    }

    /// Time and cost of every entry, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Instant, u64)> + '_ {
        self.entries.iter().copied()
    }

    /// The sum of all entries.
    pub(crate) const fn sum(&self) -> u128 {
        self.sum
    }

    /// Moves all entries as far as `to` is from `at`. Those that would begin before the first instant are one then.
    pub(crate) fn shift(&mut self, at: Instant, to: Instant) {
        for (time, cost) in std::mem::take(self).entries {
            self.add(time.shifted(at, to), cost);
        }
    }

    /// Scales the entries so that what is left of them later is always the share of what would have been.
    pub(crate) fn scale(&mut self, ratio: Ratio) {
        let mut share = ratio.of_newest_first();
        for entry in self.entries.iter_mut().rev() {
            entry.1 = share(entry.1);
        }
        self.entries.retain(|entry| entry.1 > 0);
        self.sum = self.entries.iter().map(|entry| u128::from(entry.1)).sum();
    }
}

impl LogRule {
    /// Whether an entry of time `then` counts at `now`.
    pub(crate) const fn counts(&self, then: Instant, now: Instant) -> bool {
        now.nanos_since(then) < self.period_ns
    }

    /// Would `tokens` pass at `now`?
    pub(crate) fn probe(&self, log: &Log, tokens: u64, now: Instant) -> Probe {
        let used = log.sum - self.expired(log, now);
        Probe::of_window(self.limit, used, tokens, || {
            self.retry_after(log, tokens, now)
        })
    }

    /// The shortest wait, for `tokens` within the limit that do not fit at `now`.
    fn retry_after(&self, log: &Log, tokens: u64, now: Instant) -> Span {
        let allowed = u128::from(self.limit - tokens);
        let mut used = log.sum;
        for &(time, cost) in &log.entries {
            used = used.saturating_sub(u128::from(cost));
            if used <= allowed {
                return Span::between(now, self.leaves_at(time));
            }
        }
        Span::ZERO
    }

    /// Forgets what no longer counts at `now`.
    pub(crate) fn expire(&self, log: &mut Log, now: Instant) {
        while let Some(&(time, cost)) = log.entries.front() {
            if self.counts(time, now) {
                break;
            }
            log.sum -= u128::from(cost);
            log.entries.pop_front();
        }
    }

    /// Keeps a log that is over the limit bounded: old entries that cannot matter before newer ones have gone.
    ///
    /// While the newer entries alone reach the limit, nothing is admitted whatever the older ones say.
    pub(crate) fn prune(&self, log: &mut Log) {
        const ENTRIES_MIN: u64 = 256;
        let bound = usize::try_from(self.limit.max(ENTRIES_MIN)).unwrap_or(usize::MAX);
        while log.entries.len() > bound {
            let Some(&(_, cost)) = log.entries.front() else {
                return;
            };
            if log.sum - u128::from(cost) < u128::from(self.limit) {
                return;
            }
            log.sum -= u128::from(cost);
            log.entries.pop_front();
        }
    }

    /// The nanosecond from which the log no longer counts, when brought to `at`.
    pub(crate) fn fresh_at_ns(&self, log: &Log, at: Instant) -> u128 {
        let at = u128::from(at.as_nanos());
        log.entries
            .back()
            .map_or(at, |entry| self.leaves_at(entry.0).max(at))
    }

    /// The nanosecond at which an entry of time `then` no longer counts.
    fn leaves_at(&self, then: Instant) -> u128 {
        u128::from(then.as_nanos()) + u128::from(self.period_ns)
    }

    fn expired(&self, log: &Log, now: Instant) -> u128 {
        let gone = log
            .entries
            .iter()
            .take_while(|entry| !self.counts(entry.0, now));
        gone.map(|entry| u128::from(entry.1)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Fit;

    const THREE: LogRule = LogRule {
        limit: 3,
        period_ns: 100,
    };

    #[test]
    fn an_entry_leaves_exactly_one_period_later() {
        let mut log = Log::default();
        log.add(Instant::from_nanos(10), 3);
        assert!(!THREE.probe(&log, 1, Instant::from_nanos(109)).fit.admits());
        assert!(THREE.probe(&log, 1, Instant::from_nanos(110)).fit.admits());
    }

    #[test]
    fn a_log_over_the_limit_stays_bounded() {
        let mut log = Log::default();
        for time in 0..5_000 {
            log.add(Instant::from_nanos(time), 1);
            THREE.prune(&mut log);
        }
        assert!(log.entries.len() <= 256);
        let probe = THREE.probe(&log, 1, Instant::from_nanos(5_000));
        assert_eq!(
            probe.fit,
            Fit::Retry(Span::from_nanos(97)),
            "when 4997 leaves, two are left"
        );
    }
}
