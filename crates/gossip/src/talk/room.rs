//! What is given up for want of room, and how much memory all of it takes.
//!
//! Not here: when there is no room.

use tollgate_limit::Instant;
use tollgate_mode::Key;

use super::{Record, Rule, Talk};

impl<R: Rule> Talk<R> {
    /// Forgets of a few keys the one that has most left, after telling the others what only this node knew of it.
    pub(super) fn forget_one(&mut self, now: Instant) -> bool {
        let rule = &self.rule;
        let left = |record: &Record<R::Cell>| rule.left(&record.cell, now);
        let Some(key) = self.hand.pick(&self.keys, left) else {
            return false;
        };
        self.tell_secret(key, now);
        if let Some(record) = self.keys.get(&key) {
            self.due.remove(&(record.due, key));
        }
        self.remove(key);
        self.repair.remove(key);
        true
    }

    /// About how many bytes of memory all of it takes.
    pub(super) fn held_bytes(&self) -> u64 {
        let record = size_of::<(Key, Record<R::Cell>)>() as u64;
        let keys = self.keys.len() as u64 * (record * TREE_MORE / TREE_LESS + INDEX_HELD);
        let copies = self.kept.len() as u64 * COPY_HELD;
        keys + LISTS_MORE * self.bytes + copies + 2 * self.kept.bytes()
    }
}

/// A tree has room for half as much again as it holds.
const TREE_MORE: u64 = 3;
const TREE_LESS: u64 = 2;
/// Bytes that a list takes for each byte of it on the wire: those are few, and lists have room to grow.
const LISTS_MORE: u64 = 3;
/// Bytes that a copy for another node takes besides its list: its places in two trees.
const COPY_HELD: u64 = 160;
/// Bytes that a key takes besides its record: its places in other trees, and the first places of its lists.
const INDEX_HELD: u64 = 200;
