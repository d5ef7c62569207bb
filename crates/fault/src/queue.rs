//! Datagrams in flight, by due time.
//!
//! Not here: forwarding.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tokio::time::Instant;

/// The most datagrams in flight.
pub(crate) const UNDER_WAY_MAX: usize = 100_000;

/// The destination of a datagram, and the node whose socket sends it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Parcel {
    pub(crate) from: Option<u16>,
    pub(crate) to: u16,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct DatagramQueue {
    heap: BinaryHeap<Reverse<(Instant, u64, Parcel)>>,
    count: u64,
}

impl DatagramQueue {
    pub(crate) fn add(&mut self, due: Instant, parcel: Parcel) -> bool {
        if self.heap.len() >= UNDER_WAY_MAX {
            return false;
        }
        self.count += 1;
        self.heap.push(Reverse((due, self.count, parcel)));
        true
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((due, _, _))| *due)
    }

    pub(crate) fn take(&mut self, now: Instant) -> Option<Parcel> {
        if self.next_due()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, parcel))| parcel)
    }
}
