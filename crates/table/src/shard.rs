//! A shard: pages that grow by linear hashing, one page split at a time.
//!
//! One update splits at most one page, of at most 512 cells. When the headers outgrow their vector
//! it moves, by an eighth more: 24 bytes per page, some 40 KiB for a shard of a mebibyte.
//!
//! Not here: locks (`lock.rs`) and how room is made within the budget (`room.rs`).

use crate::budget::Budget;
use crate::config::{Counters, Full, Rules, Sweep, WhenFull};
use crate::hints::Hints;
use crate::page::{Page, roomy};
use std::sync::Arc;

/// What all shards of a table have in common.
pub(crate) struct Setup<R> {
    pub(crate) rules: R,
    pub(crate) budget: Arc<Budget>,
    pub(crate) when_full: WhenFull,
    pub(crate) sweep: Sweep,
    /// The low bits of a print that choose the shard.
    pub(crate) shard_bits: u32,
}

/// What a shard needs to know for one operation.
pub(crate) struct Terms<'a, R> {
    pub(crate) setup: &'a Setup<R>,
    pub(crate) hints: &'a Hints,
    pub(crate) now: u64,
}

/// Pages `0..pages.len()`; the ones from `pages.len() - (mask + 1) / 2` to `mask / 2` are yet to
/// be split in this round.
#[derive(Debug)]
pub(crate) struct Shard<C> {
    pub(crate) pages: Vec<Page<C>>,
    /// The page numbers of the finished round doubled, less one.
    mask: u64,
    pub(crate) len: usize,
    /// What this shard has taken of the budget.
    pub(crate) bytes: usize,
    /// The page at which the next sweep begins.
    pub(crate) swept: usize,
    pub(crate) counters: Counters,
}

impl<C> Shard<C> {
    /// A shard of one empty page.
    pub(crate) fn new(budget: &Budget) -> Self {
        let pages = vec![Page::new()];
        let bytes = size_of::<Self>() + size_of::<Page<C>>();
        budget.take(bytes);
        Self {
            pages,
            mask: 0,
            len: 0,
            bytes,
            swept: 0,
            counters: Counters::default(),
        }
    }

    /// The page in which the print belongs.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // At most the number of pages, a `usize`.
    pub(crate) fn page_of(&self, print: u64, shard_bits: u32) -> usize {
        let page = (print >> shard_bits) & self.mask;
        let count = self.pages.len() as u64;
        (if page < count {
            page
        } else {
            page & (self.mask >> 1)
        }) as usize
    }

    /// Runs `f` on the cell of the print and puts in the cell it returns.
    #[inline]
    pub(crate) fn update<T, R: Rules<C>>(
        &mut self,
        print: u64,
        terms: &Terms<'_, R>,
        f: impl FnOnce(Option<&mut C>) -> (T, Option<C>),
    ) -> Result<T, Full> {
        let number = self.page_of(print, terms.setup.shard_bits);
        if let Some(page) = self.pages.get_mut(number)
            && let Ok(at) = page.find(print)
            && let Some(cell) = page.cell_mut(at)
        {
            let bytes = self.bytes;
            let mut held = Held {
                before: terms.setup.rules.heap_bytes(cell),
                cell,
                bytes: &mut self.bytes,
                terms,
            };
            let answer = held.update(f);
            drop(held);
            if self.bytes > bytes {
                self.relieve(number, terms);
            }
            return Ok(answer);
        }
        self.update_absent(print, number, terms, f)
    }

    #[inline(never)]
    fn update_absent<T, R: Rules<C>>(
        &mut self,
        print: u64,
        number: usize,
        terms: &Terms<'_, R>,
        f: impl FnOnce(Option<&mut C>) -> (T, Option<C>),
    ) -> Result<T, Full> {
        if terms.setup.when_full == WhenFull::Refuse {
            self.make_room_or_refuse(number, terms)?;
        }
        let (answer, cell) = f(None);
        if let Some(cell) = cell {
            if terms.setup.when_full == WhenFull::Evict {
                self.make_room_or_evict(number, terms);
            }
            self.insert(print, number, cell, terms);
        }
        Ok(answer)
    }

    /// Puts in a cell for which room was made, and splits a page if the shard has grown.
    fn insert<R: Rules<C>>(&mut self, print: u64, number: usize, cell: C, terms: &Terms<'_, R>) {
        let heap = terms.setup.rules.heap_bytes(&cell);
        let Some(page) = self.pages.get_mut(number) else {
            return;
        };
        page.insert(print, cell);
        self.len += 1;
        self.take(heap, &terms.setup.budget);
        if self.is_crowded() {
            self.split(terms);
        }
    }

