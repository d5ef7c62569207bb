//! Requests in batches: what the next keys need is fetched while this one is decided.
//!
//! Two steps run ahead of the decision: the page and its lock first, then the slots around the guess. The steps keep a
//! fixed distance, so that few fetches are under way at a time: more than a core has buffers for seem to be dropped. Of
//! the distances 3, 5, 8 and 12 keys, 8 measured best; fetching 32 keys at once was slower than 8 at once.
//!
//! Not here: any reordering. Effects come in the order of the batch.

use crate::config::{CellRules, Full};
use crate::prefetch::prefetch_address;
use crate::print::Print;
use crate::table::Table;

impl<C, R: CellRules<C>> Table<C, R> {
    /// Runs `f` on the cell of each key in turn, like [`update`](Self::update) but faster for many
    /// keys, as it waits for memory once per batch and not once per key.
    ///
    /// `f` is given the index of the key and its cell, or the refusal of an absent key; a cell it
    /// returns is put in, except after a refusal.
    pub fn update_many(
        &self,
        prints: &[Print],
        now: u64,
        mut f: impl FnMut(usize, Result<Option<&mut C>, Full>) -> Option<C>,
    ) {
        for step in 0..prints.len() + 2 * AHEAD {
            if let Some(&print) = prints.get(step) {
                self.prefetch_page(print);
            }
            if let Some(&print) = step.checked_sub(AHEAD).and_then(|at| prints.get(at)) {
                self.prefetch_slots(print);
            }
            if let Some(index) = step.checked_sub(2 * AHEAD)
                && let Some(&print) = prints.get(index)
            {
                let done = self.update(print, now, |cell| ((), f(index, Ok(cell))));
                if let Err(full) = done {
                    f(index, Err(full));
                }
            }
        }
    }

    /// Starts fetching the page of a key, which is found without its lock.
    #[inline]
    pub fn prefetch_page(&self, print: Print) {
        if let Some(page) = self.directory.page_of(print.0) {
            prefetch_address(core::ptr::from_ref(page).addr());
        }
    }

    /// Starts fetching the slots around a key; not if its page is in use, as a hint is not worth a wait.
    #[inline]
    pub fn prefetch_slots(&self, print: Print) {
        if let Some(page) = self.directory.page_of(print.0)
            && let Some(page) = page.try_lock()
        {
            page.prefetch(print.0);
        }
    }
}

/// Keys between one step and the next.
const AHEAD: usize = 8;
