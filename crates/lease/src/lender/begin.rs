//! By what a key begins of which a grantor keeps nothing: with nothing, as predecessors may have lent and spent all;
//! full where all who could have lent it say that they did not.
//!
//! Not here: what happens to it then.

use std::sync::Arc;

use tollgate_limit::Instant;

use super::{HEARD_NS, Lender, LenderSetup, add};
use crate::ModeKey;
use crate::amount::{after, wait_ns};
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
    /// Whether no grantor has lent before.
    pub(super) is_proven: bool,
}

/// What a grantor knows of those who may have lent before it, and of what it gave up itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    /// Whether it lends since its node began, which never ran before.
    is_first: bool,
    /// Whether no grantor has lent before.
    pub(super) is_proven: bool,
    /// Until then what it gave up to others may be lent, or not be full.
    gone_until: Instant,
}

impl Past {
    pub(super) const fn new() -> Self {
        Self {
            is_first: false,
            is_proven: false,
            gone_until: Instant::from_nanos(0),
        }
    }

    /// Others may have lent.
    pub(super) const fn doubt(&mut self) {
        (self.is_first, self.is_proven) = (false, false);
    }
}

impl Beginning<'_> {
    /// A key that this grantor has not seen: as that of a successor since it grants, for a predecessor may have lent
    /// and spent all.
    pub(super) fn fresh(&self, now: Instant) -> Pool {
        if self.is_proven {
            let pool = Pool::by(Arc::clone(self.terms), self.setup.generation, now);
            return self.counted(pool);
        }
        let pool = self.successor(self.setup.since);
        let mut pool = pool.until(self.setup.learnt());
        pool.advance(now);
        pool
    }

    /// A key of which a predecessor may have lent and spent all.
    pub(super) fn successor(&self, now: Instant) -> Pool {
        let terms = Arc::clone(self.terms);
        self.counted(Pool::restating_by(terms, self.setup.generation, now))
    }

    fn counted(&self, pool: Pool) -> Pool {
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
            is_proven: self.past.is_proven,
        }
    }

    /// The node of this grantor never ran before, so that it has lent nothing: others may have.
    pub const fn begin_first(&mut self) {
        self.past.is_first = true;
    }

    /// Whether it would have all who may have lent say that they did not.
    pub const fn wants_proof(&self) -> bool {
        self.past.is_first && !self.past.is_proven
    }

    /// No grantor has lent before, as all who may have say: keys begin full.
    pub fn prove(&mut self) {
        if !self.past.is_first {
            return;
        }
        self.past.is_proven = true;
        let counts = &mut self.counts.past;
        self.pools.retain(|_, pool| {
            let is_new = pool.is_learning() && pool.lessees() == 0;
            if is_new {
                add(counts, &pool.figures());
            }
            !is_new
        });
    }

    /// Whether nothing is out that it lent of keys which others lend by now, and those would be full.
    pub fn is_settled(&self, now: Instant) -> bool {
        let knows_all = self.past.is_first || now >= after(self.setup.learnt(), self.fills_ns());
        knows_all && now >= self.past.gone_until && self.acted.is_empty()
    }

    /// How long an empty bucket takes to fill.
    fn fills_ns(&self) -> u64 {
        let limits = &self.setup.limits;
        wait_ns(limits, limits.depth(), 0, 0).unwrap_or(u64::MAX)
    }

    /// Gives up keys that others lend from here on.
    pub(super) fn give_up(&mut self, mut is_mine: impl FnMut(ModeKey) -> bool, now: Instant) {
        let planes = self.planes.count();
        self.planes.retain(&mut is_mine);
        let mut is_out = self.planes.count() < planes;
        let counts = &mut self.counts.past;
        self.pools.retain(|key, pool| {
            let keeps = is_mine(key);
            if !keeps {
                pool.advance(now);
                // What it has not begun to lend, it has not lent.
                let is_new = pool.is_learning() && pool.lessees() == 0;
                is_out |= !pool.is_fresh() && !is_new;
                add(counts, &pool.figures());
            }
            keeps
        });
        if is_out {
            let over = self.setup.out_ns().saturating_add(HEARD_NS);
            self.past.gone_until = after(now, over.saturating_add(self.fills_ns()));
        }
    }
}
