//! The table: pages of cells, chosen by the low bits of a print.
//!
//! Not here: requests in batches (`batch.rs`), growth (`growth.rs`), limits (`room.rs`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::account::Account;
use crate::config::{CellRules, Counters, Full, Sweep, TableConfig, WhenFull};
use crate::directory::Directory;
use crate::lock::{Guard, Lock};
use crate::page::Page;
use crate::print::Print;
use crate::room::SPARING;
use crate::share::MemoryShare;

/// Cells by the prints of their keys.
///
/// Every method takes `&self` and locks one page at a time for a bounded piece of work. A closure that is given a cell
/// runs under the lock of its page: it may use *other* tables (always in the same order, or two threads may wait for
/// each other for ever), never the same one.
///
/// The budget is kept but for three things: the pages that a table has from the start, and some 4 KiB to find others; a
/// cell that grows on the heap is charged and not refused, though new keys pay for it; and a table that evicts gives
/// an empty page one slot when nothing nearby can be evicted, so it may exceed the limit by one slot per page.
pub struct Table<C, R> {
    pub(crate) directory: Directory<C>,
    pub(crate) rules: R,
    pub(crate) when_full: WhenFull,
    pub(crate) sweep: Sweep,
    pub(crate) account: Account,
    /// Held while a page is split.
    pub(crate) growing: Lock<Growing>,
    /// Holding fewer bytes, the table is taken to be in a cache near the processor.
    pub(crate) near_bytes: usize,
    /// The page at which the next incremental sweep begins.
    pub(crate) swept: AtomicUsize,
}

impl<C, R: CellRules<C>> Table<C, R> {
    /// An empty table, whose bytes are charged to `share`.
    ///
    /// Where other tables share the budget, whoever owns this one [joins](MemoryShare::join) the share, so that others
    /// get back what it has beyond its part.
    pub fn new(rules: R, config: TableConfig, share: Arc<MemoryShare>) -> Self {
        let TableConfig {
            shards,
            when_full,
            sweep,
        } = config;
        let shards = shards_count(shards, share.budget().limit());
        let account = Account::new(share);
        account.take(Directory::<C>::bytes_of(shards));
        Self {
            directory: Directory::new(shards),
            rules,
            when_full,
            sweep,
            account,
            growing: Lock::new(Growing { is_left: false }),
            near_bytes: Directory::<C>::bytes_of(shards) + CACHED_BYTES,
            swept: AtomicUsize::new(0),
        }
    }

    /// Runs `f` on the cell of the key, or on `None` if it has none, and returns its answer.
    ///
    /// A cell that `f` returns is put in for an absent key and takes the place of a present one.
    /// `now` tells which cells are fresh if room must be made for it. With
    /// [`WhenFull::Refuse`](crate::WhenFull::Refuse), an absent key for which there is no room is
    /// refused before `f` runs; with [`WhenFull::Evict`](crate::WhenFull::Evict) nothing is
    /// refused, and nothing is evicted until `f` has returned a cell. Where cells [are kept](CellRules::are_kept) both
    /// happen before `f` runs: what may go is evicted, and a key is refused where nothing may.
    #[inline]
    pub fn update<T>(
        &self,
        print: Print,
        now: u64,
        f: impl FnOnce(Option<&mut C>) -> (T, Option<C>),
    ) -> Result<T, Full> {
        let (number, mut page) = self.directory.enter(print.0).ok_or(Full)?;
        let Ok(at) = page.find(print.0) else {
            let absent = Absent { print, number, now };
            let (answer, put) = self.update_absent(&mut page, absent, f)?;
            drop(page);
            if put {
                self.split_if_crowded(now);
            }
            return Ok(answer);
        };
        let cell = page.cell_mut(at).ok_or(Full)?;
        let mut held = Held {
            before: self.rules.heap_bytes(cell),
            cell,
            rules: &self.rules,
            account: &self.account,
        };
        let answer = held.update(f);
        let grown = held.settle();
        if grown > 0 {
            self.relieve(&mut page, grown, now);
        }
        Ok(answer)
    }

    /// Returns the answer, and whether a cell was put in.
    #[inline(never)]
    fn update_absent<T>(
        &self,
        page: &mut Page<C>,
        Absent { print, number, now }: Absent,
        f: impl FnOnce(Option<&mut C>) -> (T, Option<C>),
    ) -> Result<(T, bool), Full> {
        let is_strict = self.when_full == WhenFull::Refuse || self.rules.are_kept();
        if is_strict {
            self.make_room_or_refuse(page, number, now)?;
        }
        let (answer, cell) = f(None);
        let put = cell.is_some();
        if let Some(cell) = cell {
            if !is_strict {
                self.make_room_or_evict(page, number, now);
            }
            self.account.came(self.rules.heap_bytes(&cell));
            page.insert(print.0, cell);
        }
        Ok((answer, put))
    }

