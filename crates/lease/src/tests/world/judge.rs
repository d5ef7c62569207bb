//! What the checker is shown after every event, and what it is charged for what was promised.
//!
//! Not here: the checker.

use tollgate_limit::Span;

use super::super::ghost::Sight;
use super::{Event, World};
use crate::Stamp;
use crate::amount::mites;

impl World {
    pub(super) fn check(&mut self) {
        let Some(mut pool) = self.pool.take() else {
            return;
        };
        pool.tell_time(self.time());
        pool.advance(self.instant());
        let (rate, depth) = pool.reserved();
        let mut unknown = pool.unknown();
        let (promised, own) = self.promised();
        let level = pool.level();
        let mut sight = Sight {
            // What a predecessor promised comes out of what a successor does not have.
            potential: level + mites(own),
            booked_depth: (level + mites(own)).max(0) + depth + unknown.1,
            booked_rate: rate + unknown.0,
            uncovered: false,
        };
        let mut beyond = (0_i128, 0_i128);
        for number in 0..self.clients.len() {
            let Some(lessee) = &self.clients[number].lessee else {
                continue;
            };
            let held = lessee.held(self.clock(number));
            let booked = pool.booked(number as u64).unwrap_or_default();
            let is_his = booked.boot == self.clients[number].boot;
            let booked = if is_his {
                booked
            } else {
                crate::Booked::default()
            };
            let is_out = held.got != booked.stamp;
            let mut flying = if is_out { booked.tokens } else { 0 };
            if let Some((stamp, tokens, until)) = self.clients[number].orphan {
                let is_open = held.is_open && self.now() < until;
                let may_come = is_open && held.seq == stamp.seq && held.got != stamp;
                flying += if may_come { tokens } else { 0 };
            }
            let is_same = booked.session == held.session && booked.session != Stamp::default();
            let given = if is_same {
                (held.give - booked.give).max(0)
            } else {
                0
            };
            let promised = mites(self.clients[number].promised);
            let has = (held.level + promised).max(0) + flying + given;
            sight.potential += has;
            if pool.is_learning() && held.rate == 0 && held.depth == 0 {
                // A late question said what it held once: that is others' by now, and it will not have it again.
                unknown = (unknown.0 + booked.rate, unknown.1 + booked.depth);
            }
            beyond.0 += (held.rate - booked.rate).max(0);
            beyond.1 += (has.max(held.depth) - booked.depth).max(0);
        }
        let is_late = promised > own && !pool.is_learning();
        sight.uncovered = is_late || beyond.0 > unknown.0 || beyond.1 > unknown.1;
        self.ghost.check(&sight, self.day());
        self.pool = Some(pool);
    }

    /// A client lets a request of its lease through after that, on its clock.
    pub(super) fn keep(&mut self, client: usize, cost: u64, wait: Span) {
        if wait == Span::ZERO {
            self.clients[client].admitted += 1;
            return self.ghost.admit(cost, self.day());
        }
        let wait = u64::try_from(wait.as_nanos()).unwrap();
        assert!(wait <= self.habits.max_wait_ns, "{wait} ns");
        self.clients[client].promised += cost;
        self.tally.promised += 1;
        let boot = self.clients[client].boot;
        let shown = self.clock(client).as_nanos() + wait;
        let time = self.sim.clock(super::address(client)).world(shown);
        self.at(time, Event::Release(client, boot, cost));
    }

    /// Charges what was promised, unless whoever waited for it is gone.
    pub(super) fn release(&mut self, client: usize, boot: u64, cost: u64) {
        let one = &mut self.clients[client];
        if one.boot == boot && one.lessee.is_some() {
            one.promised -= cost;
            one.admitted += 1;
            self.ghost.admit(cost, self.day());
        }
    }
}
