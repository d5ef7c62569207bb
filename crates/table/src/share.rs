//! The part of a budget that one holder can count on, however much the others want.
//!
//! Shares without a size of their own have equal parts of what shares of a fixed size, and holders without a share,
//! leave. What nobody uses anyone may take; when the budget is spent, whoever holds less than its part takes it back
//! from one who holds more. Not here: which cells go (`room.rs`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use spin::rwlock::RwLock;

use crate::budget::Budget;

/// Who holds bytes of a share and can give some back.
pub trait Holder: Send + Sync {
    /// Frees `bytes` or more, as far as one page of a table has them; returns how many. It waits for no page that is in
    /// use.
    fn give(&self, bytes: usize, now: u64) -> usize;
}

/// A part of a budget, which one table holds, or several that belong together.
#[derive(Debug)]
pub struct MemoryShare {
    budget: Arc<Budget>,
    used: AtomicU64,
    /// What it can count on and may not exceed, where it has a size of its own.
    size: Option<u64>,
    holders: RwLock<Vec<Weak<dyn Holder>>>,
}

impl MemoryShare {
    /// A share with an equal part: it may hold more while nobody else needs that.
    pub fn equal(budget: &Arc<Budget>) -> Arc<Self> {
        Self::new(budget, None)
    }

    /// A share of a fixed size, for what must not be dropped: it never holds more.
    pub fn fixed(budget: &Arc<Budget>, bytes: u64) -> Arc<Self> {
        Self::new(budget, Some(bytes))
    }

    fn new(budget: &Arc<Budget>, size: Option<u64>) -> Arc<Self> {
        let share = Arc::new(Self {
            budget: Arc::clone(budget),
            used: AtomicU64::new(0),
            size,
            holders: RwLock::default(),
        });
        budget.list(&share, size.is_none());
        share
    }

    /// Somebody who is asked to give bytes of this share back when others need theirs.
    pub fn join(&self, holder: Weak<dyn Holder>) {
        let mut holders = self.holders.write();
        holders.retain(|holder| holder.strong_count() > 0);
        holders.push(holder);
    }

    /// The budget it is a part of.
    pub const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The bytes held.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// The bytes that others cannot take.
    pub fn part(&self) -> u64 {
        self.part_beside(0)
    }

    fn part_beside(&self, more: u64) -> u64 {
        self.size.unwrap_or_else(|| self.budget.equal_part(more))
    }

    /// Whether it has a size of its own.
    pub(crate) const fn has_size(&self) -> bool {
        self.size.is_some()
    }

    /// Whether it holds more than its part will be once shares with a size of their own hold so many bytes more.
    pub(crate) fn is_beyond(&self, more: u64) -> bool {
        self.used() > self.part_beside(more)
    }

    /// Whether so many more bytes are still within its part.
    pub(crate) fn is_within(&self, more: usize) -> bool {
        self.used().saturating_add(more as u64) <= self.part()
    }

    /// Whether more is held than may be, by this share or by all together.
    pub(crate) fn is_over(&self) -> bool {
        self.budget.is_over() || self.size.is_some_and(|size| self.used() > size)
    }

    #[must_use]
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let taken =
            (self.size.is_none() || self.is_within(bytes)) && self.budget.try_take_shared(bytes);
        if taken {
            self.note(bytes);
        }
        taken
    }

    pub(crate) fn take(&self, bytes: usize) {
        self.budget.take_shared(bytes);
        self.note(bytes);
    }

    fn note(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64, Relaxed);
        if self.size.is_some() {
            self.budget.beside().fetch_add(bytes as u64, Relaxed);
        }
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.budget.give_back_shared(bytes);
        self.used.fetch_sub(bytes as u64, Relaxed);
        if self.size.is_some() {
            self.budget.beside().fetch_sub(bytes as u64, Relaxed);
        }
    }

    /// Takes bytes back from others that hold more than their part. Says whether some were given.
    pub(crate) fn reclaim(&self, bytes: usize, now: u64) -> bool {
        self.budget.reclaim(self, bytes, now)
    }

    /// Gives bytes back; says whether there were any.
    pub(crate) fn give(&self, bytes: usize, now: u64) -> bool {
        let count = self.holders.read().len();
        (0..count).any(|at| {
            let holder = self.holders.read().get(at).and_then(Weak::upgrade);
            holder.is_some_and(|holder| holder.give(bytes, now) > 0)
        })
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        if self.size.is_none() {
            self.budget.unlist_equal();
        }
    }
}
