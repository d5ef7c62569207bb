//! Which keys of a contract changed since somebody last looked.
//!
//! Kept only for contracts with a durable policy. Bounded: when more keys changed than are kept, all of them count as
//! changed. Not here: what is done about it (`durable`).

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tollgate_table::Print;

/// Prints that changed, in parts with a lock each.
#[derive(Debug)]
pub(crate) struct Dirty(Box<[Mutex<Part>]>);

#[derive(Debug, Default)]
struct Part {
    prints: BTreeSet<u64>,
    overflowed: bool,
}

impl Dirty {
    pub(crate) fn new() -> Self {
        Self((0..PARTS).map(|_| Mutex::default()).collect())
    }

    /// Notes that a key changed.
    pub(crate) fn mark(&self, print: Print) {
        if let Some(part) = self.0.get(part_of(print)) {
            let mut part = part.lock();
            if part.prints.len() < PART_MAX {
                part.prints.insert(print.0);
            } else if !part.prints.contains(&print.0) {
                part.overflowed = true;
            }
        }
    }

    /// Moves what changed to `prints`; says whether there was more than that.
    pub(crate) fn take(&self, prints: &mut Vec<Print>) -> bool {
        let mut overflowed = false;
        for part in &self.0 {
            let part = std::mem::take(&mut *part.lock());
            prints.extend(part.prints.into_iter().map(Print));
            overflowed |= part.overflowed;
        }
        overflowed
    }
}

/// The upper bits, as the lower ones choose a page.
fn part_of(print: Print) -> usize {
    usize::try_from(print.0 >> (u64::BITS - PARTS.ilog2())).unwrap_or_default()
}

const PARTS: usize = 64;
/// The most prints of one part.
const PART_MAX: usize = 1 << 14;

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
}
