//! What a measured limiter must offer, and the loops that drive it.
//!
//! The loops are compiled once per subject, so no virtual call stands between a loop and the
//! decision it measures; the boxed [`Runner`] is entered once per slice, not once per decision.
//! Not here: timing.

use std::hint::black_box;

/// How many keys one batched call decides.
pub(crate) const BATCH: usize = 32;

/// The rule a subject enforces on every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// A million per second and a burst of [`Limit::OPEN_BURST`]: every measured request passes.
    Open,
    /// One per hour: every request after the first few is denied.
    Shut,
}

impl Limit {
    /// Units a key may take at once under [`Limit::Open`]; no measurement comes near it.
    pub(crate) const OPEN_BURST: u32 = 1_000_000_000;
    /// Units per second a key regains under [`Limit::Open`].
    pub(crate) const OPEN_RATE: u32 = 1_000_000;
    /// Seconds in which a key regains one unit under [`Limit::Shut`].
    pub(crate) const SHUT_PERIOD_S: u32 = 3_600;
}

/// A limiter under measurement, for keys of type `K` (`u64` or `String`).
pub(crate) trait Subject<K>: Send + Sized + 'static {
    fn build(limit: Limit) -> Self;

    /// Decides one request of cost one: whether it passes.
    fn decide(&mut self, key: &K) -> bool;

    /// Decides several requests in one call: how many pass. Nothing if there is no such call.
    fn decide_many(&mut self, _keys: &[K]) -> Option<usize> {
        None
    }

    /// Makes a second handle to the same state, for another thread, where the limiter allows it.
    fn handle(&self) -> Option<Self> {
        None
    }
}

/// A [`Subject`] with its type forgotten; every method answers how many requests passed.
pub(crate) trait Runner<K>: Send {
    /// Decides each of `keys` once.
    fn each(&mut self, keys: &[K]) -> u64;

    /// Decides one key `count` times.
    fn same(&mut self, key: &K, count: u64) -> u64;

    /// Decides each of `keys` once, [`BATCH`] at a time; keys beyond the last full batch are left.
    fn batches(&mut self, keys: &[K]) -> Option<u64>;

    /// Makes a second handle to the same state, for another thread.
    fn handle(&self) -> Option<Box<dyn Runner<K>>>;
}

/// Makes a runner that enforces a limit.
pub(crate) type Build<K> = fn(Limit) -> Box<dyn Runner<K>>;

/// Builds a subject and forgets its type.
pub(crate) fn boxed<K: 'static, S: Subject<K>>(limit: Limit) -> Box<dyn Runner<K>> {
    Box::new(Erased(S::build(limit)))
}

/// Keeps the method names of the two traits apart.
struct Erased<S>(S);

impl<K: 'static, S: Subject<K>> Runner<K> for Erased<S> {
    #[inline(never)]
    fn each(&mut self, keys: &[K]) -> u64 {
        let mut passed = 0;
        for key in keys {
            passed += u64::from(self.0.decide(black_box(key)));
        }
        passed
    }

    #[inline(never)]
    fn same(&mut self, key: &K, count: u64) -> u64 {
        let mut passed = 0;
        for _ in 0..count {
            passed += u64::from(self.0.decide(black_box(key)));
        }
        passed
    }

    #[inline(never)]
    fn batches(&mut self, keys: &[K]) -> Option<u64> {
        let mut passed = 0;
        for batch in keys.chunks_exact(BATCH) {
            passed += self.0.decide_many(black_box(batch))? as u64;
        }
        Some(passed)
    }

    fn handle(&self) -> Option<Box<dyn Runner<K>>> {
        let other = self.0.handle()?;
        Some(Box::new(Erased(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes even keys, one by one or many at once.
    struct Even;

    impl Subject<u64> for Even {
        fn build(_limit: Limit) -> Self {
            Self
        }

        fn decide(&mut self, key: &u64) -> bool {
            key.is_multiple_of(2)
        }

        fn decide_many(&mut self, keys: &[u64]) -> Option<usize> {
            assert_eq!(keys.len(), BATCH);
            Some(keys.iter().filter(|key| key.is_multiple_of(2)).count())
        }
    }

    #[test]
    fn the_loops_agree_on_what_passed() {
        let keys: Vec<u64> = (0..4 * BATCH as u64).collect();
        let mut runner = boxed::<u64, Even>(Limit::Open);
        assert_eq!(runner.each(&keys), 2 * BATCH as u64);
        assert_eq!(runner.batches(&keys), Some(2 * BATCH as u64));
        assert_eq!((runner.same(&2, 5), runner.same(&3, 5)), (5, 0));
        assert!(runner.handle().is_none());
    }
}
