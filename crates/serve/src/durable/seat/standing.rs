//! How surely a process holds its seat.
//!
//! Whether it does, only the database knows; a process knows when it last heard so. Others may take what was left at a
//! seat from which nothing came for [`SILENT`]; so a process that heard nothing for half of that no longer counts on
//! it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::durable::StoreError;

/// How surely a process holds its seat.
#[derive(Debug)]
pub struct LeaseStanding {
    since: Instant,
    /// Milliseconds after `since` when the last word that was heeded was sent.
    heard: AtomicU64,
    is_lost: AtomicBool,
}

impl LeaseStanding {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            heard: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
        }
    }

    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What was sent then was heeded.
    pub(super) fn beat(&self, sent: u64) {
        self.heard.fetch_max(sent, Relaxed);
    }

    pub(super) fn lose(&self) {
        self.is_lost.store(true, Relaxed);
    }

    /// Whether another process holds the seat.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed)
    }

    /// Whether nobody else can have taken what is kept at this seat.
    pub fn is_sure(&self) -> bool {
        let silent = self.now().saturating_sub(self.heard.load(Relaxed));
        !self.is_lost() && u128::from(silent) < SILENT.as_millis() / 2
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.is_lost() {
            return Err(StoreError::TakenOver);
        }
        Ok(())
    }
}

/// A seat from which nothing came for so long is taken for left.
pub(in crate::durable) const SILENT: Duration = Duration::from_secs(10);
