//! What is given up for want of room, and how much memory all of it takes.
//!
//! Not here: when there is no room, and copies for others (`keep`).

use tollgate_limit::Instant;
use tollgate_mode::Key;

use super::Home;
use super::entry::Entry;

impl Home {
    /// Forgets of a few keys the one that has most left. What was admitted here is reported first.
    pub(super) fn forget_one(&mut self, now: Instant) -> bool {
        self.cx.now = now;
        let (bucket, now) = (self.cx.rules.bucket, self.cx.mark());
        let left = |entry: &Entry| bucket.capacity().saturating_sub(entry.view.end.since(now));
        let key = self.hand.pick(&self.entries, left);
        key.is_some_and(|key| {
            self.forget(key);
            true
        })
    }

    /// About how many bytes of memory all of it takes.
    pub(super) fn held_bytes(&self) -> u64 {
        let entry = size_of::<(Key, Entry)>() as u64;
        let keys = self.entries.len() as u64 * (entry * TREE_MORE / TREE_LESS + INDEX_HELD);
        let copies = self.copies.len() as u64 * COPY_HELD + 2 * self.copies.bytes();
        keys + 2 * self.bytes.local + EXTRA_MORE * self.bytes.extra + copies
    }
}

/// A tree has room for half as much again as it holds.
const TREE_MORE: u64 = 3;
const TREE_LESS: u64 = 2;
/// Bytes that a copy for another node takes besides its list: its places in two trees.
const COPY_HELD: u64 = 160;
/// Bytes that a key takes besides its entry: its places in other trees, and the first places of its list.
const INDEX_HELD: u64 = 200;
/// Bytes that what is collected takes for each byte of it on the wire: it is in trees of its own.
const EXTRA_MORE: u64 = 10;
