//! Ledgers: bytes of one key that an engine keeps as they are, and swaps for others if nobody did so before.
//!
//! Whoever decides by a ledger loads it, decides at the engine's time, and swaps; only then anybody is answered. Swaps
//! are in one order for all nodes, whatever they think of each other. Not here: what the bytes mean.

use std::sync::Arc;

use tollgate_limit::{Instant, Span};

use crate::ask::Name;

/// A key of a contract, by what an engine knows both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerId {
    /// The contract.
    pub tag: u64,
    /// The key.
    pub name: Name,
}

/// Which state of a ledger it is; no two of a key have one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerVersion(pub u64);

impl LedgerVersion {
    /// Of a ledger that is not there.
    pub const NONE: Self = Self(0);
    /// The largest that every engine holds.
    const MAX: u64 = i64::MAX.unsigned_abs();

    /// The version of what is written over this one, by one who loaded it at that time of the engine's. The time keeps
    /// apart what is written after a ledger was dropped from what was written before.
    #[must_use]
    pub fn next(self, at: Instant) -> Self {
        Self(
            self.0
                .saturating_add(1)
                .max(at.as_nanos() / 1_000)
                .min(Self::MAX),
        )
    }
}

/// A ledger as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedLedger {
    /// The bytes; `None` for a key never seen.
    pub bytes: Option<Arc<[u8]>>,
    /// Which state that is.
    pub version: LedgerVersion,
    /// When, by the engine's clock: not before it was asked, not after it answered.
    pub at: Instant,
}

impl LoadedLedger {
    /// What a key never seen has.
    pub const fn nothing(at: Instant) -> Self {
        Self {
            bytes: None,
            version: LedgerVersion::NONE,
            at,
        }
    }

    /// The swap that puts other bytes in its place.
    pub fn replaced_by(&self, bytes: Arc<[u8]>, keep: Span) -> Swap {
        Swap {
            from: self.version,
            to: self.version.next(self.at),
            bytes,
            keep,
        }
    }
}

/// New bytes for a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// The state that must be there.
    pub from: LedgerVersion,
    /// The state from then on.
    pub to: LedgerVersion,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// For how long they say more than a key never seen.
    pub keep: Span,
}

/// What became of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// It is written.
    Done,
    /// Somebody else wrote before; nothing is changed.
    Lost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_grow_and_do_not_come_again_after_a_ledger_was_dropped() {
        let at = |micros: u64| Instant::from_nanos(micros * 1_000);
        let first = LedgerVersion::NONE.next(at(50));
        assert_eq!(first, LedgerVersion(50));
        // Written over faster than the clock runs, or while it is set back.
        assert_eq!(first.next(at(50)), LedgerVersion(51));
        assert_eq!(first.next(at(7)), LedgerVersion(51));
        assert_eq!(LedgerVersion::NONE.next(at(60)), LedgerVersion(60));
        assert_eq!(
            LedgerVersion(u64::MAX - 1).next(at(1)),
            LedgerVersion(LedgerVersion::MAX)
        );
    }
}
