//! Growth: one page is split at a time, while the others stay in use.
//!
//! Who puts a cell in splits a page afterwards if the table is crowded, and nobody waits for that: who finds another at
//! it leaves it to the next. Not here: how room is made within the budget (`room.rs`).

use crate::config::{CellRules, Sweep};
use crate::page::{Page, roomy};
use crate::table::Table;

impl<C, R: CellRules<C>> Table<C, R> {
    fn is_crowded(&self) -> bool {
        self.account.len() > self.directory.count().saturating_mul(LOAD)
    }

    /// Splits the next page of the round, if there are too few pages and the budget allows one more.
    #[inline]
    pub(crate) fn split_if_crowded(&self, now: u64) {
        if self.account.bytes() >= self.near_bytes && self.directory.is_near() {
            self.directory.part();
        }
        if self.is_crowded() {
            self.split(now);
        }
    }

    #[inline(never)]
    fn split(&self, now: u64) {
        let Some(_growing) = self.growing.try_lock() else {
            return;
        };
        let (from, round) = self.directory.next_split();
        let Some(lock) = self.directory.page(from) else {
            return;
        };
        let mut page = lock.lock();
        if self.sweep == Sweep::BeforeGrowth {
            self.sweep_page(&mut page, now);
        }
        if self.is_crowded() && self.affords(self.directory.bytes_to_widen()) {
            self.directory.widen();
            self.split_page(&mut page, round as u64);
        }
    }

    /// Takes bytes for pages: whoever holds less than its part takes them even where others hold all, and those give
    /// them back.
    fn affords(&self, bytes: usize) -> bool {
        let taken = self.account.try_take(bytes);
        if taken || !self.account.share.is_within(bytes) {
            return taken;
        }
        self.account.take(bytes);
        true
    }

    /// Moves the slots with `bit` to a page behind the last.
    fn split_page(&self, page: &mut Page<C>, bit: u64) {
        let before = page.bytes();
        let upper = Page::<C>::bytes_of(roomy(page.count(bit)));
        if self.affords(upper) {
            self.directory.add(page.split(bit));
            self.account.give_back(before.saturating_sub(page.bytes()));
        }
    }
}

/// Cells per page, on average over the table, beyond which a page is split.
const LOAD: usize = 32;
