//! Tollgate: the embedded limiter, with its system clock and with its fake one.
//!
//! Its table drops cells that equal a fresh one, so the open limit refills slowly: a key that was asked for stays spent
//! for seconds, and every measured key is really there. A faster refill would flatter both time and memory.

use std::sync::Arc;

use tollgate_client::{
    Clock, Contracts, Cost, FakeClock, Key, Limiter, LimiterConfig, Period, PolicyConfig,
    SystemClock,
};
use tollgate_limit::Policy;

use super::{OURS, SubjectEntry, SubjectRole, USUAL};
use crate::subject::{BATCH, Limit, Subject, boxed};

/// A shared limiter of `N` token buckets.
struct Tollgate<C, const N: usize>(Arc<Limiter<C>>);

/// What stands for one of the measured keys.
trait AsKey: 'static {
    fn key(&self) -> Key<'_>;
}

impl AsKey for u64 {
    fn key(&self) -> Key<'_> {
        Key::Word(*self)
    }
}

impl AsKey for String {
    fn key(&self) -> Key<'_> {
        Key::Text(self.as_bytes())
    }
}

impl<K: AsKey, C: Clock + Default + 'static, const N: usize> Subject<K> for Tollgate<C, N> {
    fn build(limit: Limit) -> Self {
        let policies = vec![policy(limit); N]
            .into_iter()
            .map(Policy::new)
            .collect::<Result<_, _>>();
        let contracts = policies.and_then(Contracts::for_every_key);
        let config = LimiterConfig {
            bytes_max: BYTES_MAX,
            ..LimiterConfig::default()
        };
        let limiter = contracts
            .map_err(Into::into)
            .and_then(|contracts| Limiter::with(contracts, config, C::default()));
        match limiter {
            Ok(limiter) => Self(Arc::new(limiter)),
            Err(error) => panic!("the policy is a constant: {error}"),
        }
    }

    #[inline]
    fn decide(&mut self, key: &K) -> bool {
        self.0.check(key.key(), 1).is_allowed()
    }

    #[inline]
    fn decide_many(&mut self, keys: &[K]) -> Option<usize> {
        let mut requests = [(Key::Word(0), Cost::ONE); BATCH];
        for (request, key) in requests.iter_mut().zip(keys) {
            request.0 = key.key();
        }
        let mut passed = 0;
        self.0.check_many(&requests, |answer| {
            passed += usize::from(answer.is_allowed());
        });
        Some(passed)
    }

    fn handle(&self) -> Option<Self> {
        Some(Self(Arc::clone(&self.0)))
    }
}

fn policy(limit: Limit) -> PolicyConfig {
    let (burst, seconds) = match limit {
        Limit::Open => (SLOW_BURST, SLOW_S),
        Limit::Shut => (1, Limit::SHUT_PERIOD_S),
    };
    let period = Period::from_nanos(u64::from(seconds) * 1_000_000_000);
    let mut config = PolicyConfig::token_bucket(1, period);
    config.burst = Some(burst.into());
    config
}

/// The two clocks of one limiter.
pub(super) fn entries() -> [SubjectEntry; 2] {
    [
        SubjectEntry {
            name: OURS,
            decides: "token bucket; system clock (rdtsc)",
            role: SubjectRole::Ours,
            number: Some(boxed::<u64, Tollgate<SystemClock, 1>>),
            text: Some(boxed::<String, Tollgate<SystemClock, 1>>),
            two_limits: Some(boxed::<u64, Tollgate<SystemClock, 2>>),
            ..USUAL
        },
        SubjectEntry {
            name: "tollgate-fake",
            decides: "token bucket; fake clock, an atomic load",
            note: "tollgate with FakeClock: its price without reading a clock",
            role: SubjectRole::Ours,
            keeps_own_state: false,
            number: Some(boxed::<u64, Tollgate<FakeClock, 1>>),
            text: Some(boxed::<String, Tollgate<FakeClock, 1>>),
            ..USUAL
        },
    ]
}

/// Room for every key of every row.
const BYTES_MAX: u64 = 4 << 30;
/// Units a key may take at once under the open limit: more than any row takes.
const SLOW_BURST: u32 = 200_000_000;
/// Seconds in which a key regains one of them: longer than it takes to fill the largest table.
const SLOW_S: u32 = 45;
