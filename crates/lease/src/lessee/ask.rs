//! What the client says and when: it asks, says again, gives back and reports (C1, C2, C5, C8, C9).
//!
//! Not here: what it does with the answer.

use tollgate_limit::Instant;

use super::{Lessee, Pending};
use crate::amount::{AMOUNT_MAX, after, mites, part, used};
use crate::message::{Need, Question};

impl Lessee {
    /// Looks after the lease and the question that is out. Calling it early does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.look(now);
        self.say_again(now);
        self.tend(now);
    }

    /// The grantor wishes to hear of this client.
    pub fn handle_nudge(&mut self, now: Instant) {
        self.look(now);
        if self.lease.depth > 0 {
            self.probe(now);
        }
    }

    /// Another grantor is there: the question that is out is said to it, unchanged (C9).
    pub fn handle_failover(&mut self, now: Instant) {
        self.look(now);
        self.out.clear();
        if let Some(pending) = self.pending.as_mut() {
            pending.sent = now;
            pending.tries += 1;
            self.out.push_back(pending.question);
        }
    }

    /// Gives everything back, unless something is promised: then all of it stays until the term ends.
    pub fn release(&mut self, now: Instant) {
        self.look(now);
        if self.lease.depth > 0 && !self.is_promised(now) {
            self.abandon();
            self.void();
            self.report(now);
        }
    }

    /// Lets everything go while a question is out, for the scene in which its answer comes afterwards.
    #[cfg(test)]
    pub(crate) fn release_in_flight(&mut self, now: Instant) {
        self.look(now);
        self.void();
    }

    /// Asks in the background, renews, lets go what is not used.
    pub(super) fn tend(&mut self, now: Instant) {
        if self.lease.depth == 0 || self.pending.is_some() {
            return;
        }
        let want = self.demand.demand.rate(now);
        let is_promised = self.is_promised(now);
        let is_low = self.lease.level < self.lease.low && now >= self.deny_until && !is_promised;
        if self.lease.is_held && !is_promised {
            return self.ask(now);
        }
        if !is_promised && self.is_time(now) {
            self.demand.looked = now;
            let uses = used(want, self.lease.term_ns);
            if uses < mites(self.setup.uses_min) / 2 {
                self.void();
                return self.report(now);
            }
            if now < self.lease.renew && self.is_idle(want) {
                return self.let_go(want, now);
            }
        }
        if is_low || now >= self.lease.renew {
            self.ask(now);
        }
    }

    /// Whether to look at what is used.
    fn is_time(&self, now: Instant) -> bool {
        now >= self.lease.renew || now.nanos_since(self.demand.looked) >= IDLE_NS
    }

    /// Whether much less is used than was told, and it shows.
    fn is_idle(&self, want: u64) -> bool {
        let told = self.demand.told;
        want < told / 3 * 2 && self.lease.level >= part(self.lease.depth, 9, 10)
    }

    /// Lets go what is not used, then says so.
    fn let_go(&mut self, want: u64, now: Instant) {
        let told = self.demand.told.max(1);
        let depth = part(self.lease.depth, want, told)
            .max(mites(1))
            .min(self.lease.depth);
        self.lease.rate = part(self.lease.rate, want, told);
        self.lease.depth = depth;
        let surplus = (self.lease.level - depth).max(0);
        self.lease.level -= surplus;
        self.give += surplus;
        self.mark(now);
        self.report(now);
    }

    /// Asks without anybody waiting for it.
    pub(super) fn probe(&mut self, now: Instant) {
        if self.pending.is_none() {
            self.ask(now);
        }
    }

    /// Sends the next question (C5: until it is answered, the level stays below what it says).
    pub(super) fn ask(&mut self, now: Instant) {
        let need = self.need();
        let question = self.statement(need, true, now);
        self.pending = Some(Pending {
            question,
            at: Some(now),
            epoch: self.lease.epoch,
            first: now,
            sent: now,
            tries: 0,
        });
        self.say(question);
        self.mark(now);
    }

    /// Tells what is held, without wishing an answer.
    pub(super) fn report(&mut self, now: Instant) {
        let question = self.statement(Need::default(), false, now);
        self.say(question);
    }

    /// Everything there is to say.
    fn statement(&mut self, need: Need, is_ask: bool, now: Instant) -> Question {
        self.seq += 1;
        let demand = self.demand.demand.rate(now);
        let lease = &self.lease;
        let uses = used(demand, lease.term_ns);
        let enough = mites(self.setup.uses_min);
        let is_wished = uses >= if lease.depth > 0 { enough / 2 } else { enough };
        let refilled = lease.rate.saturating_mul(i128::from(self.trip_ns)) / 2 * 3;
        let room = refilled.max(mites(2));
        let promised = lease.promise.bound(now);
        let most = lease.level.saturating_add(promised).max(0);
        let cap = lease.depth.min(most.saturating_add(room));
        self.demand.told = demand;
        Question {
            client: self.setup.client,
            boot: self.setup.boot,
            key: self.setup.key,
            seq: self.seq,
            got: self.got,
            session: lease.session,
            rate: lease.rate,
            cap: if is_ask { cap } else { lease.depth },
            have: lease.level.max(0),
            give: self.give.min(AMOUNT_MAX),
            want: if is_wished { demand } else { 0 },
            need,
            seen: core::mem::take(&mut self.demand.seen),
            charge: core::mem::take(&mut self.demand.owed),
            is_ask,
        }
    }

    /// The first in line, and those right behind that cost the same.
    fn need(&mut self) -> Need {
        let Some(cost) = self.line.waiting.front().map(|waiter| waiter.cost) else {
            return Need::default();
        };
        let mut count = 0;
        for waiter in &mut self.line.waiting {
            if waiter.cost != cost {
                break;
            }
            waiter.is_stated = true;
            count += 1;
        }
        if cost == 0 {
            return Need::default();
        }
        Need { cost, count }
    }

    fn say(&mut self, question: Question) {
        self.out.push_back(question);
    }

    /// Says the question again, unchanged, until it is too old.
    fn say_again(&mut self, now: Instant) {
        let Some(pending) = self.pending else {
            return;
        };
        if now.nanos_since(pending.first) >= self.setup.timeout_ns {
            self.is_away = true;
            self.fail_line(now);
            self.abandon();
            if self.lease.depth > 0 {
                self.ask(now);
            }
            return;
        }
        if now >= self.retry_at(&pending) {
            if let Some(pending) = self.pending.as_mut() {
                pending.sent = now;
                pending.tries += 1;
            }
            self.say(pending.question);
        }
    }

    /// Gives up a question: the next one has another number, so that no answer to it will count. The grantor may have
    /// believed its cap, which therefore stays.
    pub(super) fn abandon(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.lease.depth = self.lease.depth.min(pending.question.cap);
            self.lease.level = self.lease.level.min(self.lease.depth);
            self.give = self.give.min(pending.question.give);
            self.demand.owed = self.demand.owed.saturating_add(pending.question.charge);
        }
    }

    /// When the question is said again.
    pub(super) fn retry_at(&self, pending: &Pending) -> Instant {
        let first = self.trip_ns.saturating_mul(3) / 2 + 1_000_000;
        let wait = first << pending.tries.min(4);
        let end = after(pending.first, self.setup.timeout_ns);
        after(pending.sent, wait).min(end)
    }

    /// Sets the marks of the lease after it or its cap changed.
    pub(super) fn mark(&mut self, now: Instant) {
        let want = self.demand.demand.rate(now);
        let top = self.top(now);
        let lease = &mut self.lease;
        let ahead = used(want, self.trip_ns.saturating_mul(3) / 2);
        // Below a token the next request would wait.
        lease.low = ahead.max(mites(1)).min(lease.depth / 4);
        let refilled = lease.rate.saturating_mul(i128::from(self.setup.look_ns));
        lease.brim = top - refilled;
    }
}

/// How often it looks whether it uses what it holds.
const IDLE_NS: u64 = 20_000_000;
