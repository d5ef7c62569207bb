//! How many bytes the machines of a node may have, and which of them must make room.
//!
//! Each policy has a share that others cannot take. Not here: what a machine gives up.

use std::sync::atomic::Ordering::Relaxed;

use tollgate_table::WhenFull;

use super::Company;
use super::seat::PolicyShards;

impl Company {
    /// Whether the machines have no room for another key.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.load(Relaxed) >= self.bytes_max
    }

    /// Whether that is so, and the shard of a policy that has so many bytes must make room: the policy has so many
    /// shares of them, and the shard its part of that.
    pub(super) fn is_over(&self, policy: &PolicyShards, bytes: u64, shares: u64) -> bool {
        let most = self.bytes_max / self.policies.load(Relaxed).max(1) * shares;
        let each = most / policy.count as u64;
        self.is_full() && bytes >= each && policy.bytes.load(Relaxed) >= most
    }

    /// Hears how many policies there are.
    pub(crate) fn set_policies(&self, policies: usize) {
        self.policies.store(policies as u64, Relaxed);
    }

    pub(super) const fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// Counts bytes of a machine that had others.
    pub(super) fn charge_bytes(&self, policy: &PolicyShards, was: u64, is: u64) {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        self.bytes.fetch_add(is, Relaxed);
        self.bytes.fetch_sub(was, Relaxed);
        policy.bytes.fetch_add(is, Relaxed);
        policy.bytes.fetch_sub(was, Relaxed);
        self.budget.take(size(is));
        self.budget.give_back(size(was));
    }
}

/// The bytes that machines may have, and those that frames which wait to be sent may take.
pub(super) fn parts(bytes_max: u64) -> (u64, u64) {
    let part = bytes_max / BYTES_PART;
    let waiting_max = (part / WAITING_PART).min(WAITING_MAX);
    (part - waiting_max, waiting_max)
}

/// Machines may have that part of the node's bytes: one half,
const BYTES_PART: u64 = 2;
/// of which a quarter is for frames that wait to be sent,
const WAITING_PART: u64 = 4;
/// and no more than that.
const WAITING_MAX: u64 = 64 << 20;
