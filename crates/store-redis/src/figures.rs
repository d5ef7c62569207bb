//! What an engine counts about itself, since it was opened.

use core::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct RedisFigures {
    calls: AtomicU64,
    asks: AtomicU64,
    by_hand: AtomicU64,
    swaps_lost: AtomicU64,
    scripts_lost: AtomicU64,
    disagreements: AtomicU64,
}

impl RedisFigures {
    /// Calls for a key, each with all requests that waited for it.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Requests in these calls.
    pub fn asks(&self) -> u64 {
        self.asks.load(Ordering::Relaxed)
    }

    /// Writes that were decided here and not by the script.
    pub fn writes_by_hand(&self) -> u64 {
        self.by_hand.load(Ordering::Relaxed)
    }

    /// Of these, writes that lost a race and were decided again.
    pub fn swaps_lost(&self) -> u64 {
        self.swaps_lost.load(Ordering::Relaxed)
    }

    /// Times that a script had to be loaded again.
    pub fn scripts_lost(&self) -> u64 {
        self.scripts_lost.load(Ordering::Relaxed)
    }

    /// Decisions of the script that differ from this code's. Anything but zero is a bug.
    pub fn disagreements(&self) -> u64 {
        self.disagreements.load(Ordering::Relaxed)
    }

    pub(crate) fn called(&self, asks: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.asks.fetch_add(asks as u64, Ordering::Relaxed);
    }

    pub(crate) fn by_hand(&self) {
        self.by_hand.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn swap_lost(&self) {
        self.swaps_lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn script_lost(&self) {
        self.scripts_lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disagreed(&self) {
        self.disagreements.fetch_add(1, Ordering::Relaxed);
    }
}
