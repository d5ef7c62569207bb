//! A request at the client: from the lease, refused, or in line (C1, C2), and what is settled afterwards.
//!
//! Not here: what the grantor is told.

use tollgate_limit::{Instant, Span};

use super::{Decided, DecidedBy, LeaseReceipt, Lessee, LesseeAnswer, Outlook, WAITING_MAX, Waiter};
use crate::amount::{TOKEN, after, mites, tokens};

impl Lessee {
    /// Decides a request that costs so much, or puts it in line. Allocates nothing while the lease suffices.
    #[inline]
    pub fn check(&mut self, cost: u64, now: Instant) -> LesseeAnswer {
        let price = mites(cost);
        let lease = &mut self.lease;
        let left = lease.level - price;
        let is_plain = left >= lease.low && lease.level <= lease.brim;
        let since = now.as_nanos().wrapping_sub(lease.clock.as_nanos());
        if is_plain && since < self.setup.look_ns && now < lease.until {
            // Nothing can have been turned away since the last look, so that filling can wait.
            lease.level = left;
            return self.pass(cost);
        }
        self.check_slowly(cost, now, true)
    }

    fn check_slowly(&mut self, cost: u64, now: Instant, may_wait: bool) -> LesseeAnswer {
        self.look(now);
        if self.spend(cost) {
            let answer = self.pass(cost);
            self.tend(now);
            return answer;
        }
        if may_wait && let Some(wait) = self.promise(cost, now) {
            let receipt = self.count_local(cost);
            self.tend(now);
            return LesseeAnswer::Delay { receipt, wait };
        }
        self.note(cost, now);
        if self.is_away {
            self.probe(now);
            return self.fail(cost, now);
        }
        let asks = may_wait && (self.is_welcome || self.is_surge(now));
        if self.is_denied(now) && !asks {
            self.figures.denied += 1;
            let retry_after = self.retry_after(cost, now);
            return LesseeAnswer::Deny { retry_after };
        }
        self.stand_in_line(cost, now)
    }

    /// Decides without ever waiting: what would wait is refused, and the grantor is asked for more.
    pub fn try_check(&mut self, cost: u64, now: Instant) -> LesseeAnswer {
        self.look(now);
        if self.lease.level >= mites(cost) || self.is_away || self.is_denied(now) {
            return self.check_slowly(cost, now, false);
        }
        self.note(cost, now);
        self.probe(now);
        self.figures.denied += 1;
        LesseeAnswer::Deny {
            retry_after: Span::from_nanos(u128::from(self.trip_ns)),
        }
    }

    /// How a request of that cost would fare.
    pub fn outlook(&mut self, cost: u64, now: Instant) -> Outlook {
        self.look(now);
        if self.lease.depth > 0 && self.lease.level >= mites(cost) {
            return Outlook::Ready;
        }
        if self.is_away {
            return Outlook::Away;
        }
        if self.is_denied(now) && !self.is_welcome && !self.is_surge(now) {
            let retry_after = self.retry_after(cost, now);
            return Outlook::Denied { retry_after };
        }
        Outlook::Dry
    }

    /// Puts a request in line, whatever the lease has: another lease lacks it.
    pub fn queue(&mut self, cost: u64, now: Instant) -> LesseeAnswer {
        self.look(now);
        self.want(cost, now);
        self.stand_in_line(cost, now)
    }

    /// Counts a request that was not asked of this lease as wanted.
    pub fn want(&mut self, cost: u64, now: Instant) {
        self.note(cost, now);
    }

    /// Whole tokens that a request could take at once.
    pub fn peek(&self, now: Instant) -> u64 {
        tokens(self.held(now).level)
    }

    /// How long until a request of that cost could pass from the lease alone; `None` where it ends before.
    pub fn until_ready(&self, cost: u64, now: Instant) -> Option<Span> {
        let held = self.held(now);
        let missing = (mites(cost) - held.level).max(0);
        if missing == 0 {
            return Some(Span::ZERO);
        }
        if held.rate == 0 || mites(cost) > held.depth {
            return None;
        }
        let slow = held.rate * (1_000_000 - i128::from(self.setup.drift_ppm)) / 1_000_000;
        let nanos = u128::try_from(missing / slow.max(1) + 2).unwrap_or(u128::MAX);
        let left = u128::from(self.lease.until.nanos_since(now));
        (nanos < left).then(|| Span::from_nanos(nanos))
    }

