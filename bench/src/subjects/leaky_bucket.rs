//! `leaky-bucket`: one token bucket for all keys, meant to be awaited.

use std::sync::Arc;
use std::time::Duration;

use leaky_bucket::RateLimiter;

use super::{Keys, SubjectEntry, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// The one bucket; the key is ignored.
struct Bucket(Arc<RateLimiter>);

impl Subject<u64> for Bucket {
    fn build(limit: Limit) -> Self {
        let (burst, refill, interval) = match limit {
            Limit::Open => (Limit::OPEN_BURST, Limit::OPEN_RATE, Duration::from_secs(1)),
            Limit::Shut => (1, 1, Duration::from_secs(Limit::SHUT_PERIOD_S.into())),
        };
        let limiter = RateLimiter::builder()
            .max(burst as usize)
            .initial(burst as usize)
            .refill(refill as usize)
            .interval(interval)
            .build();
        Self(Arc::new(limiter))
    }

    fn decide(&mut self, _key: &u64) -> bool {
        self.0.try_acquire(1)
    }

    fn handle(&self) -> Option<Self> {
        Some(Self(Arc::clone(&self.0)))
    }
}

/// The bucket, through `try_acquire`.
pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: "leaky-bucket",
        decides: "token bucket; lock, tokio Instant",
        note: "no keys; fair, as by default, so every call takes its lock and reads the clock",
        keys: Keys::None,
        keeps_own_state: false,
        instructions_about: 100,
        number: Some(boxed::<u64, Bucket>),
        ..USUAL
    }
}
