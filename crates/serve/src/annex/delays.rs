//! Durations counted in buckets, sixteen to an octave: a shown duration is at most a sixteenth too long.
//!
//! Counting is two additions. Two views of the same counts can be subtracted to get what happened between them. Not
//! here: clocks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use crate::meter::Exposition;
use crate::meter::latency::Scale;

const FINE: Scale = Scale { bits: 4 };

#[derive(Debug)]
pub struct Delays {
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Default for Delays {
    fn default() -> Self {
        let counts = (0..FINE.buckets()).map(|_| AtomicU64::new(0));
        Self {
            counts: counts.collect(),
            sum: AtomicU64::new(0),
        }
    }
}

/// Percentiles are in milliseconds, zero if nothing was counted or nothing took time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelaysView {
    pub count: u64,
    pub sum_s: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    /// Upper bounds in nanoseconds, and how many are in the bucket below each; empty buckets are left out, and what
    /// took less than about a microsecond has bound zero.
    pub buckets: Vec<(u64, u64)>,
}

impl Delays {
    pub fn add(&self, nanos: u64) {
        if let Some(count) = self.counts.get(FINE.bucket(nanos)) {
            count.fetch_add(1, Relaxed);
        }
        if nanos > 0 {
            self.sum.fetch_add(nanos, Relaxed);
        }
    }

    pub fn view(&self) -> DelaysView {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let buckets = counts
            .enumerate()
            .filter(|(_, count)| *count > 0)
            .map(|(place, count)| (if place == 0 { 0 } else { FINE.bound(place) }, count));
        DelaysView::of(buckets.collect(), seconds(self.sum.load(Relaxed)))
    }

    /// In Prometheus' format; bounds are ends of octaves.
    pub fn render(&self, name: &str, text: &mut Exposition) {
        text.family(name);
        let mut below = 0;
        for (place, count) in self.counts.iter().enumerate() {
            below += count.load(Relaxed);
            let is_last = place + 1 == self.counts.len();
            if is_last {
                text.part("_bucket", &[("le", "+Inf")], below);
            } else if place % FINE.parts() == 0 {
                let bound = seconds(FINE.bound(place)).to_string();
                text.part("_bucket", &[("le", &bound)], below);
            }
        }
        text.part("_sum", &[], seconds(self.sum.load(Relaxed)));
        text.part("_count", &[], below);
    }
}

impl DelaysView {
    fn of(buckets: Vec<(u64, u64)>, sum_s: f64) -> Self {
        let mut view = Self {
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum_s,
            buckets,
            ..Self::default()
        };
        let millis = |part| seconds(view.percentile(part)) * 1e3;
        let found = [0.5, 0.95, 0.99, 0.999].map(millis);
        [view.p50_ms, view.p95_ms, view.p99_ms, view.p999_ms] = found;
        view
    }

    /// The upper bound of this fraction (0 to 1) of all durations, in nanoseconds.
    #[allow(clippy::cast_precision_loss)] // Counts of a run.
    pub fn percentile(&self, part: f64) -> u64 {
        let wanted = self.count as f64 * part;
        let mut seen = 0;
        for (bound, count) in &self.buckets {
            seen += count;
            if seen as f64 >= wanted {
                return *bound;
            }
        }
        self.buckets.last().map_or(0, |(bound, _)| *bound)
    }

    /// What was counted since an earlier view of the same counts; everything if that view is from another process
    /// start.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let had = |bound: u64| {
            let found = before.buckets.binary_search_by_key(&bound, |(at, _)| *at);
            found.map_or(0, |place| before.buckets[place].1)
        };
        let is_same = self.count >= before.count && self.sum_s >= before.sum_s;
        if !is_same {
            return self.clone();
        }
        let left = self.buckets.iter().map(|(bound, count)| {
            let left = count.saturating_sub(had(*bound));
            (*bound, left)
        });
        let left = left.filter(|(_, count)| *count > 0).collect();
        Self::of(left, self.sum_s - before.sum_s)
    }

    /// The sum of two views.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let mut all = std::collections::BTreeMap::new();
        for (bound, count) in self.buckets.iter().chain(&other.buckets) {
            *all.entry(*bound).or_default() += count;
        }
        Self::of(all.into_iter().collect(), self.sum_s + other.sum_s)
    }
}

#[allow(clippy::cast_precision_loss)] // As it is shown.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lengths: impl IntoIterator<Item = u64>) -> Delays {
        let delays = Delays::default();
        lengths.into_iter().for_each(|nanos| delays.add(nanos));
        delays
    }

    #[test]
    fn percentiles_are_at_most_a_sixteenth_too_long() {
        let view = counted((1..=10_000).map(|at| at * 1_000)).view();
        assert_eq!(view.count, 10_000);
        for (found, is) in [
            (view.p50_ms, 5.0),
            (view.p95_ms, 9.5),
            (view.p99_ms, 9.9),
            (view.p999_ms, 9.99),
        ] {
            assert!((is..=is * 17.0 / 16.0).contains(&found), "{found} of {is}");
        }
        assert!((view.sum_s - 50.005).abs() < 1e-6);
        let view = counted([0; 99]).view();
        assert!(view.p999_ms.abs() < 1e-9 && view.count == 99);
        assert_eq!(Delays::default().view(), DelaysView::default());
    }

    #[test]
    fn what_happened_between_two_looks_is_their_difference() {
        let delays = counted([0, 1_000_000, 5_000_000]);
        let before = delays.view();
        delays.add(5_000_000);
        delays.add(80_000_000);
        let between = delays.view().since(&before);
        let alone = counted([5_000_000, 80_000_000]).view();
        assert_eq!((between.count, &between.buckets), (2, &alone.buckets));
        assert!((between.sum_s - alone.sum_s).abs() < 1e-9);
        assert!((between.p99_ms - alone.p99_ms).abs() < 1e-9);
        let whole = before.with(&between);
        assert_eq!((whole.count, &whole.buckets), (5, &delays.view().buckets));
        // After a restart counting starts from zero.
        assert_eq!(counted([7]).view().since(&before), counted([7]).view());
    }

    const NAME: &str = "tollgate_gateway_access_delay_seconds";

    #[test]
    fn prometheus_hears_ends_of_octaves_and_all_of_them() {
        let mut text = Exposition::new();
        counted([500, 1_500_000, u64::MAX / 2]).render(NAME, &mut text);
        let out = text.finish().replace(NAME, "a_seconds");
        assert!(out.contains("# TYPE a_seconds histogram\n"), "{out}");
        assert!(
            out.contains("a_seconds_bucket{le=\"0.000001024\"} 1\n"),
            "{out}"
        );
        assert!(
            out.contains("a_seconds_bucket{le=\"0.002097152\"} 2\n"),
            "{out}"
        );
        assert!(out.contains("a_seconds_bucket{le=\"+Inf\"} 3\n"), "{out}");
        assert!(out.contains("a_seconds_count 3\n"), "{out}");
    }
}
