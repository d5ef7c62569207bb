//! What time does to a lease: it fills, it ends, and a clock that steps back voids it (C3, C4, C7).
//!
//! Not here: what is done when it has ended.

use tollgate_limit::Instant;
use tollgate_mode::planted;

use super::{Lease, Lessee, MILLION, OnFailure, Safe, Setup};
use crate::amount::{after, mites, tokens};
use crate::message::Stamp;
use crate::promise::Promise;

impl Lease {
    pub(super) const fn none(term_ns: u64, now: Instant) -> Self {
        Self {
            level: 0,
            rate: 0,
            depth: 0,
            brim: 0,
            low: 0,
            until: now,
            renew: now,
            filled: now,
            clock: now,
            session: Stamp {
                generation: 0,
                seq: 0,
            },
            term_ns,
            epoch: 0,
            promise: Promise::none(),
            is_held: false,
        }
    }

    /// Fills until `now`, and no more than that before the last that was promised is let through than there was room
    /// for beside it.
    pub(super) fn fill_beside(&mut self, now: Instant, cap: i128, setup: &Setup) {
        // No more counts in all than does at once.
        let first = now.as_nanos().saturating_sub(2 * setup.look_ns);
        self.filled = self.filled.max(Instant::from_nanos(first));
        let end = self.promise.until;
        if planted!("lease-33", self.filled <= end && end < now, false) {
            self.fill(end, cap - self.promise.bound(end), setup);
        }
        self.fill(
            now,
            cap - planted!("lease-31", self.promise.bound(now), 0),
            setup,
        );
    }

    /// Fills until `now` at the rate less what the clock may be off, up to `top`. Time is counted from a tick after the
    /// lease was found full, since a clock in whole nanoseconds may show one too many.
    fn fill(&mut self, now: Instant, top: i128, setup: &Setup) {
        let elapsed = now.nanos_since(self.filled).min(2 * setup.look_ns);
        self.filled = self.filled.max(now);
        let kept = MILLION - i128::from(planted!("lease-9", setup.drift_ppm, 0)).min(MILLION);
        let whole = self.rate.saturating_mul(i128::from(elapsed));
        let earned = whole / MILLION * kept + whole % MILLION * kept / MILLION;
        let level = self.level.saturating_add(earned);
        if level >= top {
            self.level = top;
            self.filled = after(now, 1);
        } else {
            self.level = level;
        }
    }
}

impl Lessee {
    /// Looks at the clock: fills the lease, or voids it.
    pub(super) fn look(&mut self, now: Instant) {
        let is_back = planted!("lease-10", now < self.lease.clock, false);
        if is_back {
            self.figures.steps += 1;
            self.step_back(now);
        }
        self.lease.clock = now;
        if self.lease.depth > 0 && now >= self.lease.until {
            self.void();
        }
        let cap = self.cap();
        self.lease.fill_beside(now, cap, &self.setup);
        self.count(now);
    }

    /// Nothing that was dated by this clock counts any more.
    fn step_back(&mut self, now: Instant) {
        self.void();
        self.lease.filled = now;
        self.deny_until = now;
        if let Some(pending) = self.pending.as_mut() {
            (pending.at, pending.first, pending.sent) = (None, now, now);
        }
    }

    /// Lets everything go. What is left goes back, unless a question is out: then nobody knows of it, and it is lost.
    pub(super) fn void(&mut self) {
        let lease = &mut self.lease;
        if lease.level >= 0 {
            self.give += lease.level;
        } else {
            self.demand.owed += tokens(-lease.level);
        }
        (lease.level, lease.rate, lease.depth) = (0, 0, 0);
        (lease.brim, lease.low) = (0, 0);
        (lease.promise, lease.is_held) = (Promise::none(), false);
        lease.epoch += 1;
    }

    /// Brings fresh requests into the demand.
    fn count(&mut self, now: Instant) {
        let heard = &mut self.demand;
        if heard.fresh > 0 {
            heard.demand.count(heard.fresh, now);
            heard.fresh = 0;
        }
    }

    /// The end of a term counted from `at`, as this clock may be off (C3).
    pub(super) fn end_of(&self, at: Instant, term_ns: u64) -> Instant {
        let late = u128::from(term_ns) * u128::from(self.setup.drift_ppm) / 1_000_000 + 1;
        let late = u64::try_from(late).unwrap_or(u64::MAX);
        let guard = self.setup.look_ns.saturating_mul(2);
        after(at, term_ns.saturating_sub(late).saturating_sub(guard))
    }
}

impl Safe {
    pub(super) fn full(on_failure: OnFailure, now: Instant) -> Self {
        let level = match on_failure {
            OnFailure::Safe { burst, .. } => mites(burst),
            OnFailure::Deny | OnFailure::Allow => 0,
        };
        Self { level, at: now }
    }

    /// Whether a request passes although nobody answers.
    pub(super) fn take(&mut self, on_failure: OnFailure, cost: u64, now: Instant) -> bool {
        let (per_second, burst) = match on_failure {
            OnFailure::Deny => return false,
            OnFailure::Allow => return true,
            OnFailure::Safe { per_second, burst } => (per_second, burst),
        };
        let elapsed = i128::from(now.nanos_since(self.at));
        self.at = now;
        let earned = mites(per_second).saturating_mul(elapsed) / 1_000_000_000;
        self.level = self.level.saturating_add(earned).min(mites(burst));
        let passes = self.level >= mites(cost);
        if passes {
            self.level -= mites(cost);
        }
        passes
    }
}
