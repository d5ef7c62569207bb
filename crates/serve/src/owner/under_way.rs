//! Keys whose cells are on their way to another node: here nobody counts by them any more, there nobody counts by them
//! yet.
//!
//! Not here: sending them (`moving`).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_table::Print;

/// Keys on their way, by the tag of their contract.
#[derive(Default)]
pub(super) struct UnderWay {
    keys: Mutex<BTreeSet<(u64, u64)>>,
    is_some: AtomicBool,
}

/// Keys are on their way for as long as this lives.
pub(super) struct Leaving<'a>(&'a UnderWay);

impl UnderWay {
    /// These keys of a contract leave, and no others.
    pub(super) fn begin(&self, tag: u64, prints: &[Print]) -> Leaving<'_> {
        *self.keys.lock() = prints.iter().map(|print| (tag, print.0)).collect();
        self.is_some.store(true, Relaxed);
        Leaving(self)
    }

    /// Whether a key is on its way.
    #[inline]
    pub(super) fn has(&self, tag: u64, print: Print) -> bool {
        self.is_some.load(Relaxed) && self.keys.lock().contains(&(tag, print.0))
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.is_some.store(false, Relaxed);
        self.0.keys.lock().clear();
    }
}
