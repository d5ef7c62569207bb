//! Room for one more cell: by sweeping what is fresh, by growing, or by evicting.
//!
//! Who makes room holds the page that needs it, and looks at a bounded number of others. Those are never waited for:
//! one that is in use is passed over, so that nobody who holds a page waits for another page of the same table.

use std::sync::atomic::Ordering::Relaxed;

use crate::config::{CellRules, Full, Sweep, WhenFull};
use crate::lock::{Guard, Lock};
use crate::page::{Page, roomy};
use crate::table::Table;

impl<C, R: CellRules<C>> Table<C, R> {
    /// Makes room in the page with this number, at the cost of cells that may go where the table evicts, or counts a
    /// refusal.
    pub(crate) fn make_room_or_refuse(
        &self,
        page: &mut Page<C>,
        number: usize,
        now: u64,
    ) -> Result<(), Full> {
        let mut room = self.make_room(page, number, now);
        if room.is_err()
            && self.when_full == WhenFull::Evict
            && self.evict_near(page, number, now).is_some()
            && (page.has_slack() || self.grow(page))
        {
            room = Ok(());
        }
        if room.is_err() {
            self.rules.goes();
            self.account.refused();
        }
        room
    }

    /// Makes room in the page with this number, at the cost of other cells if need be.
    pub(crate) fn make_room_or_evict(&self, page: &mut Page<C>, number: usize, now: u64) {
        if self.make_room(page, number, now).is_ok() {
            return;
        }
        let share = &self.account.share;
        for _ in 0..EVICTIONS_MAX {
            let evicted = self.evict_near(page, number, now);
            if evicted.is_none() || !share.is_over() || share.is_within(0) {
                break;
            }
            // What others took meanwhile beyond the limit is given back bit by bit.
            self.shrink(page);
        }
        if !page.has_slack() && !self.grow(page) {
            self.grow_by_force(page);
        }
    }

    /// Makes room in the page whatever the budget; only in a page that may not grow does a cell make room.
    pub(crate) fn make_room_by_force(&self, page: &mut Page<C>, now: u64) {
        if page.has_slack() || self.grow(page) {
            return;
        }
        if page.may_grow() {
            self.grow_by_force(page);
        } else {
            self.evict_up_to(page, u32::MAX, now);
        }
    }

    /// Frees bytes after a cell of the page has grown beyond the budget.
    ///
    /// A table within its part takes them back from others. Then cells of that page go, until the budget is kept; when
    /// the last is gone, so is what the one had grown by. Where keys are refused rather than evicted, only what is
    /// fresh can go.
    #[cold]
    pub(crate) fn relieve(&self, page: &mut Page<C>, grown: usize, now: u64) {
        let share = &self.account.share;
        for _ in 0..SWEEPS_MAX {
            if !share.is_over() || !share.is_within(0) || !share.reclaim(grown, now) {
                break;
            }
        }
        if !share.is_over() {
            return;
        }
        self.sweep_page(page, now);
        if self.when_full == WhenFull::Refuse {
            return;
        }
        while share.is_over() && self.evict_up_to(page, u32::MAX, now).is_some() {}
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
        if self.claim(page, now) {
            return Ok(());
        }
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

    /// Widens the page by what others hold beyond their part, where this table holds less than its own.
    fn claim(&self, page: &mut Page<C>, now: u64) -> bool {
        let share = &self.account.share;
        let more = Page::<C>::bytes_of(roomy(page.len() + 1)).saturating_sub(page.bytes());
        for _ in 0..SWEEPS_MAX {
            if !page.may_grow() || !share.is_within(more) || !share.reclaim(more, now) {
                return false;
            }
            if self.is_roomy(page) || self.grow(page) {
                return true;
            }
        }
        false
    }

    /// Frees bytes of a page: drops what is fresh, then evicts what is to go first where the table evicts, as far as no
    /// more than `most` of it is used, and half of the page at most. Returns how many.
    pub(crate) fn free(&self, page: &mut Page<C>, bytes: usize, most: u32, now: u64) -> usize {
        let before = page.bytes();
        let (dropped, mut heap) = page.drop_fresh(&self.rules, now);
        self.account.dropped(dropped, heap);
        self.shrink(page);
        for _ in 0..page.len().div_ceil(2) {
            let is_enough = heap + before.saturating_sub(page.bytes()) >= bytes;
            if is_enough || self.when_full == WhenFull::Refuse {
                break;
            }
            let Some(freed) = self.evict_up_to(page, most, now) else {
                break;
            };
            heap += freed;
            self.shrink(page);
        }
        heap + before.saturating_sub(page.bytes())
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
        let share = &self.account.share;
        page.has_slack() && (!share.is_over() || share.is_within(0))
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

    /// Evicts from the page, or where nothing of it may go but what is used up, from one of the next few; returns the
    /// heap bytes that this freed.
    fn evict_near(&self, page: &mut Page<C>, number: usize, now: u64) -> Option<usize> {
        let evicted = self.evict_up_to(page, SPARING, now);
        if evicted.is_some() || !page.may_grow() {
            return evicted.or_else(|| self.evict_up_to(page, u32::MAX, now));
        }
        let more = Page::<C>::bytes_of(page.len() + 1).saturating_sub(page.bytes());
        let (count, is_empty) = (self.directory.count(), page.is_empty());
        let reach = if is_empty {
            EVICTION_PAGES_MAX
        } else {
            SWEEPS_MAX
        };
        let near = || (1..reach.min(count)).map(|step| (number + step) % count);
        let free = |other, most| {
            let other = self.try_page(other);
            other.map_or(0, |mut other| self.free(&mut other, more, most, now))
        };
        if near().any(|other| free(other, SPARING) > 0) {
            return Some(0);
        }
        if !is_empty {
            return self.evict_up_to(page, u32::MAX, now);
        }
        near().any(|other| free(other, u32::MAX) > 0).then_some(0)
    }

    /// Evicts the cell of the page that is to go first, if no more than `most` of it is used; returns the heap bytes
    /// this freed.
    fn evict_up_to(&self, page: &mut Page<C>, most: u32, now: u64) -> Option<usize> {
        let first = page.first_to_go(&self.rules, now);
        let (at, _) = first.filter(|(_, used)| *used <= most)?;
        self.rules.goes();
        let cell = page.remove(at)?;
        let heap = self.rules.heap_bytes(&cell);
        self.account.evicted(heap);
        Some(heap)
    }

    /// The page with this number, if nobody holds it.
    pub(crate) fn try_page(&self, number: usize) -> Option<Guard<'_, Page<C>>> {
        self.directory.page(number).and_then(Lock::try_lock)
    }
}

/// Evicts only what is not used up.
pub(crate) const SPARING: u32 = u32::MAX - 1;
/// Pages besides its own that a request sweeps when the budget is spent.
const SWEEPS_MAX: usize = 4;
/// Pages that are searched for a cell to evict.
const EVICTION_PAGES_MAX: usize = 16;
/// Cells that one request may evict, when more is held than the budget allows.
const EVICTIONS_MAX: usize = 4;
