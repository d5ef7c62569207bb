//! How many bytes the machines of a node may have, and which of them must make room.
//!
//! Each policy has a share that others cannot take. Not here: what a machine gives up.

use std::sync::atomic::Ordering::Relaxed;

use tollgate_table::WhenFull;

use super::Company;

impl Company {
    /// Whether the machines have no room for another key.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.load(Relaxed) >= self.bytes_max
    }

    /// Whether that is so, and one that has so many bytes must make room: it has its share of them.
    pub(super) fn is_over(&self, bytes: u64) -> bool {
        let share = self.bytes_max / self.seats.load(Relaxed).max(1);
        self.is_full() && bytes >= share
    }

    /// Hears how many machines there are.
    pub(crate) fn set_seats(&self, seats: usize) {
        self.seats.store(seats as u64, Relaxed);
    }

    pub(super) const fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// Counts bytes of a machine that had others.
    pub(super) fn charge_bytes(&self, was: u64, is: u64) {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        self.bytes.fetch_add(is, Relaxed);
        self.bytes.fetch_sub(was, Relaxed);
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
