//! Measurements of one thread of publishers.

use std::sync::atomic::AtomicU64;

use hdrhistogram::Histogram;

use super::clock::{PublishProgress, RunSpan};
use super::link::Lost;
use crate::errors::{ErrorKind, Errors};
use crate::report::{NS_MAX, histogram};

/// Messages that were due in the part of the run that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PublishCounts {
    pub(crate) due: u64,
    pub(crate) sent: u64,
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
}

pub(crate) struct PublisherRecord {
    pub(crate) span: Option<RunSpan>,
    /// By target.
    pub(crate) sent: Vec<PublishCounts>,
    /// How late messages were handled, relative to when they were due.
    pub(crate) lateness: Histogram<u64>,
    /// From sending to acknowledgement.
    pub(crate) acknowledged: Histogram<u64>,
    /// Messages that waited because too many were under way, or the connection was down.
    pub(crate) held: u64,
    pub(crate) errors: Errors,
}

/// An unacknowledged message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) id: u16,
    pub(crate) due: u64,
    pub(crate) sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageFate {
    Acknowledged,
    Refused,
    /// Another reason code of refusal.
    Failed(u8),
}

impl PublisherRecord {
    pub(crate) fn new(targets: usize) -> Self {
        Self {
            span: None,
            sent: vec![PublishCounts::default(); targets],
            lateness: histogram(),
            acknowledged: histogram(),
            held: 0,
            errors: Errors::default(),
        }
    }

    fn counts(&self, due: u64) -> bool {
        self.span.is_some_and(|span| span.has(due))
    }

    /// A message became due; it may be sent now or later.
    pub(crate) fn came_up(&mut self, target: usize, due: u64, now: u64) {
        if !self.counts(due) {
            return;
        }
        self.lateness
            .saturating_record(now.saturating_sub(due).clamp(1, NS_MAX));
        if let Some(sent) = self.sent.get_mut(target) {
            sent.due += 1;
        }
    }

    pub(crate) fn sent(&mut self, target: usize, due: u64) {
        if self.counts(due)
            && let Some(sent) = self.sent.get_mut(target)
        {
            sent.sent += 1;
        }
    }

    pub(crate) fn settled(&mut self, target: usize, flight: Flight, fate: MessageFate, now: u64) {
        if let MessageFate::Failed(code) = fate {
            let text = || format!("a message is refused: {}", super::say::reason(code));
            self.errors.add(ErrorKind::Refused, 1, text);
        }
        if !self.counts(flight.due) {
            return;
        }
        let Some(sent) = self.sent.get_mut(target) else {
            return;
        };
        match fate {
            MessageFate::Acknowledged => {
                sent.acknowledged += 1;
                let took = now.saturating_sub(flight.sent).clamp(1, NS_MAX);
                self.acknowledged.saturating_record(took);
            }
            MessageFate::Refused => sent.refused += 1,
            MessageFate::Failed(_) => sent.failed += 1,
        }
    }

    pub(crate) fn lost(&mut self, lost: &Lost, told: &AtomicU64) {
        let kind = match lost {
            Lost::Connect(_) => ErrorKind::Connect,
            Lost::Closed(_) => ErrorKind::Closed,
            Lost::Malformed(_) => ErrorKind::Malformed,
            Lost::Refused(_) => ErrorKind::Refused,
        };
        self.errors.add(kind, 1, || lost.to_string());
        PublishProgress::add(told, 1);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (sent, other) in self.sent.iter_mut().zip(other.sent) {
            sent.due += other.due;
            sent.sent += other.sent;
            sent.acknowledged += other.acknowledged;
            sent.refused += other.refused;
            sent.failed += other.failed;
        }
        // Both have the same bounds.
        let _ = self.lateness.add(&other.lateness);
        let _ = self.acknowledged.add(&other.acknowledged);
        self.held += other.held;
        self.errors.merge(other.errors);
    }
}
