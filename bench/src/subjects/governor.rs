//! `governor`: keyed GCRA in a `DashMap`, with its default clock and with its fake one.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock, FakeRelativeClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::{GOVERNOR, SubjectEntry, USUAL};
use crate::subject::{Limit, Subject, boxed};

type Limiter<K, C> = RateLimiter<K, DashMapStateStore<K>, C, NoOpMiddleware<<C as Clock>::Instant>>;

struct Governor<K: Hash + Eq + Clone, C: Clock>(Arc<Limiter<K, C>>);

impl<K, C> Subject<K> for Governor<K, C>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    C: Clock + Default + Send + Sync + 'static,
    C::Instant: Send + Sync,
{
    fn build(limit: Limit) -> Self {
        let store = DashMapStateStore::default();
        Self(Arc::new(RateLimiter::new(
            quota(limit),
            store,
            C::default(),
        )))
    }

    fn decide(&mut self, key: &K) -> bool {
        self.0.check_key(key).is_ok()
    }

    fn handle(&self) -> Option<Self> {
        Some(Self(Arc::clone(&self.0)))
    }
}

fn quota(limit: Limit) -> Quota {
    let (burst, period) = match limit {
        Limit::Open => (Limit::OPEN_BURST, Duration::from_secs(1) / Limit::OPEN_RATE),
        Limit::Shut => (1, Duration::from_secs(Limit::SHUT_PERIOD_S.into())),
    };
    let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
    // The period is a constant above zero, so the fallback is never taken.
    Quota::with_period(period)
        .unwrap_or(Quota::per_second(burst))
        .allow_burst(burst)
}

/// The two clocks of one limiter.
pub(super) fn entries() -> [SubjectEntry; 2] {
    [
        SubjectEntry {
            name: GOVERNOR,
            decides: "GCRA; quanta clock (rdtsc)",
            number: Some(boxed::<u64, Governor<u64, QuantaClock>>),
            text: Some(boxed::<String, Governor<String, QuantaClock>>),
            ..USUAL
        },
        SubjectEntry {
            name: "governor-fake",
            decides: "GCRA; fake clock, an atomic load",
            note: "governor with FakeRelativeClock: its price without reading a clock",
            keeps_own_state: false,
            number: Some(boxed::<u64, Governor<u64, FakeRelativeClock>>),
            text: Some(boxed::<String, Governor<String, FakeRelativeClock>>),
            ..USUAL
        },
    ]
}
