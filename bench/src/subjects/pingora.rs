//! `pingora-limits`: a count-min sketch of events in the current interval.

use std::sync::Arc;
use std::time::Duration;

use pingora_limits::rate::Rate;

use super::{Keys, SubjectEntry, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// A shared estimator and the count above which a request is refused.
struct Estimator {
    rate: Arc<Rate>,
    bound: isize,
}

impl Estimator {
    fn new(limit: Limit) -> Self {
        let bound = match limit {
            Limit::Open => isize::MAX,
            Limit::Shut => 0,
        };
        Self {
            rate: Arc::new(Rate::new(Duration::from_secs(1))),
            bound,
        }
    }

    fn share(&self) -> Self {
        Self {
            rate: Arc::clone(&self.rate),
            bound: self.bound,
        }
    }
}

impl Subject<u64> for Estimator {
    fn build(limit: Limit) -> Self {
        Self::new(limit)
    }

    fn decide(&mut self, key: &u64) -> bool {
        self.rate.observe(key, 1) <= self.bound
    }

    fn handle(&self) -> Option<Self> {
        Some(self.share())
    }
}

impl Subject<String> for Estimator {
    fn build(limit: Limit) -> Self {
        Self::new(limit)
    }

    fn decide(&mut self, key: &String) -> bool {
        self.rate.observe(key, 1) <= self.bound
    }

    fn handle(&self) -> Option<Self> {
        Some(self.share())
    }
}

/// The estimator in its default shape, four hashes of 1024 counters.
pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: "pingora-limits",
        decides: "estimate per fixed interval; std Instant",
        note: "a sketch of 4 x 1024 counters: keys share counters, so at many keys it refuses \
               wrongly; it stays in cache whatever the number of keys",
        keys: Keys::Shared,
        number: Some(boxed::<u64, Estimator>),
        text: Some(boxed::<String, Estimator>),
        ..USUAL
    }
}
