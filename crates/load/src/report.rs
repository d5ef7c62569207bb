//! The results of a run.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::errors::ErrorCount;

#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// How long was recorded, in seconds.
    pub seconds: f64,
    /// Replies in that time.
    pub replies: u64,
    /// Decisions in them; more than replies if a call has several.
    pub decisions: u64,
    /// Of those, allowed.
    pub allowed: u64,
    /// Of those, denied.
    pub denied: u64,
    /// Decisions of the whole run: in the warm-up and in replies that came after its end, too.
    pub whole: Decisions,
    /// Requests a second that were due, in an open loop.
    pub rate_due: Option<f64>,
    /// From the time a request was due, in an open loop, or sent, in a closed one, to its reply.
    pub latency: Latency,
    /// From the time a request was sent to its reply.
    pub service: Latency,
    /// The same by the marks of the plan: of what was due before the first, then up to the second, and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Latency>,
    /// Errors, warm-up included.
    pub errors: Vec<ErrorCount>,
}

impl LoadReport {
    #[allow(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    pub fn decisions_per_second(&self) -> f64 {
        self.decisions as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    #[allow(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    pub fn replies_per_second(&self) -> f64 {
        self.replies as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

/// Decisions that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Decisions {
    pub allowed: u64,
    pub denied: u64,
}

impl Decisions {
    pub const fn total(&self) -> u64 {
        self.allowed + self.denied
    }
}

/// In nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Number of measurements.
    pub count: u64,
    pub min: u64,
    pub mean: f64,
    pub p50: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub p9999: u64,
    pub max: u64,
    /// The distribution, in steps that grow evenly on a logarithmic scale.
    pub slices: Vec<Slice>,
}

/// One step of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// Replies in it took at most this many nanoseconds, and more than those of the slice before.
    pub up_to: u64,
    /// Number of replies.
    pub count: u64,
}

impl Latency {
    pub(crate) fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let quantile = |quantile| histogram.value_at_quantile(quantile).min(histogram.max());
        Self {
            count: histogram.len(),
            min: histogram.min(),
            mean: histogram.mean(),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: histogram.max(),
            slices: slices(histogram),
        }
    }
}

/// Four slices to a doubling, from the first non-empty one to the last.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounds are whole and positive"
)]
fn slices(histogram: &Histogram<u64>) -> Vec<Slice> {
    let bound = |step: i32| 2_f64.powf(f64::from(step) / STEPS_PER_DOUBLING) as u64;
    let mut slices: Vec<Slice> = Vec::new();
    let mut step = 0;
    for value in histogram.iter_recorded() {
        while bound(step) < value.value_iterated_to().min(histogram.max()) {
            step += 1;
            if !slices.is_empty() {
                slices.push(Slice {
                    up_to: bound(step),
                    count: 0,
                });
            }
        }
        match slices.last_mut() {
            Some(slice) => slice.count += value.count_since_last_iteration(),
            None => slices.push(Slice {
                up_to: bound(step),
                count: value.count_since_last_iteration(),
            }),
        }
    }
    slices
}

const STEPS_PER_DOUBLING: f64 = 4.0;

/// A histogram from a nanosecond to minutes, with three significant digits.
pub(crate) fn histogram() -> Histogram<u64> {
    let made = Histogram::new_with_bounds(1, NS_MAX, 3);
    // The bounds are valid constants.
    made.unwrap_or_else(|_| unreachable!())
}

/// Longer durations count as this long.
pub(crate) const NS_MAX: u64 = 600_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_hold_everything_once() {
        let mut histogram = histogram();
        for ns in [900, 1_000, 5_000, 5_001, 80_000] {
            histogram.record(ns).unwrap();
        }
        let latency = Latency::of(&histogram);
        assert_eq!(
            latency.slices.iter().map(|slice| slice.count).sum::<u64>(),
            5
        );
        assert!(
            latency
                .slices
                .windows(2)
                .all(|pair| pair[0].up_to < pair[1].up_to)
        );
        assert_eq!((latency.min, latency.max), (900, histogram.max()));
        assert!(latency.slices.last().unwrap().up_to >= 80_000);
    }

    #[test]
    fn nothing_recorded_is_all_zero() {
        assert_eq!(Latency::of(&histogram()), Latency::default());
    }
}
