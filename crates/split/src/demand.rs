//! What a node was asked for lately, from its reports: arrivals over a window, its queue, its largest backlog.
//!
//! Reports carry totals, so that a lost one costs nothing but resolution. Not here: what is made of it.

use std::collections::VecDeque;

use tollgate_limit::{Instant, Span};

use crate::wire::SplitReport;

/// What a node was asked for lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeDemand {
    samples: VecDeque<Sample>,
    queued: u128,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    arrived: u64,
    peak: u128,
}

impl NodeDemand {
    pub(crate) fn add(&mut self, report: &SplitReport, window: Span, now: Instant) {
        let last = self.samples.back().map_or(0, |sample| sample.arrived);
        // One that was overtaken says nothing about the present.
        if report.arrived < last {
            return;
        }
        self.queued = report.queued;
        self.samples.push_back(Sample {
            at: now,
            arrived: report.arrived,
            peak: report.peak,
        });
        self.forget(window, now);
        if self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
    }

    /// Keeps the window, and one sample before it to count from.
    pub(crate) fn forget(&mut self, window: Span, now: Instant) {
        let is_old = |sample: &Sample| u128::from(now.nanos_since(sample.at)) >= window.as_nanos();
        while self.samples.get(1).is_some_and(is_old) {
            self.samples.pop_front();
        }
    }

    /// Whether there is enough to tell.
    pub(crate) fn is_known(&self, window: Span, now: Instant) -> bool {
        let last = self.samples.back().map(|sample| sample.at);
        self.samples.len() > 1
            && last.is_some_and(|at| u128::from(now.nanos_since(at)) <= window.as_nanos())
    }

    /// Messages per second, in thousandths; a queue counts as what comes within `horizon`. `message` is the grains of
    /// one.
    pub(crate) fn rate_milli(&self, horizon: Option<Span>, message: u128) -> u64 {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return 0;
        };
        let arrived = u128::from(last.arrived.saturating_sub(first.arrived));
        let elapsed = u128::from(last.at.nanos_since(first.at)).max(1);
        let mut milli = arrived.saturating_mul(MILLI_PER_NANO) / elapsed;
        if let Some(horizon) = horizon {
            let queued = self.queued / message.max(1);
            milli += queued.saturating_mul(MILLI_PER_NANO) / horizon.as_nanos().max(1);
        }
        u64::try_from(milli).unwrap_or(u64::MAX)
    }

    /// The largest backlog of the window: missing tokens and queue.
    pub(crate) fn peak(&self) -> u128 {
        let peaks = self.samples.iter().map(|sample| sample.peak);
        peaks.max().unwrap_or(0)
    }
}

/// From per nanosecond to thousandths per second.
const MILLI_PER_NANO: u128 = 1_000_000_000_000;
/// Samples of one node that are kept.
const SAMPLES_MAX: usize = 1 << 14;
