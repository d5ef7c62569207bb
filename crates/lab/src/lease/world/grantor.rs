//! The grantor of the world: a pool with a door that is open or not, or the centre of `sync`.
//!
//! Not here: what it says to whom.

use tollgate_lease::{Centre, Limits, Pool, Rules};
use tollgate_limit::Instant;

use super::plot::Recovery;

/// The grantor.
pub(super) struct Grantor {
    pub(super) desk: Desk,
    limits: Limits,
    rules: Rules,
    generation: u64,
    /// Whether anybody is at the desk.
    pub(super) is_up: bool,
    /// When it last fell.
    pub(super) fell: u64,
    /// Until then nobody is heard.
    closed_until: u64,
}

/// What it runs.
pub(super) enum Desk {
    Pool(Box<Pool>),
    Centre(Centre),
}

impl Grantor {
    pub(super) fn new(limits: Limits, rules: Rules, centre: Option<Centre>) -> Self {
        let pool = || Pool::new(limits, rules, 1, Instant::from_nanos(0));
        Self {
            desk: centre.map_or_else(|| Desk::Pool(Box::new(pool())), Desk::Centre),
            limits,
            rules,
            generation: 1,
            is_up: true,
            fell: 0,
            closed_until: 0,
        }
    }

    /// Whether it hears what arrives now.
    pub(super) fn hears(&self, now: u64) -> bool {
        self.is_up && now >= self.closed_until
    }

    /// It is gone. Its books stay here for those who judge.
    pub(super) fn fall(&mut self, now: u64) {
        (self.is_up, self.fell) = (false, now);
    }

    /// A successor takes over.
    pub(super) fn rise(&mut self, recovery: Recovery, now: u64) {
        self.is_up = true;
        self.generation += 1;
        if let Desk::Pool(pool) = &mut self.desk {
            let at = Instant::from_nanos(now);
            let (limits, rules, generation) = (self.limits, self.rules, self.generation);
            **pool = match recovery {
                Recovery::Ledger => pool.clone().resume(generation),
                Recovery::Restate | Recovery::Quarantine => {
                    Pool::restating(limits, rules, generation, at)
                }
                Recovery::Careless => Pool::new(limits, rules, generation, at),
            };
            if recovery == Recovery::Quarantine {
                self.closed_until = now + self.rules.term_ns;
            }
        }
    }
}