    /// Runs `f` on the cell of the key, if it has one, the quick way: what the cell owns outside of itself must be the
    /// same afterwards.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Its callers are few and short, and every instruction of it counts.
    pub fn in_place<T>(&self, print: Print, f: impl FnOnce(&mut C) -> T) -> Option<T> {
        let (_, mut page) = self.directory.enter(print.0)?;
        Some(f(page.present(print.0)?))
    }

    /// Where the cell of a key is, for the same: only while the cells fit in a cache near the processor, and there are
    /// no more pages than at the start. It is found without a lock, so that the caller can read a clock before he takes
    /// it.
    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    pub fn spot(&self, print: Print) -> Option<PageSpot<'_, C>> {
        let (directory, page) = self.directory.spot(print.0)?;
        Some(PageSpot { directory, page })
    }

    /// Lets nobody find a key by [`Self::spot`] any more. Whoever has entered a page that was locked since this was
    /// called finds none by it.
    pub fn close_spots(&self) {
        let mut growing = self.growing.lock();
        growing.is_left = true;
        self.directory.part();
    }

    /// Opens or closes spots by how much the table holds.
    pub(crate) fn weigh(&self, growing: &Growing) {
        if self.account.bytes() >= self.near_bytes {
            self.directory.part();
        } else if !growing.is_left {
            self.directory.rejoin();
        }
    }

    /// Runs `f` on the cell of the key, if it has one.
    pub fn get<T>(&self, print: Print, f: impl FnOnce(&C) -> T) -> Option<T> {
        let (_, page) = self.directory.enter(print.0)?;
        let slot = page.slots().get(page.find(print.0).ok()?)?;
        Some(f(&slot.cell))
    }

    /// Takes out the cell of the key.
    pub fn remove(&self, print: Print) -> Option<C> {
        let (_, mut page) = self.directory.enter(print.0)?;
        let at = page.find(print.0).ok()?;
        let cell = page.remove(at)?;
        self.account.went(1, self.rules.heap_bytes(&cell));
        self.shrink(&mut page);
        Some(cell)
    }

    /// Puts in the cell that `f` returns, where the key has none. Says whether it did.
    ///
    /// For cells that were elsewhere before: the budget is charged and never refuses. `f` runs under the lock of the
    /// page and may use another table, like the closure of [`update`](Self::update).
    pub fn adopt(&self, print: Print, now: u64, f: impl FnOnce() -> Option<C>) -> bool {
        let Some((_, mut page)) = self.directory.enter(print.0) else {
            return false;
        };
        if page.find(print.0).is_ok() {
            return false;
        }
        let Some(cell) = f() else {
            return false;
        };
        self.make_room_by_force(&mut page, now);
        self.account.came(self.rules.heap_bytes(&cell));
        page.insert(print.0, cell);
        drop(page);
        self.split_if_crowded(now);
        true
    }

    /// Sweeps the page of a key for cells that are fresh at `now`, and returns how many it dropped.
    pub fn drop_fresh_near(&self, print: Print, now: u64) -> usize {
        let Some((_, mut page)) = self.directory.enter(print.0) else {
            return 0;
        };
        let dropped = self.sweep_page(&mut page, now);
        self.shrink(&mut page);
        dropped
    }

    /// Frees `bytes` or more, as far as half of one page has them, for others who share the budget: drops what is
    /// fresh, then what is to go first. Returns how many were freed. Pages that are in use are passed over.
    pub fn give(&self, bytes: usize, now: u64) -> usize {
        let pages = GIVING_PAGES_MAX.min(self.directory.count());
        for most in [SPARING, u32::MAX] {
            for _ in 0..pages {
                let page = self.try_page(self.next_to_sweep());
                let freed = page.map_or(0, |mut page| self.free(&mut page, bytes, most, now));
                if freed > 0 {
                    return freed;
                }
            }
        }
        0
    }

    /// Sweeps the next `pages` pages of the table for cells that are fresh at `now`, and returns
    /// how many it dropped.
    ///
    /// A shell calls it when it is idle; successive calls go round the whole table.
    pub fn drop_fresh(&self, now: u64, pages: usize) -> usize {
        let mut dropped = 0;
        for _ in 0..pages {
            if let Some(page) = self.directory.page(self.next_to_sweep()) {
                let mut page = page.lock();
                dropped += self.sweep_page(&mut page, now);
                self.shrink(&mut page);
            }
        }
        if dropped > 0
            && let Some(growing) = self.growing.try_lock()
        {
            self.weigh(&growing);
        }
        dropped
    }
}

