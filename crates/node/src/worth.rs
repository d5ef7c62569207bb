//! What a table is told of the cells of a contract: when they are fresh, how much is used, and which may go.
//!
//! Not here: what was written (`dirty`).

use std::sync::Arc;

use tollgate_limit::{Cell, Instant, PolicySet};
use tollgate_table::{CellRules, Print};

use crate::dirty::Dirty;
use crate::terms::TermsCell;

/// Tells the table what a cell of these policies is worth.
#[derive(Debug)]
pub(crate) struct Worth {
    pub(crate) set: Arc<PolicySet>,
    /// Where a policy is durable.
    pub(crate) dirty: Option<Arc<Dirty>>,
}

impl Worth {
    /// Whether somebody writes cells, so that they must not be dropped before.
    pub(crate) fn are_kept(&self) -> bool {
        self.dirty.as_ref().is_some_and(|dirty| dirty.is_kept())
    }

    pub(crate) fn may_go(&self, print: Print) -> bool {
        self.dirty.as_ref().is_none_or(|dirty| dirty.may_go(print))
    }

    pub(crate) fn goes(&self) {
        if let Some(dirty) = &self.dirty {
            dirty.evicted();
        }
    }
}

impl<const N: usize> CellRules<Cell<N>> for Worth {
    fn fresh_at(&self, cell: &Cell<N>) -> u64 {
        self.set.fresh_at(cell).as_nanos()
    }

    #[inline]
    fn heap_bytes(&self, cell: &Cell<N>) -> usize {
        cell.heap_bytes()
    }

    fn used(&self, cell: &Cell<N>, now: u64) -> u32 {
        self.set.used(cell, Instant::from_nanos(now))
    }

    fn are_kept(&self) -> bool {
        self.are_kept()
    }

    fn may_go(&self, print: Print) -> bool {
        self.may_go(print)
    }

    fn goes(&self) {
        self.goes();
    }
}

impl CellRules<TermsCell> for Worth {
    fn fresh_at(&self, own: &TermsCell) -> u64 {
        own.by.set(&self.set).fresh_at(&own.cell).as_nanos()
    }

    fn used(&self, own: &TermsCell, now: u64) -> u32 {
        let set = own.by.set(&self.set);
        set.used(&own.cell, Instant::from_nanos(now))
    }

    fn are_kept(&self) -> bool {
        self.are_kept()
    }

    fn may_go(&self, print: Print) -> bool {
        self.may_go(print)
    }

    fn goes(&self) {
        self.goes();
    }

    fn heap_bytes(&self, own: &TermsCell) -> usize {
        own.heap_bytes()
    }
}
