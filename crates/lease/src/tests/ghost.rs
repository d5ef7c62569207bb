//! The checker: one bucket, or one window, that is charged at every admission, with arithmetic of its own.
//!
//! It knows what the world says of levels and reservations, and none of the code that made them.

/// What was seen to be wrong, each counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Requests that the bucket would have refused.
    pub(crate) over: u64,
    /// Instants at which more could be spent than the bucket has.
    pub(crate) potential: u64,
    /// Instants at which clients held more than was reserved.
    pub(crate) held: u64,
    /// Instants at which more was reserved than there is.
    pub(crate) book: u64,
}

impl Broken {
    pub(crate) fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

use super::naive::Naive;

/// The bucket, in 2^-48 of a token divided by the period in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Ghost {
    refill: i128,
    token: i128,
    depth: i128,
    period: i128,
    level: i128,
    at: u64,
    /// What is counted by instead.
    naive: Option<Naive>,
    pub(crate) broken: Broken,
    pub(crate) checks: u64,
    pub(crate) admitted: u64,
}

/// All that counts at an instant, in 2^-48 of a token.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sight {
    /// What can be spent: the pool, and what clients have, will get or gave back.
    pub(crate) potential: i128,
    /// The pool and everything reserved.
    pub(crate) booked_depth: i128,
    /// Reserved rates.
    pub(crate) booked_rate: i128,
    /// What clients hold beyond what is reserved for them, less what a successor sets aside for that.
    pub(crate) uncovered: bool,
}

impl Ghost {
    pub(crate) fn new(per_second: u64, burst: u64) -> Self {
        let period = 1_000_000_000;
        let token = (1_i128 << 48) * period;
        let depth = token * i128::from(burst);
        Self {
            refill: i128::from(per_second) << 48,
            token,
            depth,
            period,
            level: depth,
            at: 0,
            naive: None,
            broken: Broken::default(),
            checks: 0,
            admitted: 0,
        }
    }

    /// One that counts by a window.
    pub(crate) fn of(naive: Naive) -> Self {
        let period = i128::from(naive.period);
        let token = (1_i128 << 48) * period;
        Self {
            refill: 0,
            token,
            depth: token * i128::from(naive.limit),
            period,
            naive: Some(naive),
            ..Self::new(1, 1)
        }
    }

    fn advance(&mut self, now: u64) {
        if let Some(naive) = &self.naive {
            self.level = self.depth - (naive.used(now) << 48);
            return;
        }
        let gained = self.refill * i128::from(now - self.at);
        self.level = (self.level + gained).min(self.depth);
        self.at = now;
    }

    pub(crate) fn admit(&mut self, cost: u64, now: u64) {
        self.advance(now);
        self.level -= self.token * i128::from(cost);
        self.admitted += cost;
        if let Some(naive) = &mut self.naive {
            naive.add(now, cost);
        }
        if self.level < 0 && cost > 0 {
            self.broken.over += 1;
        }
    }

    /// Whether a request of one token passes here, for comparison.
    pub(crate) fn try_admit(&mut self, now: u64) -> bool {
        self.advance(now);
        let passes = self.level >= self.token;
        if passes {
            self.admit(1, now);
        }
        passes
    }

    pub(crate) fn check(&mut self, sight: &Sight, now: u64) {
        self.advance(now);
        self.checks += 1;
        if sight.potential * self.period > self.level {
            self.broken.potential += 1;
        }
        let is_deep = sight.booked_depth * self.period > self.depth;
        let is_fast = sight.booked_rate * self.period > self.refill;
        self.broken.book += u64::from(is_deep || is_fast);
        self.broken.held += u64::from(sight.uncovered);
    }
}
