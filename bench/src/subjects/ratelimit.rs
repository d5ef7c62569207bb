//! `ratelimit`: one token bucket for all keys.

use std::sync::Arc;
use std::time::Duration;

use ratelimit::Ratelimiter;

use super::{Keys, SubjectEntry, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// The one bucket; the key is ignored.
struct Bucket(Arc<Ratelimiter>);

impl Subject<u64> for Bucket {
    #[expect(
        clippy::expect_used,
        reason = "both settings are constants that `build` accepts"
    )]
    fn build(limit: Limit) -> Self {
        let builder = match limit {
            Limit::Open => Ratelimiter::builder(Limit::OPEN_RATE.into())
                .max_tokens(Limit::OPEN_BURST.into())
                .initial_available(Limit::OPEN_BURST.into()),
            Limit::Shut => Ratelimiter::builder(1)
                .period(Duration::from_secs(Limit::SHUT_PERIOD_S.into()))
                .max_tokens(1)
                .initial_available(1),
        };
        Self(Arc::new(builder.build().expect("a valid bucket")))
    }

    fn decide(&mut self, _key: &u64) -> bool {
        self.0.try_wait().is_ok()
    }

    fn handle(&self) -> Option<Self> {
        Some(Self(Arc::clone(&self.0)))
    }
}

pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: "ratelimit",
        decides: "token bucket; std Instant",
        note: "no keys: one bucket, nothing to look up",
        keys: Keys::None,
        keeps_own_state: false,
        number: Some(boxed::<u64, Bucket>),
        ..USUAL
    }
}
