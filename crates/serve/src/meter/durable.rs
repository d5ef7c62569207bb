//! What is counted of durable counts. One thread writes, once a flush.

use parking_lot::Mutex;
use tollgate_limit::Instant;

/// What is counted of durable counts.
#[derive(Debug, Default)]
pub struct DurableMeter(Mutex<DurableFigures>);

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
        let mut figures = self.0.lock();
        figures.is_on = true;
        figures.loaded = loaded;
        figures.broken = broken;
        figures.flushed_at = now;
    }

    /// Everything charged before `begun` was written.
    pub fn flushed(&self, rows: u64, begun: Instant, took_ns: u64) {
        let mut figures = self.0.lock();
        figures.flushes += 1;
        figures.rows += rows;
        figures.flushed_at = begun;
        figures.took_ns = took_ns;
        figures.waiting = 0;
    }

    /// A flush failed, and so many cells wait for the next.
    pub fn failed(&self, waiting: u64) {
        let mut figures = self.0.lock();
        figures.failures += 1;
        figures.waiting = waiting;
    }

    /// A flush was refused, as another process has the seat.
    pub fn refused(&self) {
        self.0.lock().refused += 1;
    }

    /// Cells of a node that is gone are counted here: so many, and so many that made no sense.
    pub fn inherited(&self, cells: u64, broken: u64) {
        let mut figures = self.0.lock();
        figures.inherited += cells;
        figures.broken += broken;
    }

    /// Rows of keys were looked for: so many were there, and so many not.
    pub fn read(&self, found: u64, new: u64) {
        let mut figures = self.0.lock();
        figures.reads.found += found;
        figures.reads.new += new;
    }

    /// Rows of so many keys could not be looked for.
    pub fn read_failed(&self, keys: u64) {
        self.0.lock().reads.failed += keys;
    }

    /// The rows of so many keys were not there in time.
    pub fn read_late(&self, keys: u64) {
        self.0.lock().reads.late += keys;
    }

    /// How durable counts stand.
    pub fn figures(&self) -> DurableFigures {
        *self.0.lock()
    }
}
