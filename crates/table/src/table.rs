//! The table: shards under locks, chosen by the low bits of a print.
//!
//! Not here: requests in batches (`batch.rs`).

use crate::budget::Budget;
use crate::config::{Counters, Full, Rules, TableConfig};
use crate::lock::Lock;
use crate::print::Print;
use crate::shard::{Setup, Shard, Terms};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Cells by the prints of their keys.
///
/// Every method takes `&self` and locks one shard at a time for a bounded piece of work, except
/// where said. A closure that is given a cell runs under the lock of its shard: it may use *other*
/// tables (always in the same order, or two threads may wait for each other for ever), never the
/// same one.
///
/// The budget is kept but for two things: a cell that grows on the heap is charged and not refused,
/// though new keys pay for it; and a table that evicts gives an empty page one slot when nothing
/// nearby can be evicted, so it may exceed the limit by one slot per page, and by its empty shards.
pub struct Table<C, R> {
    pub(crate) shards: Box<[Lock<Shard<C>>]>,
    pub(crate) setup: Setup<R>,
    /// The shard at which the next incremental sweep begins.
    swept: AtomicUsize,
}

impl<C, R: Rules<C>> Table<C, R> {
    /// An empty table, charged to `budget`.
    pub fn new(rules: R, config: TableConfig, budget: Arc<Budget>) -> Self {
        let count = shards_count(config.shards, budget.limit());
        let shards = (0..count).map(|_| Lock::new(Shard::new(&budget))).collect();
        let TableConfig {
            when_full, sweep, ..
        } = config;
        let setup = Setup {
            rules,
            budget,
            when_full,
            sweep,
            shard_bits: count.trailing_zeros(),
        };
        Self {
            shards,
            setup,
            swept: AtomicUsize::new(0),
        }
    }

    /// Runs `f` on the cell of the key, or on `None` if it has none, and returns its answer.
    ///
    /// A cell that `f` returns is put in for an absent key and takes the place of a present one.
    /// `now` tells which cells are fresh if room must be made for it. With
    /// [`WhenFull::Refuse`](crate::WhenFull::Refuse), an absent key for which there is no room is
    /// refused before `f` runs; with [`WhenFull::Evict`](crate::WhenFull::Evict) nothing is
    /// refused, and nothing is evicted until `f` has returned a cell.
    #[inline]
    pub fn update<T>(
        &self,
        print: Print,
        now: u64,
        f: impl FnOnce(Option<&mut C>) -> (T, Option<C>),
    ) -> Result<T, Full> {
        let lock = self.shard(print);
        lock.lock().update(print.0, &self.terms(lock, now), f)
    }

    /// Runs `f` on the cell of the key, if it has one, the quick way: what the cell owns outside of itself must be the
    /// same afterwards.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Its callers are few and short, and every instruction of it counts.
    pub fn in_place<T>(&self, print: Print, f: impl FnOnce(&mut C) -> T) -> Option<T> {
        let mut shard = self.shard(print).lock();
        let number = shard.page_of(print.0, self.setup.shard_bits);
        let cell = shard.pages.get_mut(number)?.present(print.0)?;
        Some(f(cell))
    }

    /// Runs `f` on the cell of the key, if it has one.
    pub fn get<T>(&self, print: Print, f: impl FnOnce(&C) -> T) -> Option<T> {
        let shard = self.shard(print).lock();
        let page = shard
            .pages
            .get(shard.page_of(print.0, self.setup.shard_bits))?;
        let slot = page.slots().get(page.find(print.0).ok()?)?;
        Some(f(&slot.cell))
    }

    /// Takes out the cell of the key.
    pub fn remove(&self, print: Print) -> Option<C> {
        let lock = self.shard(print);
        lock.lock().remove(print.0, &self.terms(lock, 0))
    }

