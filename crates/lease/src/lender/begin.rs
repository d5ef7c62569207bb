//! By what a key begins of which a grantor keeps nothing: with nothing, as predecessors may have lent and spent all.
//!
//! Not here: what happens to it then.

use std::sync::Arc;

use tollgate_limit::Instant;

use super::{HEARD_NS, Lender, LenderSetup};
use crate::amount::after;
use crate::pool::{Lend, Pool, PoolTerms};
use crate::window::WindowClock;

impl LenderSetup {
    /// When all that predecessors lent is over.
    pub(super) fn learnt(&self) -> Instant {
        let late = if self.has_successors { HEARD_NS } else { 0 };
        after(self.since, self.out_ns().saturating_add(late))
    }

    /// What all pools have in common. Of a window only tokens are lent.
    pub(super) fn terms(&self) -> Arc<PoolTerms> {
        let (limits, mut rules) = (self.limits, self.rules);
        if self.window.is_some() {
            rules.lend = Lend::Tokens;
        }
        Arc::new(PoolTerms { limits, rules })
    }
}

/// By what a key begins that is not kept.
pub(super) struct Beginning<'l> {
    pub(super) setup: &'l LenderSetup,
    pub(super) terms: &'l Arc<PoolTerms>,
    pub(super) clock: WindowClock,
}

impl Beginning<'_> {
    /// A key that this grantor has not seen: as that of a successor since it grants, for a predecessor may have lent
    /// and spent all.
    pub(super) fn fresh(&self, now: Instant) -> Pool {
        let pool = self.successor(self.setup.since);
        let mut pool = pool.until(self.setup.learnt());
        pool.advance(now);
        pool
    }

    /// A key of which a predecessor may have lent and spent all.
    pub(super) fn successor(&self, now: Instant) -> Pool {
        let pool = Pool::restating_by(Arc::clone(self.terms), self.setup.generation, now);
        match &self.setup.window {
            Some(window) => pool.counting(window, self.clock),
            None => pool,
        }
    }
}

impl Lender {
    /// How keys begin now.
    pub(super) fn beginning(&self) -> Beginning<'_> {
        Beginning {
            setup: &self.setup,
            terms: &self.terms,
            clock: self.clock,
        }
    }
}
