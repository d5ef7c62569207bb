//! What a table is told and what it tells: rules of cells, configuration, counters, the one error.
//!
//! Not here: the byte budget, which several tables may share (`budget.rs`).

use std::fmt;

use crate::print::Print;

/// What the table must know of its cells; everything else about them is opaque to it.
pub trait CellRules<C> {
    /// The time (nanoseconds since the epoch) from which the cell equals a fresh one, so that
    /// dropping it changes no answer.
    fn fresh_at(&self, cell: &C) -> u64;

    /// The bytes the cell owns outside of itself.
    fn heap_bytes(&self, cell: &C) -> usize;

    /// How much of what its key may have is used at `now`: from zero to all, which is `u32::MAX`. Where a cell must be
    /// dropped although it is of use it is one of which least is used, and of several such the one that is fresh first.
    fn used(&self, cell: &C, now: u64) -> u32 {
        let _ = (cell, now);
        0
    }

    /// Whether some cells must not be dropped while they are of use. Then room for a key is made before it is decided
    /// about, and a key for which there is none is refused.
    fn are_kept(&self) -> bool {
        false
    }

    /// Whether the cell of this key may be dropped although it is of use.
    fn may_go(&self, print: Print) -> bool {
        let _ = print;
        true
    }

    /// Such a cell is about to be dropped, or a key was refused for want of room; nobody else has its page meanwhile.
    fn goes(&self) {}
}

/// How a table is laid out and what it does at its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableConfig {
    /// The number of shards, which is that of the pages at the start: a power of two, rounded up, of at most 65 536. By
    /// default one per 16 KiB of the budget, and at least 64. Each takes 32 bytes; the more there are, the less threads
    /// with different keys disturb each other.
    pub shards: Option<usize>,
    /// What happens to a key that finds no room.
    pub when_full: WhenFull,
    /// When cells that equal a fresh one are dropped.
    pub sweep: Sweep,
}

/// What happens to an absent key when the budget is spent and nothing fresh can be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// A cell nearby makes room, one of which little is used ([`CellRules::used`]).
    #[default]
    Evict,
    /// The key is turned away with [`Full`]. Cells that are there stay, and may still grow what they own.
    Refuse,
}

/// When cells that equal a fresh one are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// Before a page grows: the table stays as small as its live cells.
    #[default]
    BeforeGrowth,
    /// Only when the budget would be exceeded: for clocks that may run backwards, where a cell that
    /// looks fresh may be needed again.
    AtBudget,
}

/// The budget is spent and the key has no cell: nothing was changed, and the caller decides without
/// the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no room for another key within the byte budget")
    }
}

impl std::error::Error for Full {}

/// What happened at the limits since the table was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Cells dropped because they equalled a fresh one; no answer changed.
    pub dropped_fresh: u64,
    /// Cells dropped although they were still of use; their keys start afresh.
    pub evicted_live: u64,
    /// Keys turned away for want of room.
    pub refused_new: u64,
}

impl Counters {
    /// The sum of both, field by field.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            dropped_fresh: self.dropped_fresh.wrapping_add(other.dropped_fresh),
            evicted_live: self.evicted_live.wrapping_add(other.evicted_live),
            refused_new: self.refused_new.wrapping_add(other.refused_new),
        }
    }
}
