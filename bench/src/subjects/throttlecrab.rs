//! `throttlecrab`, the library: GCRA over string keys, for one thread.

use std::time::SystemTime;

use throttlecrab::{PeriodicStore, RateLimiter};

use super::{SubjectEntry, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// A limiter with its default store; rate and burst are given with every call.
struct Crab {
    limiter: RateLimiter<PeriodicStore>,
    burst: i64,
    count: i64,
    period_s: i64,
}

impl Subject<String> for Crab {
    fn build(limit: Limit) -> Self {
        let limiter = RateLimiter::new(PeriodicStore::new());
        match limit {
            Limit::Open => Self {
                limiter,
                burst: Limit::OPEN_BURST.into(),
                count: Limit::OPEN_RATE.into(),
                period_s: 1,
            },
            // With a burst of one, version 0.4.40 keeps its entry for no time at all, so every
            // request passes; two is the least burst that denies.
            Limit::Shut => Self {
                limiter,
                burst: 2,
                count: 1,
                period_s: Limit::SHUT_PERIOD_S.into(),
            },
        }
    }

    fn decide(&mut self, key: &String) -> bool {
        let Self {
            burst,
            count,
            period_s,
            ..
        } = *self;
        let answer = self
            .limiter
            .rate_limit(key, burst, count, period_s, 1, SystemTime::now());
        matches!(answer, Ok((true, _)))
    }
}

pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: "throttlecrab",
        decides: "GCRA; std SystemTime",
        note: "string keys only, also in the hot rows; needs exclusive access, so it has no \
               second thread without a lock around it; a burst of one never denies, so its row denied \
               has a burst of two",
        instructions_about: 1_000,
        text: Some(boxed::<String, Crab>),
        ..USUAL
    }
}
