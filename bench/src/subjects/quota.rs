//! `quota`: keyed GCRA in a sharded map of its own, with a cache of hot slots before it.

use std::sync::Arc;

use quota::{QuotaPolicy, QuotaPool, RefillRate};

use super::{SubjectEntry, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// A shared pool.
struct Pool<K: Eq + std::hash::Hash + Clone>(Arc<QuotaPool<K>>);

impl Subject<u64> for Pool<u64> {
    fn build(limit: Limit) -> Self {
        let (policy, initial) = policy(limit);
        Self(Arc::new(QuotaPool::with_key_type(policy, initial)))
    }

    fn decide(&mut self, key: &u64) -> bool {
        self.0.check(key, 1)
    }

    fn handle(&self) -> Option<Self> {
        Some(Self(Arc::clone(&self.0)))
    }
}

impl Subject<String> for Pool<String> {
    fn build(limit: Limit) -> Self {
        let (policy, initial) = policy(limit);
        Self(Arc::new(QuotaPool::with_key_type(policy, initial)))
    }

    fn decide(&mut self, key: &String) -> bool {
        self.0.check(key.as_str(), 1)
    }

    fn handle(&self) -> Option<Self> {
        Some(Self(Arc::clone(&self.0)))
    }
}

fn policy(limit: Limit) -> (QuotaPolicy, u64) {
    let (burst, rate) = match limit {
        Limit::Open => (Limit::OPEN_BURST, RefillRate::per_sec(Limit::OPEN_RATE)),
        Limit::Shut => (1, RefillRate::per_hour(1)),
    };
    let policy = QuotaPolicy::new()
        .set_capacity(burst.into())
        .set_refill_rate(rate);
    (policy, burst.into())
}

pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: "quota",
        decides: "GCRA; quanta clock (rdtsc)",
        note: "default feature slot-cache; keys stay until removed by hand; no time until retry",
        number: Some(boxed::<u64, Pool<u64>>),
        text: Some(boxed::<String, Pool<String>>),
        ..USUAL
    }
}
