//! How surely a process holds its lease.
//!
//! Only the database knows; a process knows when it last confirmed. Others may take a lease that was silent for
//! [`SILENT`]; so a process without confirmation for half of that no longer relies on it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::durable::StoreError;

#[derive(Debug)]
pub struct LeaseStanding {
    since: Instant,
    /// When the last confirmed renewal was sent, in milliseconds after `since`.
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

    /// The database confirmed the renewal sent then.
    pub(super) fn beat(&self, sent: u64) {
        self.heard.fetch_max(sent, Relaxed);
    }

    pub(super) fn lose(&self) {
        self.is_lost.store(true, Relaxed);
    }

    /// Whether another process holds the lease.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed)
    }

    /// Whether no other process can have taken the rows under this lease.
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

/// A lease that is silent for this long counts as abandoned.
pub(in crate::durable) const SILENT: Duration = Duration::from_secs(10);
