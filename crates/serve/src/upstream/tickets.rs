//! What requests took elsewhere, by numbers that fit into this server's own receipts.
//!
//! A bounded table: the oldest goes first, and what it took then stays charged as it is. Not here: settling.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tollgate_client::RemoteReceipt;

/// What requests took, by number.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    each: BTreeMap<u64, RemoteReceipt>,
}

impl Tickets {
    /// Keeps what a request took; the number is never zero.
    pub(super) fn keep(&self, receipt: RemoteReceipt) -> u64 {
        let mut kept = self.0.lock();
        if kept.each.len() >= TICKETS_MAX {
            kept.each.pop_first();
        }
        kept.last += 1;
        let number = kept.last;
        kept.each.insert(number, receipt);
        number
    }

    /// Takes out what a request took; `None` where it was taken before, or is too old.
    pub(super) fn take(&self, number: u64) -> Option<RemoteReceipt> {
        self.0.lock().each.remove(&number)
    }
}

/// Requests that can be settled at a time.
const TICKETS_MAX: usize = 65_536;
