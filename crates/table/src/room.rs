//! Room for one more cell: by sweeping what is fresh, by growing, or by evicting.
//!
//! Every step looks at a bounded number of pages of one shard. Not here: other shards; a shell that
//! is idle sweeps them with `Table::drop_fresh`.

use crate::config::{Full, Rules, Sweep, WhenFull};
use crate::page::{Page, roomy};
use crate::shard::{Shard, Terms};

impl<C> Shard<C> {
    /// Makes room in page `number`, or counts a refusal.
    pub(crate) fn make_room_or_refuse<R: Rules<C>>(
        &mut self,
        number: usize,
        terms: &Terms<'_, R>,
    ) -> Result<(), Full> {
        let room = self.make_room(number, terms);
        self.counters.refused_new += u64::from(room.is_err());
        room
    }

    /// Makes room in page `number`, at the cost of other cells if need be.
    pub(crate) fn make_room_or_evict<R: Rules<C>>(&mut self, number: usize, terms: &Terms<'_, R>) {
        if self.make_room(number, terms).is_ok() {
            return;
        }
        for _ in 0..EVICTIONS_MAX {
            let heap = self.evict_near(number, terms);
            if heap == 0 || !terms.setup.budget.is_over() {
                break;
            }
        }
        if !self.has_slack(number) && !self.grow(number, terms) {
            self.grow_by_force(number, terms);
        }
    }

    /// Frees bytes after a cell of page `number` has grown beyond the budget.
    ///
    /// Cells of that page go, the closest to fresh first, until the budget is kept; when the last is gone, so is what
    /// the one had grown by. Where keys are refused rather than evicted, only what is fresh can go.
    #[cold]
    pub(crate) fn relieve<R: Rules<C>>(&mut self, number: usize, terms: &Terms<'_, R>) {
        if !terms.setup.budget.is_over() {
            return;
        }
        self.sweep_page(number, terms);
        if terms.setup.when_full == WhenFull::Refuse {
            return;
        }
        let cells = self.pages.get(number).map_or(0, Page::len);
        for _ in 0..cells {
            if !terms.setup.budget.is_over() {
                return;
            }
            self.evict_from(number, terms);
        }
    }

    /// Sweeps page `number`; returns how many cells were dropped.
    pub(crate) fn sweep_page<R: Rules<C>>(&mut self, number: usize, terms: &Terms<'_, R>) -> usize {
        let Some(page) = self.pages.get_mut(number) else {
            return 0;
        };
        let (dropped, heap) = page.drop_fresh(&terms.setup.rules, terms.now);
        self.len -= dropped;
        self.counters.dropped_fresh += dropped as u64;
        self.give_back(heap, &terms.setup.budget);
        dropped
    }

    /// Sweeps the page at the cursor and gives back its spare capacity; returns how many cells were
    /// dropped and whether that was the last page.
    pub(crate) fn sweep_next<R: Rules<C>>(&mut self, terms: &Terms<'_, R>) -> (usize, bool) {
        let number = self.swept;
        let dropped = self.sweep_page(number, terms);
        self.shrink(number, &terms.setup.budget);
        self.swept = if number + 1 < self.pages.len() {
            number + 1
        } else {
            0
        };
        (dropped, self.swept == 0)
    }

    fn make_room<R: Rules<C>>(&mut self, number: usize, terms: &Terms<'_, R>) -> Result<(), Full> {
        if self.is_roomy(number, terms) {
            return Ok(());
        }
        if terms.setup.sweep == Sweep::BeforeGrowth {
            self.sweep_page(number, terms);
        }
        if self.is_roomy(number, terms) || self.grow(number, terms) {
            return Ok(());
        }
        self.sweep_page(number, terms);
        for _ in 0..SWEEPS_MAX {
            if self.is_roomy(number, terms) || self.grow(number, terms) {
                return Ok(());
            }
            self.sweep_next(terms);
        }
        if self.is_roomy(number, terms) || self.grow(number, terms) {
            Ok(())
        } else {
            Err(Full)
        }
    }

    /// Whether a cell may be put in page `number` as it is.
    fn is_roomy<R>(&self, number: usize, terms: &Terms<'_, R>) -> bool {
        self.has_slack(number) && !terms.setup.budget.is_over()
    }

    fn has_slack(&self, number: usize) -> bool {
        self.pages.get(number).is_some_and(Page::has_slack)
    }

    /// Widens page `number` by a step, or by one slot, if the budget allows.
    fn grow<R>(&mut self, number: usize, terms: &Terms<'_, R>) -> bool {
        let Some(page) = self
            .pages
            .get(number)
            .filter(|page| page.may_grow() && !page.has_slack())
        else {
            return false;
        };
        let (len, before) = (page.len(), page.bytes());
        for wide in [roomy(len + 1), len + 1] {
            let more = Page::<C>::bytes_of(wide).saturating_sub(before);
            if self.try_take(more, &terms.setup.budget) {
                self.pages[number].widen(wide);
                return true;
            }
        }
        false
    }

    /// Widens page `number` by one slot, whatever the budget.
    fn grow_by_force<R>(&mut self, number: usize, terms: &Terms<'_, R>) {
        let Some(page) = self.pages.get_mut(number) else {
            return;
        };
        let before = page.bytes();
        page.widen(page.len() + 1);
        let after = page.bytes();
        self.take(after.saturating_sub(before), &terms.setup.budget);
    }

    /// Evicts from page `number`, or if that is empty from one of the next few; returns the heap
    /// bytes this freed.
    fn evict_near<R: Rules<C>>(&mut self, number: usize, terms: &Terms<'_, R>) -> usize {
        let count = self.pages.len();
        let near = (0..EVICTION_PAGES_MAX.min(count)).map(|step| (number + step) % count);
        let Some(victim) = near.into_iter().find(|&page| !self.pages[page].is_empty()) else {
            return 0;
        };
        let heap = self.evict_from(victim, terms);
        if victim != number {
            self.shrink(victim, &terms.setup.budget);
        }
        heap
    }

    fn evict_from<R: Rules<C>>(&mut self, number: usize, terms: &Terms<'_, R>) -> usize {
        let page = &mut self.pages[number];
        let Some(cell) = page
            .nearest_fresh(&terms.setup.rules)
            .and_then(|at| page.remove(at))
        else {
            return 0;
        };
        let heap = terms.setup.rules.heap_bytes(&cell);
        self.len -= 1;
        self.counters.evicted_live += 1;
        self.give_back(heap, &terms.setup.budget);
        heap
    }
}

/// Pages besides its own that a request sweeps when the budget is spent.
const SWEEPS_MAX: usize = 4;
/// Pages that are searched for a cell to evict.
const EVICTION_PAGES_MAX: usize = 16;
/// Cells that one request may evict, when their heap bytes exceed the budget.
const EVICTIONS_MAX: usize = 4;
