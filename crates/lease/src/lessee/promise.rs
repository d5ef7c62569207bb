//! What a client promises to requests that wait for its lease: while something is out the rate is not cut, the level
//! leaves room for it, and nothing is let go.
//!
//! Not here: who waits.

use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;

use super::{Lessee, MILLION};
use crate::amount::{after, mites};

impl Lessee {
    /// Takes a cost that the lease does not have and will have in time; how long until then.
    pub(super) fn promise(&mut self, cost: u64, now: Instant) -> Option<Span> {
        let (price, lease) = (mites(cost), &self.lease);
        let kept = MILLION - i128::from(self.setup.drift_ppm).min(MILLION);
        let rate = lease.rate / MILLION * kept + lease.rate % MILLION * kept / MILLION;
        if self.setup.max_wait_ns == 0 || lease.is_held || lease.depth == 0 || rate <= 0 {
            return None;
        }
        // A tick more, since a clock in whole nanoseconds may show one too many.
        let takes = |amount: i128| amount.saturating_add(rate - 1) / rate + 1;
        let mut wait = takes(price - lease.level);
        if lease.promise.is_out(now) {
            let last = i128::from(lease.promise.until.nanos_since(now));
            wait = planted!(
                "lease-32",
                wait.max(last.saturating_add(takes(price))),
                wait
            );
        }
        let wait = u64::try_from(wait).ok()?;
        let next = lease.promise.with(price, rate, after(now, wait), now);
        let level = lease.level - price;
        let fits = level.saturating_add(next.bound(now)) <= self.cap();
        if wait > self.setup.max_wait_ns || next.until >= lease.until || !fits {
            return None;
        }
        (self.lease.level, self.lease.promise) = (level, next);
        self.figures.promised += 1;
        self.mark(now);
        Some(Span::from_nanos(u128::from(wait)))
    }

    /// Whether something that was promised is not let through yet.
    pub(super) fn is_promised(&self, now: Instant) -> bool {
        planted!("lease-30", self.lease.promise.is_out(now), false)
    }
}
