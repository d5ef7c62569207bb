//! Copies of what other nodes have not published, kept for the day they are restarted.
//!
//! They count for nothing here. A copy goes when its writer publishes something newer, or when its writer would have
//! faded it. Not here: what a restarted node does with them.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::Instant;
use tollgate_mode::{Key, NodeId, Writer};

use super::frame::Copied;

/// Copies kept at most; further ones are not taken.
const COPIES_MAX: usize = 1 << 20;
/// Bytes of a copy besides its segments: key, writer, version, secret.
const COPY_BYTES: u64 = 16 + 2 + 5 + 8;
/// Bytes of a segment: its start and its count.
const SEGMENT_BYTES: u64 = 16;

/// Copies by writer and key.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    copies: BTreeMap<(Key, Writer), Copy>,
    due: BTreeSet<(Instant, Key, Writer)>,
    bytes: u64,
}

#[derive(Debug)]
struct Copy {
    node: NodeId,
    due: Instant,
    copied: Copied,
}

impl Copy {
    fn bytes(&self) -> u64 {
        COPY_BYTES + self.copied.entry.list.len() as u64 * SEGMENT_BYTES
    }
}

impl Kept {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps a copy until `due`, unless a newer one is there.
    pub(crate) fn keep(&mut self, node: NodeId, copied: Copied, due: Instant) {
        let (key, writer) = (copied.key, copied.entry.writer);
        let before = self.copies.get(&(key, writer));
        let is_newer = before.is_none_or(|copy| copy.copied.entry.version < copied.entry.version);
        let has_room = before.is_some() || self.copies.len() < COPIES_MAX;
        if !is_newer || !has_room {
            return;
        }
        self.remove(key, writer);
        let copy = Copy { node, due, copied };
        self.bytes += copy.bytes();
        self.due.insert((due, key, writer));
        self.copies.insert((key, writer), copy);
    }

    /// Drops the copy of a list that was published as `version` or later.
    pub(crate) fn publish(&mut self, key: Key, writer: Writer, version: u64) {
        let copy = self.copies.get(&(key, writer));
        if copy.is_some_and(|copy| copy.copied.entry.version <= version) {
            self.remove(key, writer);
        }
    }

    /// What is kept for a node from boots other than `writer`.
    pub(crate) fn of(&self, node: NodeId, writer: Writer) -> Vec<Copied> {
        let copies = self.copies.values();
        let is_wanted = |copy: &&Copy| copy.node == node && copy.copied.entry.writer != writer;
        copies
            .filter(is_wanted)
            .map(|copy| copy.copied.clone())
            .collect()
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|&(due, _, _)| due)
    }

    /// A copy that is due by `now`, still kept: its key, writer and secret.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Key, Writer, u64)> {
        let &(due, key, writer) = self.due.first().filter(|&&(due, _, _)| due <= now)?;
        self.due.remove(&(due, key, writer));
        let secret = self
            .copies
            .get(&(key, writer))
            .map_or(0, |copy| copy.copied.secret);
        Some((key, writer, secret))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.copies.len()
    }

    /// Drops the copy that is due first; `false` where there is none.
    pub(crate) fn drop_first(&mut self) -> bool {
        let first = self.due.first().copied();
        if let Some((_, key, writer)) = first {
            self.remove(key, writer);
        }
        first.is_some()
    }

    /// Keeps a copy that was due until later.
    pub(crate) fn delay(&mut self, key: Key, writer: Writer, due: Instant) {
        if let Some(copy) = self.copies.get_mut(&(key, writer)) {
            copy.due = due;
            self.due.insert((due, key, writer));
        }
    }

    pub(crate) fn remove(&mut self, key: Key, writer: Writer) {
        if let Some(copy) = self.copies.remove(&(key, writer)) {
            self.bytes -= copy.bytes();
            self.due.remove(&(copy.due, key, writer));
        }
    }
}
