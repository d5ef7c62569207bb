//! The bytes that one or several tables may hold together.
//!
//! Tables charge it when memory is taken or given back, never per request. Not here: the decision
//! what to drop when the budget is spent (`room.rs`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A limit in bytes and what is used of it; share it between tables with an `Arc`.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    /// A budget of `limit` bytes, none of them used.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
        }
    }

    /// A budget that is never spent.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// The bytes the tables may hold.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The bytes the tables hold.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Whether more is used than the limit allows.
    pub(crate) fn is_over(&self) -> bool {
        self.used() > self.limit
    }

    /// Takes `bytes` if they fit.
    #[must_use]
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let fits = |used: u64| {
            used.checked_add(bytes as u64)
                .filter(|&sum| sum <= self.limit)
        };
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Takes `bytes` even if that exceeds the limit.
    pub fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns `bytes` taken before.
    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_up_to_the_limit_and_not_beyond() {
        let budget = Budget::new(100);
        assert!(budget.try_take(60));
        assert!(!budget.try_take(41));
        assert!(budget.try_take(40));
        assert!(!budget.is_over());
        budget.take(1);
        assert!(budget.is_over());
        budget.give_back(101);
        assert_eq!(budget.used(), 0);
    }
}
