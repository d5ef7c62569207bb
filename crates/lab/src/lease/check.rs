//! The judges of leases: a bucket that is charged at every admission, one that admits by itself, and a replay.
//!
//! In whole numbers and with arithmetic of their own: nothing here is shared with what is judged. Not here: who held
//! what.

use super::naive::Naive;

/// What was seen to be wrong at some instant, each counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaseViolations {
    /// Requests that the bucket would have refused.
    pub(crate) over: u64,
    /// More could be spent than the bucket has.
    pub(crate) potential: u64,
    /// Clients held more than was reserved for them.
    pub(crate) held: u64,
    /// More was reserved than there is.
    pub(crate) book: u64,
}

impl LeaseViolations {
    pub(crate) fn sum(&self) -> u64 {
        self.over + self.potential + self.held + self.book
    }
}

/// All that counts at an instant, in 2^-48 of a token.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sight {
    /// What can be spent: the pool, and what clients have, will get or gave back.
    pub(crate) potential: i128,
    /// The pool and everything reserved.
    pub(crate) booked_depth: i128,
    /// Reserved rates, per nanosecond.
    pub(crate) booked_rate: i128,
    /// Rate and depth that clients hold beyond what is reserved for them.
    pub(crate) beyond: (i128, i128),
    /// What a successor sets aside for that.
    pub(crate) unknown: (i128, i128),
    /// Whether what a predecessor promised may pass after a successor lends what it does not know.
    pub(crate) is_late: bool,
}

/// The bucket itself, in 2^-48 of a billionth of a token; of a window, in parts of its period.
#[derive(Clone, Debug)]
pub(crate) struct LabReferenceBucket {
    /// What is counted by instead, and its period.
    naive: Option<Naive>,
    /// One token.
    token: i128,
    /// Of 2^-48 of a token.
    part: i128,
    /// Gained per nanosecond.
    gain: i128,
    depth: i128,
    level: i128,
    at: u64,
    pub(crate) broken: LeaseViolations,
    pub(crate) checks: u64,
}

const SECOND: i128 = 1_000_000_000;
const TOKEN: i128 = (1 << 48) * SECOND;

impl LabReferenceBucket {
    pub(crate) fn new(per_second: u64, burst: u64) -> Self {
        let depth = TOKEN * i128::from(burst);
        Self {
            naive: None,
            token: TOKEN,
            part: SECOND,
            gain: i128::from(per_second) << 48,
            depth,
            level: depth,
            at: 0,
            broken: LeaseViolations::default(),
            checks: 0,
        }
    }

    /// One that counts by a window.
    pub(crate) fn of(naive: Naive) -> Self {
        let part = i128::from(naive.period);
        let token = part << 48;
        Self {
            token,
            part,
            gain: 0,
            depth: token * i128::from(naive.limit),
            naive: Some(naive),
            ..Self::new(1, 1)
        }
    }

    fn advance(&mut self, now: u64) {
        if let Some(naive) = &self.naive {
            self.level = self.depth - (naive.used(now) << 48);
            return;
        }
        let gained = self.gain * i128::from(now.saturating_sub(self.at));
        self.level = (self.level + gained).min(self.depth);
        self.at = self.at.max(now);
    }

    /// A bucket of the same size that has so much, in 2^-48 of a token.
    pub(crate) fn beside(&self, level: i128, now: u64) -> Self {
        Self {
            level: level * self.part,
            at: now,
            ..self.clone()
        }
    }

    /// Charges what was admitted.
    pub(crate) fn charge(&mut self, cost: u64, now: u64) {
        self.advance(now);
        self.level -= self.token * i128::from(cost);
        if let Some(naive) = &mut self.naive {
            naive.add(now, cost);
        }
        self.broken.over += u64::from(self.naive.is_some() && self.level < 0 && cost > 0);
    }

    /// Whether one more passes; takes it if so. This is the central bucket.
    pub(crate) fn take(&mut self, now: u64) -> bool {
        self.advance(now);
        let passes = self.level >= self.token;
        if passes {
            self.charge(1, now);
        }
        passes
    }

