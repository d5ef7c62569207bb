//! How long the suite runs, and from which seed.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tollgate_kit::scramble;
use tollgate_store::Name;

#[derive(Debug)]
pub struct SuitePlan {
    /// Of all randomness.
    pub seed: u64,
    /// Random cases of each kind.
    pub cases: u64,
    /// Operations in a case at most.
    pub steps: usize,
    /// How long an engine may take for one batch; only a hang takes this long.
    pub time: Duration,
    /// Concurrent callers on one key.
    pub callers: u32,
    run: u64,
    names: AtomicU64,
}

impl Default for SuitePlan {
    fn default() -> Self {
        Self {
            seed: 1,
            cases: 12,
            steps: 40,
            time: Duration::from_secs(30),
            callers: 64,
            // Names must be new even if an engine has state of an earlier run.
            run: RandomState::new().hash_one(0),
            names: AtomicU64::new(0),
        }
    }
}

impl SuitePlan {
    /// So many cases of each kind, from a seed.
    pub fn of(seed: u64, cases: u64) -> Self {
        let plan = Self::default();
        Self {
            seed,
            cases,
            ..plan
        }
    }

    /// A new name on each call.
    pub fn name(&self) -> Name {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        Name(
            u128::from(scramble(self.run)) << 64
                | u128::from(scramble(self.run ^ scramble(number))),
        )
    }

    pub(crate) fn seed_of(&self, kind: u64, case: u64) -> u64 {
        scramble(self.seed ^ scramble(kind << 32 | case))
    }

    pub(crate) fn draw<S: Strategy>(seed: u64, strategy: &S) -> S::Value {
        let mut bytes = [0; 32];
        let words = (0..).map(|word| scramble(seed ^ word).to_le_bytes());
        for (to, from) in bytes.iter_mut().zip(words.flatten()) {
            *to = from;
        }
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let tree = strategy.new_tree(&mut runner);
        tree.expect("no strategy here refuses what it draws")
            .current()
    }
}
