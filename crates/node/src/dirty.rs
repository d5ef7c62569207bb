//! Which keys of a contract changed since somebody last looked, and which may have a row that is not in memory.
//!
//! Kept only for contracts with a durable policy. A key is marked under the lock of its page, so that whoever has that
//! lock knows whether the key's cell is as it was written: only such a cell may be evicted. From then on a key without
//! a cell may have a row, and is not decided about before somebody has looked. Bounded: when more keys changed than are
//! kept, all of them count as changed. Not here: what is written and read, and when (`durable`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_table::Print;

/// Prints that changed, in parts with a lock each.
#[derive(Debug)]
pub(crate) struct Dirty {
    parts: Box<[Mutex<Part>]>,
    /// Whether somebody writes what changed.
    is_kept: AtomicBool,
    /// Why keys without a cell may have rows, where they may.
    away: AtomicU8,
    /// How many contracts have such keys.
    all_away: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Part {
    prints: BTreeSet<u64>,
    overflowed: bool,
    /// Those that are being written.
    writing: BTreeSet<u64>,
    all_writing: bool,
    /// Those without a cell that are known to have no row.
    rowless: BTreeSet<u64>,
}

impl Part {
    /// Whether a key changed, or was removed, since it was written; `false` too where so many did that nobody knows.
    fn is_unwritten(&self, print: Print) -> bool {
        self.prints.contains(&print.0) || self.writing.contains(&print.0)
    }
}

impl Dirty {
    pub(crate) fn new() -> Self {
        Self::among(Arc::default())
    }

    /// The same, which counts among those with keys that may have rows.
    pub(crate) fn among(all_away: Arc<AtomicUsize>) -> Self {
        Self {
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            is_kept: AtomicBool::new(false),
            away: AtomicU8::new(0),
            all_away,
        }
    }

    /// Somebody writes what changes, and has rows that were not read yet.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Relaxed);
        self.miss(UNREAD);
    }

    /// Whether somebody writes what changes.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept.load(Relaxed)
    }

    /// All rows were read.
    pub(crate) fn all_read(&self) {
        if self.away.fetch_and(!UNREAD, Relaxed) == UNREAD {
            self.all_away.fetch_sub(1, Relaxed);
        }
    }

    /// A cell that was written is evicted, or found no room.
    pub(crate) fn evicted(&self) {
        if self.is_kept() {
            self.miss(EVICTED);
        }
    }

    fn miss(&self, why: u8) {
        if self.away.load(Relaxed) & why == 0 && self.away.fetch_or(why, Relaxed) == 0 {
            self.all_away.fetch_add(1, Relaxed);
        }
    }

    /// Whether a key without a cell may have a row.
    #[inline]
    pub(crate) fn is_away(&self, print: Print) -> bool {
        self.away.load(Relaxed) != 0 && self.may_have_row(print)
    }

    #[cold]
    fn may_have_row(&self, print: Print) -> bool {
        let part = self.part(print).map(|part| part.lock());
        part.is_none_or(|part| !part.is_unwritten(print) && !part.rowless.contains(&print.0))
    }

    /// A key without a cell has no row, unless it changed meanwhile.
    pub(crate) fn has_no_row(&self, print: Print) {
        if let Some(part) = self.part(print) {
            let mut part = part.lock();
            if !part.is_unwritten(print) {
                if part.rowless.len() >= ROWLESS_MAX {
                    part.rowless.clear();
                }
                part.rowless.insert(print.0);
            }
        }
    }

    /// Whether a row that was read is older than what became of its key.
    pub(crate) fn is_newer(&self, print: Print) -> bool {
        let part = self.part(print).map(|part| part.lock());
        part.is_some_and(|part| part.is_unwritten(print))
    }

    /// Whether the cell of a key may be evicted: nobody writes, or it was written.
    pub(crate) fn may_go(&self, print: Print) -> bool {
        let is_written = |part: &Mutex<Part>| {
            let part = part.lock();
            !part.overflowed && !part.all_writing && !part.is_unwritten(print)
        };
        !self.is_kept() || self.part(print).is_some_and(is_written)
    }

    /// Notes that a key changed.
    pub(crate) fn mark(&self, print: Print) {
        if let Some(part) = self.part(print) {
            let mut part = part.lock();
            part.rowless.remove(&print.0);
            if part.prints.len() < PART_MAX {
                part.prints.insert(print.0);
            } else if !part.prints.contains(&print.0) {
                part.overflowed = true;
            }
        }
    }

    /// Moves what changed to `prints`; says whether there was more than that. Until [`Self::written`] it stays
    /// unwritten.
    pub(crate) fn take(&self, prints: &mut Vec<Print>) -> bool {
        let mut overflowed = false;
        for part in &self.parts {
            let mut part = part.lock();
            let taken = std::mem::take(&mut part.prints);
            let all = std::mem::take(&mut part.overflowed);
            prints.extend(taken.iter().copied().map(Print));
            overflowed |= all;
            if self.is_kept() {
                part.writing.extend(taken);
                part.all_writing |= all;
                if part.writing.len() > PART_MAX {
                    part.all_writing = true;
                    part.writing.clear();
                }
            }
        }
        overflowed
    }

    /// Nothing changed since it was written.
    pub(crate) fn forget(&self) {
        for part in &self.parts {
            *part.lock() = Part::default();
        }
    }

    /// All that was taken is written.
    pub(crate) fn written(&self) {
        for part in &self.parts {
            let mut part = part.lock();
            part.writing.clear();
            part.all_writing = false;
        }
    }

    /// The upper bits choose, as the lower ones choose a page.
    fn part(&self, print: Print) -> Option<&Mutex<Part>> {
        let part = print.0 >> (u64::BITS - PARTS.ilog2());
        self.parts.get(usize::try_from(part).unwrap_or_default())
    }
}

