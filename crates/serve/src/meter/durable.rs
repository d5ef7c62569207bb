//! What is counted of durable counts. One thread writes, once a flush.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tollgate_limit::Instant;

/// What is counted of durable counts.
#[derive(Debug, Default)]
pub struct DurableMeter {
    is_on: AtomicBool,
    flushes: AtomicU64,
    failures: AtomicU64,
    rows: AtomicU64,
    loaded: AtomicU64,
    broken: AtomicU64,
    /// When everything charged before had been written, in nanoseconds.
    flushed_at: AtomicU64,
    /// Nanoseconds the last flush took.
    took: AtomicU64,
    /// Cells that wait to be written.
    waiting: AtomicU64,
    refused: AtomicU64,
    inherited: AtomicU64,
    reads: [AtomicU64; 4],
}

/// How durable counts stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurableFigures {
    /// Whether there is a store.
    pub is_on: bool,
    /// Flushes that went well.
    pub flushes: u64,
    /// Flushes that failed; their cells wait for the next.
    pub failures: u64,
    /// Rows written.
    pub rows: u64,
    /// Cells found at the start.
    pub loaded: u64,
    /// Rows found that could not be read.
    pub broken: u64,
    /// When everything charged before had been written.
    pub flushed_at: Instant,
    /// Nanoseconds the last flush took.
    pub took_ns: u64,
    /// Cells that wait to be written.
    pub waiting: u64,
    /// Flushes that were refused, as another process has the seat.
    pub refused: u64,
    /// Cells of nodes that are gone, counted here since.
    pub inherited: u64,
    /// Keys whose rows were looked for before they were decided about.
    pub reads: Reads,
}

/// What became of keys whose counts may have been on disk only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// They had a row, which was read.
    pub found: u64,
    /// They had none.
    pub new: u64,
    /// The database did not say.
    pub failed: u64,
    /// It did not say in time; counted beside the others.
    pub late: u64,
}

impl DurableMeter {
    /// There is a store, which held so many cells and rows that could not be read.
    pub fn opened(&self, loaded: u64, broken: u64, now: Instant) {
        self.loaded.store(loaded, Relaxed);
        self.broken.store(broken, Relaxed);
        self.flushed_at.store(now.as_nanos(), Relaxed);
        self.is_on.store(true, Relaxed);
    }

    /// Everything charged before `begun` was written.
    pub fn flushed(&self, rows: u64, begun: Instant, took_ns: u64) {
        self.flushes.fetch_add(1, Relaxed);
        self.rows.fetch_add(rows, Relaxed);
        self.flushed_at.store(begun.as_nanos(), Relaxed);
        self.took.store(took_ns, Relaxed);
        self.waiting.store(0, Relaxed);
    }

    /// A flush failed, and so many cells wait for the next.
    pub fn failed(&self, waiting: u64) {
        self.failures.fetch_add(1, Relaxed);
        self.waiting.store(waiting, Relaxed);
    }

    /// A flush was refused, as another process has the seat.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Cells of a node that is gone are counted here: so many, and so many that made no sense.
    pub fn inherited(&self, cells: u64, broken: u64) {
        self.inherited.fetch_add(cells, Relaxed);
        self.broken.fetch_add(broken, Relaxed);
    }

    /// Rows of keys were looked for: so many were there, and so many not.
    pub fn read(&self, found: u64, new: u64) {
        self.reads[FOUND].fetch_add(found, Relaxed);
        self.reads[NEW].fetch_add(new, Relaxed);
    }

    /// Rows of so many keys could not be looked for.
    pub fn read_failed(&self, keys: u64) {
        self.reads[FAILED].fetch_add(keys, Relaxed);
    }

    /// The rows of so many keys were not there in time.
    pub fn read_late(&self, keys: u64) {
        self.reads[LATE].fetch_add(keys, Relaxed);
    }

    /// How durable counts stand.
    pub fn figures(&self) -> DurableFigures {
        DurableFigures {
            is_on: self.is_on.load(Relaxed),
            flushes: self.flushes.load(Relaxed),
            failures: self.failures.load(Relaxed),
            rows: self.rows.load(Relaxed),
            loaded: self.loaded.load(Relaxed),
            broken: self.broken.load(Relaxed),
            flushed_at: Instant::from_nanos(self.flushed_at.load(Relaxed)),
            took_ns: self.took.load(Relaxed),
            waiting: self.waiting.load(Relaxed),
            refused: self.refused.load(Relaxed),
            inherited: self.inherited.load(Relaxed),
            reads: Reads {
                found: self.reads[FOUND].load(Relaxed),
                new: self.reads[NEW].load(Relaxed),
                failed: self.reads[FAILED].load(Relaxed),
                late: self.reads[LATE].load(Relaxed),
            },
        }
    }
}

const FOUND: usize = 0;
const NEW: usize = 1;
const FAILED: usize = 2;
const LATE: usize = 3;
