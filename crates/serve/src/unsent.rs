//! Answers that clients have yet to read: limits on their bytes, per connection and in total.
//!
//! What a client reads at once is never counted. Not here: how long an answer waits, and what happens to connections
//! over the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that wait, of all connections.
#[derive(Debug, Default)]
pub(crate) struct Unsent(AtomicUsize);

/// Bytes that wait, of one connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionBytes(AtomicUsize);

/// Counted bytes, until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    all: Arc<Unsent>,
    own: Arc<ConnectionBytes>,
    bytes: usize,
}

impl Unsent {
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts bytes that wait on a connection; `None` if that would be too many. Then they must not be kept.
    ///
    /// A few are granted to every connection, however many the others have, so that other clients cannot starve it.
    pub(crate) fn hold(
        self: &Arc<Self>,
        own: &Arc<ConnectionBytes>,
        bytes: usize,
    ) -> Option<HeldBytes> {
        let mut held = HeldBytes {
            all: Arc::clone(self),
            own: Arc::clone(own),
            bytes: 0,
        };
        held.grow(bytes).then_some(held)
    }
}

impl HeldBytes {
    /// Counts more bytes; returns whether that was possible.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let before = self.own.0.fetch_add(bytes, Ordering::Relaxed);
        let all = self.all.0.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes += bytes;
        let own = before + bytes;
        // One answer may be larger than what a connection may have of several.
        let is_own = own <= OWN_MAX || before <= OWN_KEPT;
        let is_kept = own <= OWN_KEPT || (is_own && all <= ALL_MAX);
        if !is_kept {
            self.shrink(bytes);
        }
        is_kept
    }

    fn shrink(&mut self, bytes: usize) {
        self.own.0.fetch_sub(bytes, Ordering::Relaxed);
        self.all.0.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

/// Bytes that every connection may keep.
const OWN_KEPT: usize = 16 << 10;
/// Bytes that one connection may keep in several answers while there is room.
const OWN_MAX: usize = 2 << 20;
/// Bytes that all connections may keep together, beyond those that each may.
const ALL_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_keeps_no_more_than_its_own_and_gives_all_of_it_back() {
        let (all, own) = (Arc::<Unsent>::default(), Arc::<ConnectionBytes>::default());
        let first = all.hold(&own, OWN_MAX).unwrap();
        assert!(all.hold(&own, 1).is_none());
        drop(first);
        assert_eq!((all.bytes(), own.0.load(Ordering::Relaxed)), (0, 0));
        let large = all.hold(&own, 2 * OWN_MAX);
        assert!(large.is_some() && all.hold(&own, 1).is_none());
    }

    #[test]
    fn where_others_keep_all_there_is_everybody_may_keep_a_little() {
        let all = Arc::<Unsent>::default();
        let greedy: Vec<_> = (0..ALL_MAX / OWN_MAX)
            .map(|_| all.hold(&Arc::default(), OWN_MAX).unwrap())
            .collect();
        let own = Arc::<ConnectionBytes>::default();
        let mut little = all.hold(&own, OWN_KEPT / 2).unwrap();
        assert!(little.grow(OWN_KEPT / 2) && !little.grow(1));
        drop(greedy);
        assert!(little.grow(1));
    }
}