    /// Compares all that counts with the bucket.
    pub(crate) fn look(&mut self, sight: &Sight, now: u64) {
        self.advance(now);
        self.checks += 1;
        self.broken.potential += u64::from(sight.potential * self.part > self.level);
        let is_deep = sight.booked_depth * self.part > self.depth;
        let is_fast = sight.booked_rate * self.part > self.gain;
        self.broken.book += u64::from(is_deep || is_fast);
        let (beyond, unknown) = (sight.beyond, sight.unknown);
        let is_beyond = beyond.0 > unknown.0 || beyond.1 > unknown.1;
        self.broken.held += u64::from(is_beyond || sight.is_late);
    }
}

/// A replay of all admissions that knows no levels: it keeps the time at which the bucket would be full again. Time is
/// in nanoseconds times the limit, so that a token is a period and nothing is rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replay {
    per_second: i128,
    burst: i128,
    full_at: i128,
    pub(crate) excess: Excess,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excess {
    /// Requests admitted while it had no token for them.
    pub(crate) over: u64,
    /// The most that it was ever short of, in requests, rounded up.
    pub(crate) worst: u64,
}

impl Replay {
    pub(crate) fn new(per_second: u64, burst: u64) -> Self {
        Self {
            per_second: i128::from(per_second),
            burst: i128::from(burst),
            full_at: 0,
            excess: Excess::default(),
        }
    }

    /// Takes note of admissions; times never fall.
    pub(crate) fn admit(&mut self, count: u64, now: u64) {
        let now = i128::from(now) * self.per_second;
        for _ in 0..count {
            self.full_at = self.full_at.max(now) + SECOND;
            let missing = self.full_at - now - self.burst * SECOND;
            if missing > 0 {
                let short = u64::try_from((missing + SECOND - 1) / SECOND).unwrap_or(u64::MAX);
                self.excess.over += 1;
                self.excess.worst = self.excess.worst.max(short);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn replay(log: &[u64]) -> Excess {
        let mut replay = Replay::new(1, 3);
        for &at in log {
            replay.admit(1, at);
        }
        replay.excess
    }

    #[test]
    fn one_too_many_or_a_nanosecond_early_is_seen() {
        assert_eq!(replay(&[0, 0, 0, S, 2 * S]), Excess::default());
        assert_eq!(
            replay(&[0, 0, 9 * S, 9 * S, 9 * S, 10 * S]),
            Excess::default()
        );
        assert_eq!(replay(&[0, 0, 0, S - 1]), Excess { over: 1, worst: 1 });
        // The debt is carried on.
        assert_eq!(replay(&[0, 0, 0, 0, 0, S]).over, 3);
        assert_eq!(replay(&[0; 9]), Excess { over: 6, worst: 6 });
    }

    #[test]
    fn what_the_central_bucket_admits_is_within_by_both() {
        let (mut central, mut ghost) =
            (LabReferenceBucket::new(7, 3), LabReferenceBucket::new(7, 3));
        let mut replay = Replay::new(7, 3);
        for step in 0..5_000 {
            let now = step * 33_333_333;
            if central.take(now) {
                ghost.charge(1, now);
                replay.admit(1, now);
            }
            let sight = Sight {
                potential: ghost.level / SECOND,
                ..Sight::default()
            };
            ghost.look(&sight, now);
        }
        assert_eq!((replay.excess, ghost.broken.sum()), Default::default());
    }

    #[test]
    fn a_mite_too_much_breaks_each_rule() {
        let mut ghost = LabReferenceBucket::new(1_000, 10);
        let full = 10 << 48;
        let mut broken = |sight: Sight| {
            let before = ghost.broken;
            ghost.look(&sight, 0);
            let now = ghost.broken;
            (
                now.potential - before.potential,
                now.held - before.held,
                now.book - before.book,
            )
        };
        let fine = Sight {
            potential: full,
            booked_depth: full,
            booked_rate: (1_000 << 48) / SECOND,
            beyond: (3, 4),
            unknown: (3, 4),
            is_late: false,
        };
        assert_eq!(broken(fine), (0, 0, 0));
        let potential = full + 1;
        assert_eq!(broken(Sight { potential, ..fine }), (1, 0, 0));
        let beyond = (3, 5);
        assert_eq!(broken(Sight { beyond, ..fine }), (0, 1, 0));
        let booked_rate = fine.booked_rate + 1;
        assert_eq!(
            broken(Sight {
                booked_rate,
                ..fine
            }),
            (0, 0, 1)
        );
        let booked_depth = full + 1;
        assert_eq!(
            broken(Sight {
                booked_depth,
                ..fine
            }),
            (0, 0, 1)
        );
    }
}
