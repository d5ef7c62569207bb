//! Request rates over the last seconds, by contract.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::counts::Counts;

/// Counts of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentCounts {
    pub counts: Counts,
    /// Length of the interval.
    pub over_ms: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Pulse {
    now: BTreeMap<Arc<str>, Counts>,
    /// End, length and counts of each interval; oldest first.
    past: VecDeque<(u64, u64, BTreeMap<Arc<str>, Counts>)>,
}

impl Pulse {
    pub(crate) fn add(&mut self, contract: &Arc<str>, counts: &Counts) {
        if let Some(sum) = self.now.get_mut(contract) {
            sum.add(counts);
        } else if self.now.len() < CONTRACTS_MAX {
            self.now.insert(Arc::clone(contract), *counts);
        }
    }

    pub(crate) fn beat(&mut self, now_ms: u64) {
        let ended = self.past.back().map_or(now_ms, |(at, ..)| *at);
        let length = now_ms.saturating_sub(ended).min(KEPT_MS);
        let counts = std::mem::take(&mut self.now);
        self.past.push_back((now_ms, length, counts));
        // After a clock step back, entries appear to be in the future.
        let is_old = |at: u64| at > now_ms || now_ms - at > KEPT_MS;
        while self.past.len() > BEATS_MAX || self.past.front().is_some_and(|(at, ..)| is_old(*at)) {
            self.past.pop_front();
        }
    }

    /// Counts of about the last `window_ms`, by contract.
    pub(crate) fn pace(&self, window_ms: u64) -> Vec<(Arc<str>, RecentCounts)> {
        let now = self.past.back().map_or(0, |(at, ..)| *at);
        let is_near = |at: u64| now.saturating_sub(at) < window_ms;
        let near = self.past.iter().filter(|(at, ..)| is_near(*at));
        let mut over_ms = 0;
        let mut sums: BTreeMap<Arc<str>, Counts> = BTreeMap::new();
        for (_, length, counts) in near {
            over_ms += length;
            for (contract, counts) in counts {
                sums.entry(Arc::clone(contract)).or_default().add(counts);
            }
        }
        let pace = |counts| RecentCounts { counts, over_ms };
        sums.into_iter().map(|(id, sum)| (id, pace(sum))).collect()
    }
}

const KEPT_MS: u64 = 60_000;
const BEATS_MAX: usize = 256;
const CONTRACTS_MAX: usize = 65_536;