impl<C, R> Table<C, R> {
    /// The number of cells.
    pub fn len(&self) -> usize {
        self.account.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes this table holds of its budget.
    pub fn bytes(&self) -> usize {
        self.account.bytes()
    }

    /// The number of pages; it grows by at most one with each update and never falls.
    pub fn pages_count(&self) -> usize {
        self.directory.count()
    }

    /// What it was told of its cells.
    pub const fn rules(&self) -> &R {
        &self.rules
    }

    /// What happened at the limits since the table was made.
    pub fn counters(&self) -> Counters {
        self.account.counters()
    }

    /// The number of shards, for [`for_each_in`](Self::for_each_in).
    pub fn shards_count(&self) -> usize {
        self.directory.first_count()
    }

    /// Adds the prints of one page to `prints`; says whether there is such a page.
    ///
    /// Pages only come to be behind the last, so whoever goes through all numbers sees every cell that stays.
    pub fn prints_of_page(&self, number: usize, prints: &mut Vec<Print>) -> bool {
        let there = number < self.directory.count();
        let Some(page) = self.directory.page(number).filter(|_| there) else {
            return false;
        };
        prints.extend(page.lock().slots().iter().map(|slot| Print(slot.print)));
        true
    }

    /// Shows every cell of one shard to `f`, each page locked meanwhile. No page is split until all are shown, so no
    /// cell comes twice.
    ///
    /// After the same operations in the same order, the cells come in the same order. A shard that
    /// does not exist has no cells.
    pub fn for_each_in(&self, shard: usize, mut f: impl FnMut(Print, &C)) {
        if shard >= self.shards_count() {
            return;
        }
        let _growing = self.growing.lock();
        let numbers = (shard..self.directory.count()).step_by(self.shards_count());
        for page in numbers.filter_map(|number| self.directory.page(number)) {
            for slot in page.lock().slots() {
                f(Print(slot.print), &slot.cell);
            }
        }
    }

    /// Shows every cell to `f`, shard by shard.
    pub fn for_each(&self, mut f: impl FnMut(Print, &C)) {
        for shard in 0..self.shards_count() {
            self.for_each_in(shard, &mut f);
        }
    }
}

impl<C, R> fmt::Debug for Table<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("shards", &self.shards_count())
            .field("when_full", &self.when_full)
            .field("sweep", &self.sweep)
            .field("share", &self.account.share)
            .finish_non_exhaustive()
    }
}

/// Where the cell of a key is, if it has one.
#[derive(Debug)]
pub struct PageSpot<'a, C> {
    directory: &'a Directory<C>,
    page: &'a Lock<Page<C>>,
}

impl<'a, C> PageSpot<'a, C> {
    /// The page, if nobody else has it and the key still belongs there.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A part of every decision about few keys.
    pub fn lock(self) -> Option<LockedPage<'a, C>> {
        let page = self.page.try_lock()?;
        self.directory.is_near().then_some(LockedPage(page))
    }
}

/// A page that nobody else has.
#[derive(Debug)]
pub struct LockedPage<'a, C>(Guard<'a, Page<C>>);

impl<C> LockedPage<'_, C> {
    /// The cell of the key, if it has one that is found without a search. What it owns outside of itself must stay the
    /// same.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A part of every decision about few keys.
    pub fn near(&mut self, print: Print) -> Option<&mut C> {
        self.0.near(print.0)
    }
}

/// What is known to who may split pages.
#[derive(Debug)]
pub(crate) struct Growing {
    /// Whether spots are closed for good.
    is_left: bool,
}

/// A key that has no cell yet.
struct Absent {
    print: Print,
    /// The page in which it belongs.
    number: usize,
    now: u64,
}

/// A cell while the caller works on it; settles its heap bytes even if the caller panics.
struct Held<'a, C, R: CellRules<C>> {
    cell: &'a mut C,
    before: usize,
    rules: &'a R,
    account: &'a Account,
}

impl<C, R: CellRules<C>> Held<'_, C, R> {
    #[inline]
    fn update<T>(&mut self, f: impl FnOnce(Option<&mut C>) -> (T, Option<C>)) -> T {
        let (answer, replacement) = f(Some(self.cell));
        if let Some(replacement) = replacement {
            *self.cell = replacement;
        }
        answer
    }

    /// Settles the heap bytes and says by how many they grew.
    #[inline]
    fn settle(mut self) -> usize {
        self.settle_once()
    }

    #[inline]
    fn settle_once(&mut self) -> usize {
        let after = self.rules.heap_bytes(self.cell);
        let before = std::mem::replace(&mut self.before, after);
        let grown = after.saturating_sub(before);
        self.account.take(grown);
        self.account.give_back(before.saturating_sub(after));
        grown
    }
}

impl<C, R: CellRules<C>> Drop for Held<'_, C, R> {
    #[inline]
    fn drop(&mut self) {
        self.settle_once();
    }
}

#[allow(clippy::cast_possible_truncation)] // Clamped first.
fn shards_count(asked: Option<usize>, limit: u64) -> usize {
    match asked {
        Some(count) => count.clamp(1, SHARDS_MAX).next_power_of_two(),
        None => (limit / SHARD_BYTES)
            .clamp(64, SHARDS_MAX as u64)
            .next_power_of_two() as usize,
    }
}

/// Cells of this size together are taken to be in a cache near the processor.
const CACHED_BYTES: usize = 1 << 20;
/// Pages that are looked at for one with something to give.
const GIVING_PAGES_MAX: usize = 16;
const SHARDS_MAX: usize = 1 << 16;
/// The bytes of the budget for which there is one shard.
const SHARD_BYTES: u64 = 16 << 10;
