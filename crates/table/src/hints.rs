//! Where the page headers of a shard are, readable without its lock, for prefetching only.
//!
//! A hint may be stale: then the wrong cache line is fetched and nothing else happens. Not here:
//! anything a decision depends on.

use crate::prefetch::prefetch_address;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The place and number of a shard's page headers.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    address: AtomicUsize,
    pages: AtomicUsize,
}

impl Hints {
    /// Notes where the first header is and how many there are.
    pub(crate) fn note(&self, address: usize, pages: usize) {
        self.address.store(address, Relaxed);
        self.pages.store(pages, Relaxed);
    }

    /// The number of pages last noted.
    #[inline]
    pub(crate) fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }

    /// Starts fetching header `number`, where each takes `bytes`.
    #[inline]
    pub(crate) fn prefetch(&self, number: usize, bytes: usize) {
        let header = self
            .address
            .load(Relaxed)
            .wrapping_add(number.wrapping_mul(bytes));
        prefetch_address(header);
        prefetch_address(header.wrapping_add(bytes));
    }
}
