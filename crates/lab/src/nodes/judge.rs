//! Who hears every decision, and one bucket that judges them.
//!
//! Nothing here calls what decides. Not here: judges of one experiment.

use tollgate_node::Key;

/// A request that a node has answered.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// When, in nanoseconds of the world.
    pub at: u64,
    /// Which node, by place.
    pub node: usize,
    /// Who is counted.
    pub key: Key<'a>,
    /// What it cost.
    pub cost: u64,
    /// Whether it passes.
    pub is_allowed: bool,
    /// How many nanoseconds it was told to wait first.
    pub wait: u64,
}

/// A judge: hears every request that a node has answered, in the order of the world's time.
pub trait Observer {
    /// A request was answered.
    fn decided(&mut self, decision: &Decision<'_>);
}

/// Nobody judges.
impl Observer for () {
    fn decided(&mut self, _decision: &Decision<'_>) {}
}

/// Two judges, one after the other.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn decided(&mut self, decision: &Decision<'_>) {
        self.0.decided(decision);
        self.1.decided(decision);
    }
}

/// One bucket that sees all that is admitted; below zero is debt.
#[derive(Clone, Copy, Debug)]
pub struct OneBucket {
    gain: u64,
    token: i128,
    full: i128,
    level: i128,
    at: u128,
}

impl OneBucket {
    /// A bucket that gains so many tokens a second up to `burst`, and is full at a time, in nanoseconds.
    pub fn full(per_second: u64, burst: u64, at: u64) -> Self {
        Self {
            at: u128::from(at),
            ..Self::of(per_second, TOKEN, i128::from(burst) * TOKEN)
        }
    }

    /// A bucket that gains so many parts of a token in a unit of time, of which `token` are one, up to `full` of them.
    /// It is full at time zero.
    pub const fn of(gain: u64, token: i128, full: i128) -> Self {
        Self {
            gain,
            token,
            full,
            level: full,
            at: 0,
        }
    }

    /// Whether it has so many tokens at a time, which is not before any it was asked about.
    pub fn has(&mut self, cost: u64, now: impl Into<u128>) -> bool {
        let now = now.into();
        let passed = i128::try_from(now.saturating_sub(self.at)).unwrap_or(i128::MAX);
        let gained = passed.saturating_mul(i128::from(self.gain));
        self.level = self.level.saturating_add(gained).min(self.full);
        self.at = now.max(self.at);
        self.level >= i128::from(cost) * self.token
    }

    /// Takes so many.
    pub fn take(&mut self, cost: u64) {
        self.level -= i128::from(cost) * self.token;
    }

    /// How many tokens it is short of, rounded up.
    pub fn short(&self) -> u64 {
        let short = self.level.min(0).unsigned_abs();
        u64::try_from(short.div_ceil(self.token.unsigned_abs())).unwrap_or(u64::MAX)
    }

    /// Which of these, each with its time, it had no tokens for; they are taken all the same.
    ///
    /// # Panics
    ///
    /// Where they are not in order of time.
    pub fn violations<T: Copy + Into<u128>>(
        mut self,
        admitted: impl IntoIterator<Item = (T, u64)>,
    ) -> impl Iterator<Item = (T, u64)> {
        admitted.into_iter().filter(move |(at, cost)| {
            assert!((*at).into() >= self.at, "out of order");
            let has = self.has(*cost, *at);
            self.take(*cost);
            !has
        })
    }
}

const TOKEN: i128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_too_many_is_seen_and_none_too_few() {
        let mut bucket = OneBucket::full(2, 3, 100);
        for _ in 0..3 {
            assert!(bucket.has(1, 100_u64));
            bucket.take(1);
        }
        assert!(!bucket.has(1, 100_u64) && !bucket.has(1, 500_000_099_u64));
        assert!(bucket.has(1, 500_000_100_u64) && !bucket.has(2, 500_000_100_u64));
        bucket.take(2);
        assert!(!bucket.has(1, 1_000_000_099_u64) && bucket.has(1, 1_500_000_100_u64));
        assert!(bucket.has(3, 9_000_000_000_u64) && !bucket.has(4, 90_000_000_000_u64));
    }

    #[test]
    fn one_too_many_or_a_nanosecond_too_early_is_a_violation() {
        let bucket = OneBucket::of(10, 1_000, 2_000);
        let violations = |times: &[u64]| {
            let times = times.iter().map(|at| (*at, 1));
            bucket.violations(times).count()
        };
        assert_eq!(violations(&[0, 0, 100, 200]), 0);
        assert_eq!(violations(&[0, 0, 99]), 1);
        assert_eq!(violations(&[0, 0, 0, 0]), 2);
        assert_eq!(violations(&[0, 50, 99]), 1);
        assert_eq!(violations(&[5_000, 5_000, 5_100]), 0);
    }
}
