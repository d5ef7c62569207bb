//! One thread's measurements.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::codec::ReplyOutcome;
use crate::errors::Errors;
use crate::plan::LoadPlan;
use crate::report::{Decisions, NS_MAX, histogram};

/// Which part of a run counts, in nanoseconds from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedSpan {
    /// The end of the warm-up.
    pub(crate) from: u64,
    /// The last request is sent before this.
    pub(crate) to: u64,
    /// The last reply is awaited until this.
    pub(crate) give_up: u64,
}

impl CountedSpan {
    pub(crate) fn new(plan: &LoadPlan) -> Self {
        let from = ns(plan.warm_up);
        let to = from.saturating_add(ns(plan.duration));
        Self {
            from,
            to,
            give_up: to.saturating_add(GRACE_NS),
        }
    }

    fn has(&self, at: u64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A request under way, with its times in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) ticket: u32,
    /// When it should have been sent.
    pub(crate) due: u64,
    /// When it was.
    pub(crate) sent: u64,
}

pub(crate) struct DriveRecord {
    span: CountedSpan,
    pub(crate) latency: Histogram<u64>,
    pub(crate) service: Histogram<u64>,
    /// Latencies by marks: what was due up to each, and the rest.
    pub(crate) parts: Vec<(u64, Histogram<u64>)>,
    pub(crate) replies: u64,
    pub(crate) allowed: u64,
    pub(crate) denied: u64,
    pub(crate) errors: Errors,
    /// Decisions of the whole run, warm-up and late replies included.
    pub(crate) whole: Decisions,
}

impl DriveRecord {
    pub(crate) fn new(plan: &LoadPlan) -> Self {
        let mut ends: Vec<u64> = plan.marks.iter().map(|mark| ns(*mark)).collect();
        ends.extend((!ends.is_empty()).then_some(u64::MAX));
        Self {
            span: CountedSpan::new(plan),
            parts: ends.into_iter().map(|end| (end, histogram())).collect(),
            latency: histogram(),
            service: histogram(),
            replies: 0,
            allowed: 0,
            denied: 0,
            errors: Errors::default(),
            whole: Decisions::default(),
        }
    }

    pub(crate) fn answered(&mut self, flight: Flight, now: u64, outcome: ReplyOutcome) {
        if let Some((kind, example)) = outcome.error {
            self.errors.add(kind, 1, || example);
            return;
        }
        self.whole.allowed += u64::from(outcome.allowed);
        self.whole.denied += u64::from(outcome.denied);
        if self.span.has(now) {
            self.replies += 1;
            self.allowed += u64::from(outcome.allowed);
            self.denied += u64::from(outcome.denied);
        }
        self.took(flight, now);
    }

    /// A request has waited until now. Also recorded for requests without a reply, which waited at least that long:
    /// without them a server that answers nothing would look good.
    pub(crate) fn took(&mut self, flight: Flight, now: u64) {
        if self.span.has(flight.due) {
            let latency = now.saturating_sub(flight.due).min(NS_MAX);
            self.latency.saturating_record(latency);
            let mut parts = self.parts.iter_mut();
            if let Some((_, part)) = parts.find(|(end, _)| flight.due < *end) {
                part.saturating_record(latency);
            }
            self.service
                .saturating_record(now.saturating_sub(flight.sent).min(NS_MAX));
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        // Both have the same bounds.
        let _ = self.latency.add(&other.latency);
        let _ = self.service.add(&other.service);
        for ((_, part), (_, other)) in self.parts.iter_mut().zip(&other.parts) {
            let _ = part.add(other);
        }
        self.replies += other.replies;
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.whole.allowed += other.whole.allowed;
        self.whole.denied += other.whole.denied;
        self.errors.merge(other.errors);
    }
}

/// How long replies are awaited when no more is sent.
const GRACE_NS: u64 = 2_000_000_000;
