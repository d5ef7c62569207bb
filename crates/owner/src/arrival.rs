//! How far a node has come that joins a cluster: it decides about no key whose counts others may still have.
//!
//! Until all others know it, it takes no keys over, so that none is asked for where it no longer is. Then they send it
//! what it owns, and until that is over it decides about the keys that have come and no others. Not here: asking the
//! others whether that is over (`cluster`).

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// How far this node has come.
#[derive(Debug, Default)]
pub struct Arrival(AtomicU8);

impl Arrival {
    /// The node joins, and not all others know it.
    pub fn begin(&self) {
        self.0.store(UNKNOWN, Relaxed);
    }

    /// The node has served alone, and meets others only now.
    pub fn begin_late(&self) {
        self.0.store(UNKNOWN | LATE, Relaxed);
    }

    /// All others know it, and send it the keys that it owns.
    pub fn set_known(&self) {
        let late = self.0.load(Relaxed) & LATE;
        self.0.store(KNOWN | late, Relaxed);
    }

    /// The others have sent all, or are waited for no longer.
    pub fn end(&self) {
        self.0.store(OVER, Relaxed);
    }

    /// Whether others may have counts of keys that this node owns.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.0.load(Relaxed) != OVER
    }

    /// Whether the node is not ready for that.
    pub fn is_joining(&self) -> bool {
        self.is_under_way() && self.0.load(Relaxed) & LATE == 0
    }

    /// Whether keys are taken over.
    pub(crate) fn takes_keys(&self) -> bool {
        self.0.load(Relaxed) & UNKNOWN == 0
    }
}

const OVER: u8 = 0;
const KNOWN: u8 = 1;
const UNKNOWN: u8 = 2;
/// The node was ready before it met others.
const LATE: u8 = 4;
