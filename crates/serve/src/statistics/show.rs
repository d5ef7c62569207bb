//! The state of statistics themselves: whether they are written, and what they miss.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tollgate_limit::Instant;
use tollgate_stats::Losses;

use super::Statistics;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatisticsFigures {
    pub writes: u64,
    /// Failed batches, which are written with the next.
    pub failures: u64,
    /// Rows of batches that the database rejects.
    pub refused: u64,
    /// Duration of the last batch in nanoseconds.
    pub took_ns: u64,
    /// Everything counted before has been written; zero if nothing is.
    pub written_until: Instant,
    /// Rows that wait.
    pub waiting: usize,
    /// What could not be kept as it should.
    pub losses: Losses,
}

impl StatisticsFigures {
    /// The age of the last request that is surely kept.
    pub fn lag_ns(&self, now: Instant) -> u64 {
        if self.written_until == Instant::default() {
            return 0;
        }
        now.nanos_since(self.written_until)
    }
}

/// The writer's counters.
#[derive(Default)]
pub(super) struct WriterFigures {
    writes: AtomicU64,
    failures: AtomicU64,
    refused: AtomicU64,
    took_ns: AtomicU64,
    folded_until: AtomicU64,
    written_until: AtomicU64,
}

impl WriterFigures {
    pub(super) fn wrote(&self, took_ns: u64) {
        self.writes.fetch_add(1, Relaxed);
        self.took_ns.store(took_ns, Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    pub(super) fn refused(&self, rows: usize) {
        let rows = rows.try_into().unwrap_or(u64::MAX);
        self.refused.fetch_add(rows, Relaxed);
    }

    /// Everything counted before `now` is folded.
    pub(super) fn folded(&self, now: Instant) {
        self.folded_until.store(now.as_nanos(), Relaxed);
    }

    pub(super) fn folded_until(&self) -> u64 {
        self.folded_until.load(Relaxed)
    }

    pub(super) fn written_until(&self) -> u64 {
        self.written_until.load(Relaxed)
    }

    /// Everything counted before `until` is written.
    pub(super) fn written(&self, until: u64) {
        self.written_until.store(until, Relaxed);
    }
}

impl Statistics {
    pub fn figures(&self) -> StatisticsFigures {
        let ledger = self.ledger.lock();
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        StatisticsFigures {
            writes: read(&self.figures.writes),
            failures: read(&self.figures.failures),
            refused: read(&self.figures.refused),
            took_ns: read(&self.figures.took_ns),
            written_until: Instant::from_nanos(read(&self.figures.written_until)),
            waiting: ledger.waiting(),
            losses: ledger.losses(),
        }
    }
}
