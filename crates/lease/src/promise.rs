//! Requests that pass once their cost has come back, in sum: debited already, let through later (delay mode).
//!
//! There is no queue: what is promised is kept in order, each when its cost has come back after the one before, so that
//! the end and the largest of them bound all that is out. Not here: who promises, and who waits.

use tollgate_limit::Instant;

/// What was debited and is not let through yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    /// When the last of it is let through.
    pub(crate) until: Instant,
    /// The largest of it.
    pub(crate) most: i128,
    /// The largest rate that it was promised by.
    pub(crate) rate: i128,
}

impl Promise {
    pub(crate) const fn none() -> Self {
        Self {
            until: Instant::from_nanos(0),
            most: 0,
            rate: 0,
        }
    }

    /// Whether something is out.
    pub(crate) fn is_out(&self, now: Instant) -> bool {
        self.most > 0 && now <= self.until
    }

    /// The most that can be out.
    pub(crate) fn bound(&self, now: Instant) -> i128 {
        if !self.is_out(now) {
            return 0;
        }
        let left = i128::from(self.until.nanos_since(now));
        self.most.saturating_add(self.rate.saturating_mul(left))
    }

    /// The same as far as it is out.
    pub(crate) fn at(&self, now: Instant) -> Self {
        if self.is_out(now) {
            *self
        } else {
            Self::none()
        }
    }

    /// The same with one more, or with several of that cost: the last is let through at `until`.
    pub(crate) fn with(&self, price: i128, rate: i128, until: Instant, now: Instant) -> Self {
        let before = self.at(now);
        Self {
            until,
            most: before.most.max(price),
            rate: before.rate.max(rate),
        }
    }
}
