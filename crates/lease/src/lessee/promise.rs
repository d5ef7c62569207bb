//! Requests that pass once their cost has come back: debited now, let through later (delay mode).
//!
//! Whoever promises must keep what it promised by: while a promise is out the rate is not cut, the level leaves room for what was
//! promised, and nothing is let go. There is no queue: promises are kept in order, so that their end and the largest of them bound all
//! that is out. Not here: who waits.

use tollgate_limit::{Instant, Span};

use super::{Lessee, MILLION};
use crate::amount::{after, mites};

/// What was debited and is not let through yet, in sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    /// When the last of it is let through.
    pub(super) until: Instant,
    /// The largest of it.
    most: i128,
    /// The largest rate that it was promised by.
    rate: i128,
    /// Whether the grantor wishes a cut, for which there must be none out.
    pub(super) is_held: bool,
}

impl Promise {
    pub(super) const fn none(now: Instant) -> Self {
        Self {
            until: now,
            most: 0,
            rate: 0,
            is_held: false,
        }
    }

    /// Whether something is out.
    pub(super) fn is_out(&self, now: Instant) -> bool {
        self.most > 0 && now <= self.until
    }

    /// The most that can be out: each is let through when its cost has come back after the one before.
    pub(super) fn bound(&self, now: Instant) -> i128 {
        if !self.is_out(now) {
            return 0;
        }
        let left = i128::from(self.until.nanos_since(now));
        self.most.saturating_add(self.rate.saturating_mul(left))
    }
}

impl Lessee {
    /// Lets requests wait that long for what is not promised yet.
    pub const fn wait_at_most(&mut self, max_wait_ns: u64) {
        self.setup.max_wait_ns = max_wait_ns;
    }

    /// Takes a cost that the lease does not have and will have in time; how long until then.
    pub(super) fn promise(&mut self, cost: u64, now: Instant) -> Option<Span> {
        let (price, lease) = (mites(cost), &self.lease);
        let kept = MILLION - i128::from(self.setup.drift_ppm).min(MILLION);
        let rate = lease.rate / MILLION * kept + lease.rate % MILLION * kept / MILLION;
        if self.setup.max_wait_ns == 0 || lease.promise.is_held || lease.depth == 0 || rate <= 0 {
            return None;
        }
        // A tick more, since a clock in whole nanoseconds may show one too many.
        let takes = |amount: i128| amount.saturating_add(rate - 1) / rate + 1;
        let (mut wait, mut most, mut fastest) = (takes(price - lease.level), price, rate);
        if lease.promise.is_out(now) {
            let last = i128::from(lease.promise.until.nanos_since(now));
            wait = planted!(32, wait.max(last.saturating_add(takes(price))), wait);
            most = most.max(lease.promise.most);
            fastest = fastest.max(lease.promise.rate);
        }
        let wait = u64::try_from(wait).ok()?;
        let next = Promise {
            until: after(now, wait),
            most,
            rate: fastest,
            is_held: false,
        };
        let level = lease.level - price;
        let fits = level.saturating_add(next.bound(now)) <= self.cap();
        if wait > self.setup.max_wait_ns || next.until >= lease.until || !fits {
            return None;
        }
        (self.lease.level, self.lease.promise) = (level, next);
        self.mark(now);
        Some(Span::from_nanos(u128::from(wait)))
    }

    /// Whether something that was promised is not let through yet.
    pub(super) fn is_promised(&self, now: Instant) -> bool {
        planted!(30, self.lease.promise.is_out(now), false)
    }
}