    /// Takes out the cell of the print.
    pub(crate) fn remove<R: Rules<C>>(&mut self, print: u64, terms: &Terms<'_, R>) -> Option<C> {
        let number = self.page_of(print, terms.setup.shard_bits);
        let at = self.pages.get(number)?.find(print).ok()?;
        let cell = self.pages.get_mut(number)?.remove(at)?;
        self.len -= 1;
        self.give_back(terms.setup.rules.heap_bytes(&cell), &terms.setup.budget);
        self.shrink(number, &terms.setup.budget);
        Some(cell)
    }

    /// Gives back what page `number` holds beyond its need.
    pub(crate) fn shrink(&mut self, number: usize, budget: &Budget) {
        let Some(page) = self.pages.get_mut(number) else {
            return;
        };
        let before = page.bytes();
        page.shrink();
        let after = page.bytes();
        self.give_back(before.saturating_sub(after), budget);
    }

    pub(crate) fn take(&mut self, bytes: usize, budget: &Budget) {
        if bytes > 0 {
            self.bytes += bytes;
            budget.take(bytes);
        }
    }

    #[must_use]
    pub(crate) fn try_take(&mut self, bytes: usize, budget: &Budget) -> bool {
        let taken = budget.try_take(bytes);
        self.bytes += if taken { bytes } else { 0 };
        taken
    }

    pub(crate) fn give_back(&mut self, bytes: usize, budget: &Budget) {
        if bytes > 0 {
            self.bytes -= bytes;
            budget.give_back(bytes);
        }
    }

    fn is_crowded(&self) -> bool {
        self.len > self.pages.len().saturating_mul(LOAD)
    }

    /// Splits the next page of the round, if the budget allows.
    #[inline(never)]
    fn split<R: Rules<C>>(&mut self, terms: &Terms<'_, R>) {
        let round = self.pages.len().next_power_of_two();
        let (mask, round) = match self.pages.len() {
            full if full == round => (2 * round as u64 - 1, round),
            _ => (self.mask, round / 2),
        };
        let from = self.pages.len() - round;
        if terms.setup.sweep == Sweep::BeforeGrowth {
            self.sweep_page(from, terms);
            if !self.is_crowded() {
                return;
            }
        }
        if self.widen_header(&terms.setup.budget)
            && self.split_page(
                from,
                (round as u64) << terms.setup.shard_bits,
                &terms.setup.budget,
            )
        {
            self.mask = mask;
            terms
                .hints
                .note(self.pages.as_ptr().addr(), self.pages.len());
        }
    }

    /// Moves the slots with `bit` from page `from` to one behind the last.
    fn split_page(&mut self, from: usize, bit: u64, budget: &Budget) -> bool {
        let Some(page) = self.pages.get(from) else {
            return false;
        };
        let before = page.bytes();
        if !self.try_take(Page::<C>::bytes_of(roomy(page.count(bit))), budget) {
            return false;
        }
        let page = &mut self.pages[from];
        let upper = page.split(bit);
        let after = page.bytes();
        self.pages.push(upper);
        self.give_back(before.saturating_sub(after), budget);
        true
    }

    /// Makes room for one more page.
    fn widen_header(&mut self, budget: &Budget) -> bool {
        let count = self.pages.len();
        if count < self.pages.capacity() {
            return true;
        }
        let more = (count / 8).max(4);
        let fits = self.try_take(more * size_of::<Page<C>>(), budget);
        if fits {
            self.pages.reserve_exact(more);
        }
        fits
    }
}

/// The page, of `count` ones, for a print less its shard bits; `mask` spans the round.
#[inline]
#[allow(clippy::cast_possible_truncation)] // At most the number of pages, a `usize`.
pub(crate) fn page_of(print: u64, count: usize, mask: u64) -> usize {
    let page = print & mask;
    (if page < count as u64 {
        page
    } else {
        page & (mask >> 1)
    }) as usize
}

/// A cell while the caller works on it; settles its heap bytes even if the caller panics.
struct Held<'a, C, R: Rules<C>> {
    cell: &'a mut C,
    before: usize,
    bytes: &'a mut usize,
    terms: &'a Terms<'a, R>,
}

impl<C, R: Rules<C>> Held<'_, C, R> {
    #[inline]
    fn update<T>(&mut self, f: impl FnOnce(Option<&mut C>) -> (T, Option<C>)) -> T {
        let (answer, replacement) = f(Some(self.cell));
        if let Some(replacement) = replacement {
            *self.cell = replacement;
        }
        answer
    }
}

impl<C, R: Rules<C>> Drop for Held<'_, C, R> {
    #[inline]
    fn drop(&mut self) {
        let after = self.terms.setup.rules.heap_bytes(self.cell);
        if after > self.before {
            *self.bytes += after - self.before;
            self.terms.setup.budget.take(after - self.before);
        } else if after < self.before {
            *self.bytes -= self.before - after;
            self.terms.setup.budget.give_back(self.before - after);
        }
    }
}

/// Cells per page, on average over the shard, beyond which a page is split.
const LOAD: usize = 32;
