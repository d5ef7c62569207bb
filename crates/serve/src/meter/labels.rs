//! Which contracts are counted by name: the first ones ever loaded up to a limit; the rest together.
//!
//! A contract keeps its column when contracts are loaded again, so that its counters go on. Requests started before a
//! load and ending after it may be counted for the contract that then has the place of theirs.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_contract::Contracts;

/// Columns of counters: one for each named contract, one for the rest, one for no contract.
pub(super) const COLUMNS: usize = NAMED_MAX + 2;

pub(super) const NAMED_MAX: usize = 64;
const OTHER: usize = NAMED_MAX;
const NONE: usize = NAMED_MAX + 1;
/// Contracts at places beyond are counted with the rest.
const PLACES_MAX: usize = 4_096;

pub(super) struct Labels {
    /// Indexed by the place of a contract.
    columns: Box<[AtomicU8]>,
    names: Mutex<Vec<String>>,
}

impl Labels {
    pub(super) fn new() -> Self {
        let other = || AtomicU8::new(u8::try_from(OTHER).unwrap_or(0));
        Self {
            columns: std::iter::repeat_with(other).take(PLACES_MAX).collect(),
            names: Mutex::new(Vec::new()),
        }
    }

    /// Call after contracts were loaded.
    pub(super) fn load(&self, contracts: &Contracts) {
        let mut names = self.names.lock();
        for (contract, column) in contracts.as_slice().iter().zip(&*self.columns) {
            let known = names.iter().position(|name| *name == contract.id);
            let place = known.unwrap_or_else(|| {
                if names.len() == NAMED_MAX {
                    return OTHER;
                }
                names.push(contract.id.clone());
                names.len() - 1
            });
            column.store(u8::try_from(place).unwrap_or(0), Relaxed);
        }
    }

    #[inline]
    pub(super) fn column(&self, contract: Option<usize>) -> usize {
        let Some(place) = contract else {
            return NONE;
        };
        let column = self.columns.get(place);
        column.map_or(OTHER, |column| usize::from(column.load(Relaxed)))
    }

    pub(super) fn name(&self, contract: Option<usize>) -> String {
        let column = self.column(contract);
        let found = self.names().into_iter().find(|named| named.0 == column);
        found.map(|named| named.1).unwrap_or_default()
    }

    /// Every column that may have counts, with its name.
    pub(super) fn names(&self) -> Vec<(usize, String)> {
        let names = self.names.lock();
        let by_column = names.iter().cloned().enumerate();
        let rest = [(OTHER, "other".into()), (NONE, "none".into())];
        by_column.chain(rest).collect()
    }
}
