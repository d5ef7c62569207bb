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

/// One bucket that sees all that is admitted, in billionths of a token; below zero is debt.
#[derive(Clone, Copy, Debug)]
pub struct OneBucket {
    per_second: u64,
    full: i128,
    level: i128,
    at: u64,
}

impl OneBucket {
    /// A bucket that gains so many tokens a second up to `burst`, and is full at a time.
    pub fn full(per_second: u64, burst: u64, at: u64) -> Self {
        let full = i128::from(burst) * TOKEN;
        Self {
            per_second,
            full,
            level: full,
            at,
        }
    }

    /// Whether it has so many tokens at a time, which is not before any it was asked about.
    pub fn has(&mut self, cost: u64, now: u64) -> bool {
        let gained = i128::from(self.per_second) * i128::from(now.saturating_sub(self.at));
        self.level = (self.level + gained).min(self.full);
        self.at = now;
        self.level >= i128::from(cost) * TOKEN
    }

    /// Takes so many.
    pub fn take(&mut self, cost: u64) {
        self.level -= i128::from(cost) * TOKEN;
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
            assert!(bucket.has(1, 100));
            bucket.take(1);
        }
        assert!(!bucket.has(1, 100) && !bucket.has(1, 500_000_099));
        assert!(bucket.has(1, 500_000_100) && !bucket.has(2, 500_000_100));
        bucket.take(2);
        assert!(!bucket.has(1, 1_000_000_099) && bucket.has(1, 1_500_000_100));
        assert!(bucket.has(3, 9_000_000_000) && !bucket.has(4, 90_000_000_000));
    }
}
