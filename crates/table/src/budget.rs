//! The bytes that several tables may hold together.
//!
//! Tables charge it when memory is taken or given back, never per request. Not here: the part of it that each table can
//! count on (`share.rs`), and the decision what to drop when it is spent (`room.rs`).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use spin::rwlock::RwLock;

use crate::share::MemoryShare;

/// A limit in bytes and what is used of it; tables hold shares of it.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
    /// Of these, what is held without a share, or under one of a fixed size.
    beside: AtomicU64,
    shares: RwLock<Vec<Weak<MemoryShare>>>,
    /// How many shares have equal parts.
    equal: AtomicU64,
    /// Where in the list the search for a share beyond its part begins.
    beyond: AtomicUsize,
}

impl Budget {
    /// A budget of `limit` bytes, none of them used.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
            beside: AtomicU64::new(0),
            shares: RwLock::default(),
            equal: AtomicU64::new(0),
            beyond: AtomicUsize::new(0),
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

    /// Takes `bytes` without a share, even if that exceeds the limit.
    pub fn take(&self, bytes: usize) {
        self.take_shared(bytes);
        self.beside.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns `bytes` taken before without a share.
    pub fn give_back(&self, bytes: usize) {
        self.give_back_shared(bytes);
        self.beside.fetch_sub(bytes as u64, Relaxed);
    }

    /// Whether more is used than the limit allows.
    pub(crate) fn is_over(&self) -> bool {
        self.used() > self.limit
    }

    /// Takes `bytes` if they fit; a share notes them too.
    #[must_use]
    pub(crate) fn try_take_shared(&self, bytes: usize) -> bool {
        let fits = |used: u64| {
            used.checked_add(bytes as u64)
                .filter(|&sum| sum <= self.limit)
        };
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Takes `bytes` that a share notes too.
    pub(crate) fn take_shared(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns `bytes` that a share notes too.
    pub(crate) fn give_back_shared(&self, bytes: usize) {
        self.used.fetch_sub(bytes as u64, Relaxed);
    }

    /// What is held by shares of a fixed size.
    pub(crate) const fn beside(&self) -> &AtomicU64 {
        &self.beside
    }

    /// What each share without a size of its own can count on, once so many more bytes are held beside them.
    pub(crate) fn equal_part(&self, more: u64) -> u64 {
        let beside = self.beside.load(Relaxed).saturating_add(more);
        let left = self.limit.saturating_sub(beside);
        left / self.equal.load(Relaxed).max(1)
    }

    /// Lists a share; those that are gone are listed no more.
    pub(crate) fn list(&self, share: &Arc<MemoryShare>, is_equal: bool) {
        self.equal.fetch_add(u64::from(is_equal), Relaxed);
        let mut shares = self.shares.write();
        shares.retain(|share| share.strong_count() > 0);
        shares.push(Arc::downgrade(share));
    }

    /// An equal share is gone.
    pub(crate) fn unlist_equal(&self) {
        self.equal.fetch_sub(1, Relaxed);
    }

    /// Lets others than `share` give back bytes, and what is held beyond the limit, of those that hold more than their
    /// part. Says whether one of them did.
    ///
    /// A bounded number is looked at; the next search begins where this one found something, or else behind it.
    pub(crate) fn reclaim(&self, share: &MemoryShare, bytes: usize, now: u64) -> bool {
        let excess = self.used().saturating_sub(self.limit);
        let bytes = bytes.saturating_add(usize::try_from(excess).unwrap_or(usize::MAX));
        let beside = if share.has_size() { bytes as u64 } else { 0 };
        let count = self.shares.read().len();
        let first = self.beyond.load(Relaxed);
        for step in 0..SHARES_MAX.min(count) {
            let at = first.wrapping_add(step) % count;
            let other = self.shares.read().get(at).and_then(Weak::upgrade);
            let Some(other) = other.filter(|other| !std::ptr::eq(&raw const **other, share)) else {
                continue;
            };
            if other.is_beyond(beside) && other.give(bytes, now) {
                self.beyond.store(at, Relaxed);
                return true;
            }
        }
        self.beyond.store(first.wrapping_add(SHARES_MAX), Relaxed);
        false
    }
}

/// Shares that one request looks at for bytes to be given back.
const SHARES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_up_to_the_limit_and_not_beyond() {
        let budget = Budget::new(100);
        assert!(budget.try_take_shared(60));
        assert!(!budget.try_take_shared(41));
        assert!(budget.try_take_shared(40));
        assert!(!budget.is_over());
        budget.take(1);
        assert!(budget.is_over());
        budget.give_back_shared(100);
        budget.give_back(1);
        assert_eq!(budget.used(), 0);
    }
}
