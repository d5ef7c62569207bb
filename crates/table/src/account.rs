//! What one table holds: cells, bytes of its share, and what happened at the limits.
//!
//! Written when cells come or go, never by a request for a key that is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::config::Counters;
use crate::share::MemoryShare;

/// Numbers that any thread may change, on lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Account {
    pub(crate) share: Arc<MemoryShare>,
    len: AtomicUsize,
    bytes: AtomicUsize,
    dropped_fresh: AtomicU64,
    evicted_live: AtomicU64,
    refused_new: AtomicU64,
}

impl Account {
    pub(crate) fn new(share: Arc<MemoryShare>) -> Self {
        Self {
            share,
            len: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            dropped_fresh: AtomicU64::new(0),
            evicted_live: AtomicU64::new(0),
            refused_new: AtomicU64::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters {
            dropped_fresh: self.dropped_fresh.load(Relaxed),
            evicted_live: self.evicted_live.load(Relaxed),
            refused_new: self.refused_new.load(Relaxed),
        }
    }

    /// Notes a cell that came with `heap` bytes.
    pub(crate) fn came(&self, heap: usize) {
        self.len.fetch_add(1, Relaxed);
        self.take(heap);
    }

    /// Notes cells that went with `heap` bytes.
    pub(crate) fn went(&self, cells: usize, heap: usize) {
        if cells > 0 {
            self.len.fetch_sub(cells, Relaxed);
            self.give_back(heap);
        }
    }

    /// Notes cells that went because they were fresh.
    pub(crate) fn dropped(&self, cells: usize, heap: usize) {
        self.went(cells, heap);
        if cells > 0 {
            self.dropped_fresh.fetch_add(cells as u64, Relaxed);
        }
    }

    /// Notes a cell that went although it was of use.
    pub(crate) fn evicted(&self, heap: usize) {
        self.went(1, heap);
        self.evicted_live.fetch_add(1, Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused_new.fetch_add(1, Relaxed);
    }

    /// Takes bytes, even beyond the limit of the budget.
    pub(crate) fn take(&self, bytes: usize) {
        if bytes > 0 {
            self.bytes.fetch_add(bytes, Relaxed);
            self.share.take(bytes);
        }
    }

    /// Takes bytes if the budget has them.
    #[must_use]
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let taken = self.share.try_take(bytes);
        if taken {
            self.bytes.fetch_add(bytes, Relaxed);
        }
        taken
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.bytes.fetch_sub(bytes, Relaxed);
            self.share.give_back(bytes);
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.share.give_back(*self.bytes.get_mut());
    }
}
