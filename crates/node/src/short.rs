//! The short way of a request: one bare key, one contract of one plain bucket, a cell that is there.
//!
//! All of it is inlined into the caller, who pays for the parts of the answer that he looks at. Not here: what a plain
//! bucket is (`limit`), and whatever is out of the ordinary (`decide`).

use std::hint::cold_path;

use tollgate_limit::{Cost, Instant, Plain, PlainDecision};
use tollgate_table::Print;

use crate::answer::{Answer, KeyLocation};
use crate::cells::{Cells, Width};
use crate::decide::DecideRequest;
use crate::key::Key;
use crate::node::{Lone, Node, bare_print};

impl Node {
    /// Like [`Self::check`], but asks for the time when that costs least. `at_once` is the time where nothing else has
    /// to be done to know it.
    ///
    /// While the cells fit in a cache, that is before the lock: the clock is read while that is fetched. Later it is
    /// when the key's cell is at hand: a processor's counter waits for the memory of the request before it, so that
    /// requests read sooner would wait for memory one by one.
    ///
    /// The way of a key that is found at once, in a page that is not in use, is inlined whole: callers pay only for the
    /// parts of an answer they look at. Whatever else there is to do is done apart from it and returned in few words,
    /// so that it takes no registers from that way.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Measured: a call costs a third of the whole decision.
    pub fn check_when(
        &self,
        key: Key<'_>,
        cost: Cost,
        at_once: impl FnOnce() -> Option<Instant>,
        now: impl Fn() -> Instant + Copy,
    ) -> Answer {
        if let Some(Lone { place, cells }) = &self.lone
            && !matches!(key, Key::Entries(_))
        {
            let print = bare_print(&self.seed, key);
            let taken = cells.take_at_once(print, cost, at_once).or_else(|| {
                cold_path();
                take_late(cells, print, cost, now)
            });
            if let Some((plain, taken)) = taken {
                let place = KeyLocation {
                    contract: *place,
                    cells: cells.id,
                    print,
                };
                return Answer::taken(place, plain, taken).by(self.version());
            }
        }
        cold_path();
        let slow = match key {
            Key::Word(word) => self.check_word(word, cost, now),
            Key::Text(text) => self.check_text(text, cost, now),
            Key::Entries(entries) => self.check_entries(entries, cost, now),
        };
        // Put together field by field, so that those nobody looks at need no place in memory on the short way either.
        Answer {
            version: slow.version,
            ..slow
        }
    }

    #[inline(never)]
    fn check_word(&self, word: u64, cost: Cost, now: impl Fn() -> Instant) -> Answer {
        let ask = DecideRequest { cost, now: now() };
        self.whole().check_any(Key::Word(word), ask)
    }

    #[inline(never)]
    fn check_text(&self, text: &[u8], cost: Cost, now: impl Fn() -> Instant) -> Answer {
        let ask = DecideRequest { cost, now: now() };
        self.whole().check_any(Key::Text(text), ask)
    }

    #[inline(never)]
    fn check_entries(
        &self,
        entries: &[(&str, &str)],
        cost: Cost,
        now: impl Fn() -> Instant,
    ) -> Answer {
        let ask = DecideRequest { cost, now: now() };
        self.whole().check_any(Key::Entries(entries), ask)
    }
}

impl Cells {
    /// Decides the short way for a key that has a cell, where there is a short way.
    #[inline]
    pub(crate) fn take(
        &self,
        print: Print,
        cost: Cost,
        now: impl FnOnce() -> Instant,
    ) -> Option<(&Plain, PlainDecision)> {
        let Width::Plain(table, plain) = &self.width else {
            return None;
        };
        let taken = table.in_place(print, |cell| {
            if self.is_left() {
                return None;
            }
            plain.take(cell, cost, now())
        })?;
        Some((plain, taken?))
    }

    /// The same where nobody has to be waited for and the key is found at once; there are no such spots in cells that
    /// have an heir.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The short way is worth it only as one function.
    pub(crate) fn take_at_once(
        &self,
        print: Print,
        cost: Cost,
        now: impl FnOnce() -> Option<Instant>,
    ) -> Option<(&Plain, PlainDecision)> {
        let Width::Plain(table, plain) = &self.width else {
            return None;
        };
        let spot = table.spot(print)?;
        let now = now()?;
        let mut page = spot.lock()?;
        Some((plain, plain.take(page.near(print)?, cost, now)?))
    }
}

/// Decides the short way for a key that may have to be searched or waited for.
#[inline(never)]
fn take_late(
    cells: &Cells,
    print: Print,
    cost: Cost,
    now: impl Fn() -> Instant,
) -> Option<(&Plain, PlainDecision)> {
    cells.take(print, cost, now)
}
