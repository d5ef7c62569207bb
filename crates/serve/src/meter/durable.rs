//! What is counted of durable counts. One thread writes, once a flush.

use parking_lot::Mutex;
use tollgate_limit::Instant;

#[derive(Debug, Default)]
pub struct DurableMeter(Mutex<DurableFigures>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurableFigures {
    pub is_on: bool,
    pub flushes: u64,
    /// Their cells wait for the next flush.
    pub failures: u64,
    pub rows: u64,
    /// Cells loaded at the start.
    pub loaded: u64,
    /// Unreadable rows found at the start.
    pub broken: u64,
    /// Everything charged before this was written.
    pub flushed_at: Instant,
    /// Duration of the last flush in nanoseconds.
    pub took_ns: u64,
    /// Cells waiting to be written.
    pub waiting: u64,
    /// Flushes refused because another process holds the lease.
    pub refused: u64,
    /// Cells of dead nodes that this one took over.
    pub inherited: u64,
    /// Keys whose rows were looked up before a decision.
    pub reads: Reads,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// The row was read.
    pub found: u64,
    /// There was no row.
    pub new: u64,
    /// The database did not answer.
    pub failed: u64,
    /// It did not answer in time; also counted in one of the others.
    pub late: u64,
}

impl DurableMeter {
    /// Call when a store was opened; `loaded` cells and `broken` rows that could not be read.
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

    /// A flush failed; `waiting` cells wait for the next.
    pub fn failed(&self, waiting: u64) {
        let mut figures = self.0.lock();
        figures.failures += 1;
        figures.waiting = waiting;
    }

    /// A flush was refused because another process holds the lease.
    pub fn refused(&self) {
        self.0.lock().refused += 1;
    }

    /// Cells of a dead node were taken over; `broken` could not be read.
    pub fn inherited(&self, cells: u64, broken: u64) {
        let mut figures = self.0.lock();
        figures.inherited += cells;
        figures.broken += broken;
    }

    /// Rows of keys were looked up: `found` existed, `new` did not.
    pub fn read(&self, found: u64, new: u64) {
        let mut figures = self.0.lock();
        figures.reads.found += found;
        figures.reads.new += new;
    }

    /// Look-ups of this many keys failed.
    pub fn read_failed(&self, keys: u64) {
        self.0.lock().reads.failed += keys;
    }

    /// Look-ups of this many keys timed out.
    pub fn read_late(&self, keys: u64) {
        self.0.lock().reads.late += keys;
    }

    pub fn figures(&self) -> DurableFigures {
        *self.0.lock()
    }
}