    /// Sweeps the next `pages` pages of the table for cells that are fresh at `now`, and returns
    /// how many it dropped.
    ///
    /// A shell calls it when it is idle; successive calls go round the whole table.
    pub fn drop_fresh(&self, now: u64, pages: usize) -> usize {
        let (mut dropped, mut left) = (0, pages);
        while left > 0 {
            let number = self.swept.load(Relaxed) & (self.shards.len() - 1);
            let lock = &self.shards[number];
            let (mut shard, terms) = (lock.lock(), self.terms(lock, now));
            let mut end = false;
            while left > 0 && !end {
                let (cells, last) = shard.sweep_next(&terms);
                (dropped, left, end) = (dropped + cells, left - 1, last);
            }
            if end {
                self.swept.store(number + 1, Relaxed);
            }
        }
        dropped
    }

    #[inline]
    pub(crate) fn terms<'a>(&'a self, lock: &'a Lock<Shard<C>>, now: u64) -> Terms<'a, R> {
        Terms {
            setup: &self.setup,
            hints: &lock.hints,
            now,
        }
    }
}

impl<C, R> Table<C, R> {
    /// The number of cells; shards are counted one after the other.
    pub fn len(&self) -> usize {
        self.sum(|shard| shard.len)
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes this table holds of its budget.
    pub fn bytes(&self) -> usize {
        self.sum(|shard| shard.bytes)
    }

    /// The number of pages; it grows by at most one with each update and never falls.
    pub fn pages_count(&self) -> usize {
        self.sum(|shard| shard.pages.len())
    }

    /// What happened at the limits since the table was made.
    pub fn counters(&self) -> Counters {
        let each = self.shards.iter().map(|shard| shard.lock().counters);
        each.fold(Counters::default(), Counters::plus)
    }

    /// The number of shards, for [`for_each_in`](Self::for_each_in).
    pub fn shards_count(&self) -> usize {
        self.shards.len()
    }

    /// Shows every cell of one shard to `f`, with the shard locked meanwhile.
    ///
    /// After the same operations in the same order, the cells come in the same order. A shard that
    /// does not exist has no cells.
    pub fn for_each_in(&self, shard: usize, mut f: impl FnMut(Print, &C)) {
        let Some(lock) = self.shards.get(shard) else {
            return;
        };
        for page in &lock.lock().pages {
            for slot in page.slots() {
                f(Print(slot.print), &slot.cell);
            }
        }
    }

    /// Shows every cell to `f`, shard by shard.
    pub fn for_each(&self, mut f: impl FnMut(Print, &C)) {
        for shard in 0..self.shards.len() {
            self.for_each_in(shard, &mut f);
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // Masked to the number of shards, a `usize`.
    pub(crate) fn shard(&self, print: Print) -> &Lock<Shard<C>> {
        &self.shards[print.0 as usize & (self.shards.len() - 1)]
    }

    fn sum(&self, f: impl Fn(&Shard<C>) -> usize) -> usize {
        self.shards.iter().map(|shard| f(&shard.lock())).sum()
    }
}

impl<C, R> Drop for Table<C, R> {
    fn drop(&mut self) {
        let bytes = self
            .shards
            .iter_mut()
            .map(|shard| shard.get_mut().bytes)
            .sum();
        self.setup.budget.give_back(bytes);
    }
}

impl<C, R> fmt::Debug for Table<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("shards", &self.shards.len())
            .field("when_full", &self.setup.when_full)
            .field("sweep", &self.setup.sweep)
            .field("budget", &self.setup.budget)
            .finish_non_exhaustive()
    }
}

#[allow(clippy::cast_possible_truncation)] // Clamped first.
fn shards_count(asked: Option<usize>, limit: u64) -> usize {
    match asked {
        Some(count) => count.clamp(1, SHARDS_MAX).next_power_of_two(),
        None => (limit / SHARD_BYTES).clamp(64, 4096).next_power_of_two() as usize,
    }
}

const SHARDS_MAX: usize = 1 << 16;
/// The bytes of the budget for which there is one shard.
const SHARD_BYTES: u64 = 1 << 20;