impl Drop for Dirty {
    fn drop(&mut self) {
        if *self.away.get_mut() != 0 {
            self.all_away.fetch_sub(1, Relaxed);
        }
    }
}

const PARTS: usize = 64;
/// The most prints of one part.
const PART_MAX: usize = 1 << 14;
/// The most prints of one part that are known to have no row.
const ROWLESS_MAX: usize = 1 << 8;
/// Rows were not read yet.
const UNREAD: u8 = 1;
/// A cell was evicted.
const EVICTED: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once_and_too_many_are_told_as_all() {
        let dirty = Dirty::new();
        let mut prints = Vec::new();
        for print in [7, u64::MAX, 7] {
            dirty.mark(Print(print));
        }
        assert!(!dirty.take(&mut prints));
        assert_eq!(prints, [Print(7), Print(u64::MAX)]);
        assert!(!dirty.take(&mut prints));
        assert_eq!(prints.len(), 2);
        (0..=PART_MAX as u64).for_each(|print| dirty.mark(Print(print)));
        assert!(dirty.take(&mut prints));
        assert_eq!(prints.len(), 2 + PART_MAX);
    }

    #[test]
    fn a_cell_may_go_once_it_is_written_and_not_while_it_is() {
        let dirty = Dirty::new();
        dirty.mark(Print(7));
        assert!(dirty.may_go(Print(7)), "nobody writes");
        dirty.keep();
        assert!(!dirty.may_go(Print(7)) && dirty.may_go(Print(8)));
        dirty.take(&mut Vec::new());
        assert!(!dirty.may_go(Print(7)));
        dirty.written();
        assert!(dirty.may_go(Print(7)));
        (0..=PART_MAX as u64).for_each(|print| dirty.mark(Print(print)));
        assert!(
            !dirty.may_go(Print(1 << 40)),
            "any of them may have changed"
        );
    }

    #[test]
    fn a_key_is_away_until_somebody_has_looked_or_it_changed() {
        let all = Arc::default();
        let dirty = Dirty::among(Arc::clone(&all));
        dirty.evicted();
        assert!(!dirty.is_away(Print(7)), "nobody writes");
        dirty.keep();
        assert!(dirty.is_away(Print(7)));
        dirty.has_no_row(Print(7));
        assert!(!dirty.is_away(Print(7)));
        dirty.mark(Print(7));
        dirty.take(&mut Vec::new());
        assert!(
            !dirty.is_away(Print(7)),
            "it was removed, and is not there any more"
        );
        dirty.written();
        assert!(dirty.is_away(Print(7)), "it has a row by now");
        dirty.all_read();
        assert!(!dirty.is_away(Print(7)));
        dirty.evicted();
        assert_eq!(all.load(Relaxed), 1);
        drop(dirty);
        assert_eq!(all.load(Relaxed), 0);
    }
}
