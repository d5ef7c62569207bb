//! Requests that the grantor decides: of those who never have a lease, and of those in line; and what it promised them.
//!
//! What is promised passes at its time even if whoever promised it is gone. Not here: leases.

use tollgate_gossip::Verdict;
use tollgate_limit::Span;

use super::{Event, World};
use crate::PoolFigures;
use crate::message::Waits;

impl World {
    /// Lets requests wait that long, and some ask the grantor each time; after tuning, before anything happens.
    pub(crate) fn delay(&mut self, max_wait_ns: u64, direct: f64) {
        // What was promised must be over when a successor speaks.
        let max_wait_ns = max_wait_ns.min(self.rules.term_ns);
        (self.habits.max_wait_ns, self.habits.direct) = (max_wait_ns, direct);
        self.rules.max_wait_ns = max_wait_ns;
        self.tune(self.rules.term_ns, self.habits.drift_ppm);
        self.next_direct();
    }

    fn next_direct(&mut self) {
        let rate = self.habits.direct;
        if rate > 0.0 {
            let wait = self.dice.wait_ns(rate);
            self.at(self.now() + wait, Event::Direct);
        }
    }

    pub(super) fn ask_directly(&mut self) {
        self.next_direct();
        let cost = self.dice.between(1, 3);
        let now = self.instant();
        let Some(pool) = self.pool.as_mut() else {
            return;
        };
        match pool.probe(cost, now).verdict {
            Verdict::Allow { wait, .. } => {
                pool.spend(cost, now);
                self.tally.granted += u64::from(wait > Span::ZERO);
                self.pass_after(cost, wait);
            }
            Verdict::Deny { retry_after } => {
                assert!(retry_after > Span::ZERO);
                pool.miss(cost, now);
            }
            Verdict::Never => {}
        }
    }

    /// What the grantor admitted of a line, by what it counted before and after.
    pub(super) fn pass_line(
        &mut self,
        cost: u64,
        before: PoolFigures,
        after: PoolFigures,
        waits: Waits,
    ) {
        let promised = after.promised - before.promised;
        let at_once = after.served - before.served - promised;
        self.ghost.admit(at_once * cost, self.day());
        self.tally.granted += promised;
        if promised > 0 {
            assert_eq!(promised, waits.count);
            waits.each().for_each(|wait| self.pass_after(cost, wait));
        }
    }

    fn pass_after(&mut self, cost: u64, wait: Span) {
        let wait = u64::try_from(wait.as_nanos()).unwrap();
        assert!(wait <= self.rules.max_wait_ns, "{wait} ns");
        *self.reigns.promised.entry(self.reigns.book).or_default() += cost;
        self.at(self.now() + wait, Event::Pass(self.reigns.book, cost));
    }

    pub(super) fn pass(&mut self, book: u64, cost: u64) {
        *self.reigns.promised.get_mut(&book).unwrap() -= cost;
        self.ghost.admit(cost, self.day());
    }

    /// Tokens that grantors promised and that have not passed: of all of them, and of this one.
    pub(super) fn promised(&self) -> (u64, u64) {
        let own = self.reigns.promised.get(&self.reigns.book).copied();
        (self.reigns.promised.values().sum(), own.unwrap_or(0))
    }
}
