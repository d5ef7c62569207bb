//! Ledgers: opaque bytes of one key that an engine stores, with compare-and-swap.
//!
//! A node that decides by a ledger loads it, decides at the engine's time, and swaps; it answers only after that. Swaps
//! have one order for all nodes, even during partitions. Not here: what the bytes mean.

use std::sync::Arc;

use tollgate_limit::{Instant, Span};

use crate::ask::Name;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerId {
    pub tag: u64,
    pub name: Name,
}

/// Unique among the states of a key's ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerVersion(pub u64);

impl LedgerVersion {
    /// Of a ledger that does not exist.
    pub const NONE: Self = Self(0);
    /// The largest that every engine can store.
    const MAX: u64 = i64::MAX.unsigned_abs();

    /// The version of a swap by a node that loaded this one at that engine time. The time distinguishes
    /// writes after a ledger was deleted from writes before.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedLedger {
    /// `None` for an unknown key.
    pub bytes: Option<Arc<[u8]>>,
    pub version: LedgerVersion,
    /// The engine's clock, between request and answer.
    pub at: Instant,
}

impl LoadedLedger {
    /// For an unknown key.
    pub const fn nothing(at: Instant) -> Self {
        Self {
            bytes: None,
            version: LedgerVersion::NONE,
            at,
        }
    }

    pub fn replaced_by(&self, bytes: Arc<[u8]>, keep: Span) -> Swap {
        Swap {
            from: self.version,
            to: self.version.next(self.at),
            bytes,
            keep,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// The expected version.
    pub from: LedgerVersion,
    /// The new version.
    pub to: LedgerVersion,
    pub bytes: Arc<[u8]>,
    /// How long the bytes differ from an unknown key.
    pub keep: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped {
    Done,
    /// Another node wrote before; nothing changed.
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
        // Several writes within one tick of the clock, or after it was set back.
        assert_eq!(first.next(at(50)), LedgerVersion(51));
        assert_eq!(first.next(at(7)), LedgerVersion(51));
        assert_eq!(LedgerVersion::NONE.next(at(60)), LedgerVersion(60));
        assert_eq!(
            LedgerVersion(u64::MAX - 1).next(at(1)),
            LedgerVersion(LedgerVersion::MAX)
        );
    }
}
