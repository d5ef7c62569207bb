//! Sliding-weighted: two adjacent windows, the older one weighted by how much of it still overlaps.
//!
//! With `e` nanoseconds gone in the current window, `previous * (P - e) + (current + n) * P <= L * P`, exactly.

use crate::state::Probe;
use crate::time::{Instant, Span};

/// A compiled pair of windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Weighted {
    pub(crate) limit: u64,
    pub(crate) period_ns: u64,
}

/// Counts of the window of some instant and of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WindowCounts {
    pub(crate) current: u64,
    pub(crate) previous: u64,
}

impl Weighted {
    /// The counts as they stand at `now`, when written at `at`.
    pub(crate) fn moved(&self, counts: WindowCounts, at: Instant, now: Instant) -> WindowCounts {
        match self.index(now) - self.index(at).min(self.index(now)) {
            0 => counts,
            1 => WindowCounts {
                current: 0,
                previous: counts.current,
            },
            _ => WindowCounts::default(),
        }
    }

    /// Would `tokens` pass at `now`?
    pub(crate) fn probe(&self, counts: WindowCounts, tokens: u64, now: Instant) -> Probe {
        let used = self.used(counts, now).div_ceil(u128::from(self.period_ns));
        Probe::of_window(self.limit, used, tokens, || {
            self.retry_after(counts, tokens, now)
        })
    }

    /// Whole tokens in use, rounded up.
    pub(crate) fn used_tokens(&self, counts: WindowCounts, now: Instant) -> u64 {
        let used = self.used(counts, now).div_ceil(u128::from(self.period_ns));
        u64::try_from(used).unwrap_or(u64::MAX)
    }

    /// The nanosecond from which counts written at `at` no longer count.
    pub(crate) fn fresh_at_ns(&self, counts: WindowCounts, at: Instant) -> u128 {
        let windows = match (counts.current, counts.previous) {
            (0, 0) => return u128::from(at.as_nanos()),
            (0, _) => 1,
            _ => 2,
        };
        (u128::from(self.index(at)) + windows) * u128::from(self.period_ns)
    }

    /// How many windows lie between `then` and `now`.
    pub(crate) fn windows_since(&self, then: Instant, now: Instant) -> u64 {
        self.index(now).saturating_sub(self.index(then))
    }

    /// What is in use, in tokens times the period.
    pub(crate) fn used(&self, counts: WindowCounts, now: Instant) -> u128 {
        let left = self.period_ns - self.elapsed(now);
        u128::from(counts.previous) * u128::from(left) + self.capacity(counts.current)
    }

    /// `tokens` of a limit must fit within `tokens * P`.
    fn capacity(&self, tokens: u64) -> u128 {
        u128::from(tokens) * u128::from(self.period_ns)
    }

    /// The shortest wait, for `tokens` within the limit that do not fit at `now`.
    fn retry_after(&self, counts: WindowCounts, tokens: u64, now: Instant) -> Span {
        let elapsed = u128::from(self.elapsed(now));
        let period = u128::from(self.period_ns);
        let spare = self.limit - tokens;
        let wait = if counts.current <= spare {
            // This window, once enough of the previous one has faded.
            self.faded(counts.previous, self.capacity(spare - counts.current)) - elapsed
        } else {
            // A later window, once enough of this one has.
            period - elapsed + self.faded(counts.current, self.capacity(spare))
        };
        Span::from_nanos(wait)
    }

    /// Nanoseconds into a window until `previous * (P - e) <= room`.
    fn faded(&self, previous: u64, room: u128) -> u128 {
        let overlap = room.checked_div(u128::from(previous)).unwrap_or(u128::MAX);
        u128::from(self.period_ns).saturating_sub(overlap)
    }

    fn index(&self, now: Instant) -> u64 {
        now.as_nanos() / self.period_ns
    }

    fn elapsed(&self, now: Instant) -> u64 {
        now.as_nanos() % self.period_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Fit;

    const TEN: Weighted = Weighted {
        limit: 10,
        period_ns: 100,
    };

    #[test]
    fn the_previous_window_fades_nanosecond_by_nanosecond() {
        let counts = WindowCounts {
            current: 0,
            previous: 10,
        };
        let probe = |ns| TEN.probe(counts, 1, Instant::from_nanos(ns));
        assert_eq!(probe(109).fit, Fit::Retry(Span::from_nanos(1)));
        assert_eq!(probe(110).fit, Fit::Now);
        assert_eq!(probe(110).remaining, 1);
    }

    #[test]
    fn a_full_window_holds_the_whole_limit_back_for_one_more() {
        let counts = WindowCounts {
            current: 10,
            previous: 0,
        };
        let probe = TEN.probe(counts, 10, Instant::from_nanos(140));
        assert_eq!(probe.fit, Fit::Retry(Span::from_nanos(160)));
    }
}