    /// Charges what a request really cost. A refund counts only in the lease that paid; a surcharge may leave the lease
    /// owing up to its depth, and what is beyond is told to the grantor.
    pub fn settle(&mut self, receipt: LeaseReceipt, cost: u64, now: Instant) {
        self.look(now);
        if cost <= receipt.cost {
            if receipt.epoch == self.lease.epoch && self.lease.depth > 0 {
                let level = self.lease.level + mites(receipt.cost - cost);
                self.lease.level = level.min(self.top(now).max(self.lease.level));
            }
            return;
        }
        let more = mites(cost - receipt.cost);
        let most = (self.lease.level + self.lease.depth).max(0) / TOKEN * TOKEN;
        let here = more.min(most);
        self.lease.level -= here;
        self.demand.owed = self.demand.owed.saturating_add(tokens(more - here));
        if self.demand.owed > 0 {
            self.probe(now);
        }
    }

    /// Takes the cost if the lease has it.
    pub(super) fn spend(&mut self, cost: u64) -> bool {
        let has = self.lease.depth > 0 && self.lease.level >= mites(cost);
        if has {
            self.lease.level -= mites(cost);
        }
        has
    }

    fn pass(&mut self, cost: u64) -> LesseeAnswer {
        LesseeAnswer::Allow(self.count_local(cost))
    }

    #[inline]
    fn count_local(&mut self, cost: u64) -> LeaseReceipt {
        self.demand.fresh += cost;
        self.demand.seen = self.demand.seen.saturating_add(cost);
        self.figures.local += 1;
        LeaseReceipt {
            cost,
            epoch: self.lease.epoch,
        }
    }

    /// Whether it refuses by itself. Who has no lease asks so early that the question arrives with the token: the
    /// answer was under way for half a trip, and the question will be.
    pub(super) fn is_denied(&self, now: Instant) -> bool {
        let ahead = if self.lease.depth == 0 {
            self.trip_ns
        } else {
            0
        };
        after(now, ahead) < self.deny_until
    }

    /// Whether demand has grown so much that what the grantor said no longer holds (C8).
    fn is_surge(&self, now: Instant) -> bool {
        let told = self.demand.told;
        let is_more = self.demand.demand.rate(now) > told.saturating_add(told / 2);
        is_more && self.lease.depth > 0 && self.pending.is_none()
    }

    fn retry_after(&self, cost: u64, now: Instant) -> Span {
        let silence = Span::from_nanos(u128::from(self.deny_until.nanos_since(now)));
        self.until_ready(cost, now)
            .map_or(silence, |own| own.min(silence))
    }

    fn stand_in_line(&mut self, cost: u64, now: Instant) -> LesseeAnswer {
        if self.line.waiting.len() >= WAITING_MAX {
            return self.fail(cost, now);
        }
        let number = self.line.next;
        self.line.next += 1;
        self.line.waiting.push_back(Waiter {
            number,
            cost,
            is_stated: false,
        });
        self.figures.waited += 1;
        if self.pending.is_none() {
            self.ask(now);
        }
        LesseeAnswer::Wait(number)
    }

    fn fail(&mut self, cost: u64, now: Instant) -> LesseeAnswer {
        self.figures.failed += 1;
        let is_allowed = self.safe.take(self.setup.on_failure, cost, now);
        LesseeAnswer::Failed { is_allowed }
    }

    /// Everybody in line gets the answer that is configured for when nobody answers.
    pub(super) fn fail_line(&mut self, now: Instant) {
        while let Some(waiter) = self.line.waiting.pop_front() {
            self.figures.failed += 1;
            let is_allowed = self.safe.take(self.setup.on_failure, waiter.cost, now);
            self.decide(waiter, is_allowed, DecidedBy::Nobody, Span::ZERO);
        }
    }

    /// Tells a request that waited that it passes, at once or after that time; or that it does not, and would not
    /// before.
    pub(super) fn decide(&mut self, waiter: Waiter, is_allowed: bool, by: DecidedBy, time: Span) {
        let receipt = (is_allowed && by == DecidedBy::Lease).then_some(LeaseReceipt {
            cost: waiter.cost,
            epoch: self.lease.epoch,
        });
        self.line.decided.push_back(Decided {
            number: waiter.number,
            cost: waiter.cost,
            is_allowed,
            by,
            retry_after: if is_allowed { Span::ZERO } else { time },
            wait: if is_allowed { time } else { Span::ZERO },
            receipt,
        });
    }

    /// Counts a request that the lease had nothing for.
    fn note(&mut self, cost: u64, now: Instant) {
        self.demand.seen = self.demand.seen.saturating_add(cost);
        let fresh = core::mem::take(&mut self.demand.fresh);
        self.demand.demand.count(fresh.saturating_add(cost), now);
    }
}
