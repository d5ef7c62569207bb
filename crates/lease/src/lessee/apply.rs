//! What the client does with an answer: the lease first, then those who wait (C3, C6).
//!
//! Not here: what it asked.

use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;

use super::{DecidedBy, Lessee, Pending};
use crate::amount::{TOKEN, after, part};
use crate::message::{Grant, Stamp};

impl Lessee {
    /// Takes an answer; any but the one to the question that is out is ignored.
    pub fn handle_grant(&mut self, grant: &Grant, now: Instant) {
        self.look(now);
        let is_ours = grant.client == self.setup.client && grant.boot == self.setup.boot;
        let is_ours = is_ours && grant.key == self.setup.key;
        let pending = self
            .pending
            .filter(|pending| is_ours && pending.question.seq == grant.stamp.seq);
        let Some(pending) = pending else {
            self.lease.level += planted!("lease-5", 0, self.replayed(grant));
            self.figures.stale += 1;
            return;
        };
        self.pending = None;
        self.is_away = false;
        self.time(&pending, now);
        self.deny_until = after(now, grant.deny_ns);
        let must_tell = self.apply(grant, &pending, now);
        self.serve_line(grant, now);
        if !self.line.waiting.is_empty() {
            self.ask(now);
        } else if must_tell {
            self.report(now);
        }
    }

    /// What a replayed grant would bring, for the mutant that believes it.
    #[cfg(feature = "planted")]
    fn replayed(&self, grant: &Grant) -> i128 {
        let is_ours = grant.client == self.setup.client && grant.boot == self.setup.boot;
        if is_ours && grant.stamp == self.got {
            grant.tokens
        } else {
            0
        }
    }

    /// Learns how long a round trip takes.
    fn time(&mut self, pending: &Pending, now: Instant) {
        if pending.tries == 0 && pending.at.is_some() {
            let sample = now.nanos_since(pending.sent);
            self.trip_ns = (self.trip_ns / 8 * 7).saturating_add(sample / 8).max(1);
        }
    }

    /// Takes the lease of an answer; whether the grantor should hear of it at once.
    fn apply(&mut self, grant: &Grant, pending: &Pending, now: Instant) -> bool {
        let at = planted!("lease-3", pending.at, Some(now));
        let until = at.map(|at| self.end_of(at, grant.term_ns));
        let until = until.filter(|until| *until > now || grant.depth == 0);
        let Some(until) = until.filter(|_| !self.is_outdated(grant, pending)) else {
            self.keep_cap(pending);
            return false;
        };
        let stated = planted!("lease-15", pending.question.give, self.give);
        let is_same = grant.session == self.lease.session;
        let (rate, depth) = self.kept(grant, pending, now);
        let is_promised = self.is_promised(now);
        let lease = &mut self.lease;
        let top = depth - lease.promise.bound(now);
        let level = lease.level.saturating_add(grant.tokens);
        let surplus = (level - top).max(0);
        let is_cut =
            grant.rate < part(lease.rate, 19, 20) || grant.depth < part(lease.depth, 19, 20);
        lease.level = level.min(top);
        (lease.rate, lease.depth) = (rate, depth);
        lease.is_held = is_promised && is_cut;
        self.got = grant.stamp;
        if grant.depth == 0 && is_promised {
            self.give = stated + surplus;
            lease.renew = lease.promise.until;
            self.mark(now);
            return false;
        }
        if grant.depth == 0 {
            // The session goes on, so that what is left can be given back in it.
            self.give = stated + surplus;
            self.void();
            return is_cut || surplus > 0;
        }
        self.give = if is_same { stated } else { 0 } + surplus;
        lease.session = grant.session;
        // The end of a window may cut a term, which says nothing of how much is used in one.
        lease.term_ns = lease.term_ns.max(grant.term_ns);
        lease.until = if is_promised {
            until.max(lease.until)
        } else {
            until
        };
        let left = until.nanos_since(pending.first);
        lease.renew = after(pending.first, renew_ns(grant.term_ns, self.trip_ns, left));
        lease.filled = after(now, 1);
        self.mark(now);
        (is_cut && !is_promised) || surplus >= TOKEN
    }

    /// Whether a successor believed what the question said of a lease that has ended since: its predecessor may have
    /// lent that to others before it fell.
    fn is_outdated(&self, grant: &Grant, pending: &Pending) -> bool {
        let is_foreign = grant.stamp.generation != pending.question.session.generation;
        let is_restated = is_foreign && pending.question.session != Stamp::default();
        is_restated && planted!("lease-44", pending.epoch != self.lease.epoch, false)
    }

    /// The rate and the depth that an answer leaves: what was promised needs those that it was promised by, and the
    /// grantor keeps what the question stated until it hears of less.
    fn kept(&self, grant: &Grant, pending: &Pending, now: Instant) -> (i128, i128) {
        if !self.is_promised(now) {
            return (grant.rate, grant.depth);
        }
        let depth = self.lease.depth.min(pending.question.cap);
        (grant.rate.max(self.lease.rate), grant.depth.max(depth))
    }

    /// The answer does not count, but the grantor may have believed what the question said.
    fn keep_cap(&mut self, pending: &Pending) {
        self.lease.depth = self.lease.depth.min(pending.question.cap);
        self.lease.level = self.lease.level.min(self.lease.depth);
        self.give = self.give.min(pending.question.give);
    }

    /// Decides those who wait: by the grantor's word, then from the lease, and those whom the grantor refused are
    /// refused.
    fn serve_line(&mut self, grant: &Grant, now: Instant) {
        let mut served = grant.served;
        let mut waits = grant.waits.each();
        let is_seldom = grant.waits.count > 0 && grant.waits.gap_ns >= SELDOM_NS;
        self.is_welcome = is_seldom || (self.is_welcome && self.line.waiting.is_empty());
        let mut later = std::collections::VecDeque::new();
        let retry_after = Span::from_nanos(u128::from(grant.deny_ns));
        while let Some(waiter) = self.line.waiting.pop_front() {
            if waiter.is_stated && waiter.cost == 0 {
                self.decide(waiter, true, DecidedBy::Grantor, Span::ZERO);
            } else if waiter.is_stated && served > 0 {
                served -= 1;
                self.decide(waiter, true, DecidedBy::Grantor, Span::ZERO);
            } else if waiter.is_stated
                && let Some(wait) = waits.next()
            {
                self.decide(waiter, true, DecidedBy::Grantor, wait);
            } else if self.spend(waiter.cost) {
                self.decide(waiter, true, DecidedBy::Lease, Span::ZERO);
            } else if let Some(wait) = self.promise(waiter.cost, now) {
                self.decide(waiter, true, DecidedBy::Lease, wait);
            } else if waiter.is_stated || self.is_denied(now) {
                self.is_welcome = false;
                self.decide(waiter, false, DecidedBy::Grantor, retry_after);
            } else {
                later.push_back(waiter);
            }
        }
        self.line.waiting = later;
    }
}

/// What comes back to the grantor less often than that is worth a message each.
const SELDOM_NS: u64 = 20_000_000;

/// When to renew, counted as the term is: after half of it, or early enough for three trips before the `left` is over;
/// an eighth of it is waited for in any case.
fn renew_ns(term_ns: u64, trip_ns: u64, left_ns: u64) -> u64 {
    let early = left_ns.saturating_sub(trip_ns.saturating_mul(3));
    early.clamp(term_ns / 8, term_ns / 2)
}
