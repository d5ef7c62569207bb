//! Room for one more cell: by sweeping what is fresh, by growing, or by evicting.
//!
//! Who makes room holds the page that needs it, and looks at a bounded number of others. Those are never waited for: one
//! that is in use is passed over, so that nobody who holds a page waits for another page of the same table.

use std::sync::atomic::Ordering::Relaxed;

use crate::config::{Full, Rules, Sweep, WhenFull};
use crate::lock::{Guard, Lock};
use crate::page::{Page, roomy};
use crate::table::Table;

impl<C, R: Rules<C>> Table<C, R> {
    /// Makes room in the page with this number, or counts a refusal.
    pub(crate) fn make_room_or_refuse(
        &self,
        page: &mut Page<C>,
        number: usize,
        now: u64,
    ) -> Result<(), Full> {
        let room = self.make_room(page, number, now);
        if room.is_err() {
            self.account.refused();
        }
        room
    }

    /// Makes room in the page with this number, at the cost of other cells if need be.
    pub(crate) fn make_room_or_evict(&self, page: &mut Page<C>, number: usize, now: u64) {
        if self.make_room(page, number, now).is_ok() {
            return;
        }
        for _ in 0..EVICTIONS_MAX {
            let heap = self.evict_near(page, number);
            if heap == 0 || !self.account.budget.is_over() {
                break;
            }
        }
        if !page.has_slack() && !self.grow(page) {
            self.grow_by_force(page);
        }
    }

    /// Makes room in the page whatever the budget; only in a page that may not grow does a cell make room.
    pub(crate) fn make_room_by_force(&self, page: &mut Page<C>) {
        if page.has_slack() || self.grow(page) {
            return;
        }
        if page.may_grow() {
            self.grow_by_force(page);
        } else {
            self.evict_from(page);
        }
    }

    /// Frees bytes after a cell of the page has grown beyond the budget.
    ///
    /// Cells of that page go, the closest to fresh first, until the budget is kept; when the last is gone, so is what
    /// the one had grown by. Where keys are refused rather than evicted, only what is fresh can go.
    #[cold]
    pub(crate) fn relieve(&self, page: &mut Page<C>, now: u64) {
        if !self.account.budget.is_over() {
            return;
        }
        self.sweep_page(page, now);
        if self.when_full == WhenFull::Refuse {
            return;
        }
        for _ in 0..page.len() {
            if !self.account.budget.is_over() {
                return;
            }
            self.evict_from(page);
        }
    }

    /// Sweeps a page; returns how many cells were dropped.
    pub(crate) fn sweep_page(&self, page: &mut Page<C>, now: u64) -> usize {
        let (dropped, heap) = page.drop_fresh(&self.rules, now);
        self.account.dropped(dropped, heap);
        dropped
    }

    /// The page at which a sweep goes on; the next one begins behind it.
    pub(crate) fn next_to_sweep(&self) -> usize {
        let number = self.swept.load(Relaxed);
        let next = number + 1;
        let next = if next < self.directory.count() {
            next
        } else {
            0
        };
        self.swept.store(next, Relaxed);
        number
    }

    /// Gives back what a page holds beyond its need.
    pub(crate) fn shrink(&self, page: &mut Page<C>) {
        let before = page.bytes();
        page.shrink();
        self.account.give_back(before.saturating_sub(page.bytes()));
    }

    fn make_room(&self, page: &mut Page<C>, number: usize, now: u64) -> Result<(), Full> {
        if self.is_roomy(page) {
            return Ok(());
        }
        if self.sweep == Sweep::BeforeGrowth {
            self.sweep_page(page, now);
        }
        if self.is_roomy(page) || self.grow(page) {
            return Ok(());
        }
        self.sweep_page(page, now);
        for _ in 0..SWEEPS_MAX {
            if self.is_roomy(page) || self.grow(page) {
                return Ok(());
            }
            self.sweep_another(page, number, now);
        }
        if self.is_roomy(page) || self.grow(page) {
            Ok(())
        } else {
            Err(Full)
        }
    }

    /// Sweeps the next page in turn and gives back its spare capacity; `page` is held already.
    fn sweep_another(&self, page: &mut Page<C>, number: usize, now: u64) {
        let next = self.next_to_sweep();
        if next == number {
            self.sweep_page(page, now);
            self.shrink(page);
        } else if let Some(mut other) = self.try_page(next) {
            self.sweep_page(&mut other, now);
            self.shrink(&mut other);
        }
    }

    /// Whether a cell may be put in the page as it is.
    fn is_roomy(&self, page: &Page<C>) -> bool {
        page.has_slack() && !self.account.budget.is_over()
    }

    /// Widens the page by a step, or by one slot, if the budget allows.
    fn grow(&self, page: &mut Page<C>) -> bool {
        if !page.may_grow() || page.has_slack() {
            return false;
        }
        let (len, before) = (page.len(), page.bytes());
        for wide in [roomy(len + 1), len + 1] {
            let more = Page::<C>::bytes_of(wide).saturating_sub(before);
            if self.account.try_take(more) {
                page.widen(wide);
                return true;
            }
        }
        false
    }

    /// Widens the page by one slot, whatever the budget.
    fn grow_by_force(&self, page: &mut Page<C>) {
        let before = page.bytes();
        page.widen(page.len() + 1);
        self.account.take(page.bytes().saturating_sub(before));
    }

    /// Evicts from the page, or if that is empty from one of the next few; returns the heap bytes this freed.
    fn evict_near(&self, page: &mut Page<C>, number: usize) -> usize {
        if !page.is_empty() {
            return self.evict_from(page);
        }
        let count = self.directory.count();
        let near = (1..EVICTION_PAGES_MAX.min(count)).map(|step| (number + step) % count);
        let mut others = near.filter_map(|other| self.try_page(other));
        let Some(mut victim) = others.find(|other| !other.is_empty()) else {
            return 0;
        };
        let heap = self.evict_from(&mut victim);
        self.shrink(&mut victim);
        heap
    }

    fn evict_from(&self, page: &mut Page<C>) -> usize {
        let Some(cell) = page
            .nearest_fresh(&self.rules)
            .and_then(|at| page.remove(at))
        else {
            return 0;
        };
        let heap = self.rules.heap_bytes(&cell);
        self.account.evicted(heap);
        heap
    }

    /// The page with this number, if nobody holds it.
    fn try_page(&self, number: usize) -> Option<Guard<'_, Page<C>>> {
        self.directory.page(number).and_then(Lock::try_lock)
    }
}

/// Pages besides its own that a request sweeps when the budget is spent.
const SWEEPS_MAX: usize = 4;
/// Pages that are searched for a cell to evict.
const EVICTION_PAGES_MAX: usize = 16;
/// Cells that one request may evict, when their heap bytes exceed the budget.
const EVICTIONS_MAX: usize = 4;
