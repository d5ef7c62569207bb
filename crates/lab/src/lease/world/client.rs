//! What the world knows of a client: who it is, what it waits for, and what was admitted there.
//!
//! Not here: what it holds, which the place has (`nodes::site`).

use std::collections::BTreeMap;

use tollgate_lease::{Booked, Pool, Stamp};

#[derive(Debug, Default)]
pub(super) struct LeaseClient {
    pub(super) address: u16,
    /// As whom it asks.
    pub(super) name: u64,
    pub(super) boot: u64,
    /// A grant of a grantor that fell: it may still arrive, and counts until then.
    pub(super) orphan: Option<Orphan>,
    /// Requests that wait: number, and since when.
    pub(super) waiting: BTreeMap<u64, u64>,
    /// What was promised and has not passed yet.
    pub(super) promised: u64,
    pub(super) admitted: u64,
    pub(super) central: u64,
}

/// A grant under way when its grantor fell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orphan {
    pub(super) stamp: Stamp,
    pub(super) tokens: i128,
    pub(super) until: u64,
}

impl LeaseClient {
    /// What is reserved for it, in this boot.
    pub(super) fn booked(&self, pool: &Pool) -> Option<Booked> {
        let booked = pool.booked(self.name);
        booked.filter(|booked| booked.boot == self.boot)
    }

    /// How long a request that is decided now has waited.
    pub(super) fn waited(&mut self, number: u64, now: u64) -> u64 {
        let since = self.waiting.remove(&number);
        since.map_or(0, |since| now - since)
    }
}
