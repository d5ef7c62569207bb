//! No agreement at all: each node counts for itself. The baseline every design is measured against.

use std::collections::BTreeMap;

use tollgate_gossip::{
    Bucket, Design, Exchange, Footprint, Key, Malformed, Mark, NodeId, Send, Setup,
};
use tollgate_limit::{Instant, Span};

/// Bytes of a key and the end of its backlog.
const ENTRY_BYTES: u64 = 24;

/// The end of the backlog of each key that has one.
#[derive(Debug)]
struct Alone {
    bucket: Bucket,
    ends: BTreeMap<Key, Mark>,
}

/// A node's part.
pub(super) fn build(setup: &Setup) -> Box<dyn Design> {
    Box::new(Alone {
        bucket: setup.bucket,
        ends: BTreeMap::new(),
    })
}

impl Design for Alone {
    fn level(&mut self, key: Key, now: Instant) -> u128 {
        let level = self
            .ends
            .get(&key)
            .map_or(0, |end| end.since(self.bucket.mark(now)));
        if level == 0 {
            self.ends.remove(&key);
        }
        level
    }

    fn accept(&mut self, key: Key, cost: u64, now: Instant) {
        let now = self.bucket.mark(now);
        let end = self.ends.entry(key).or_insert(now);
        *end = (*end).max(now).plus(self.bucket.grains(cost));
    }

    fn time_for(&self, short: u128) -> Span {
        self.bucket.time_for(short)
    }
}

impl Exchange for Alone {
    fn handle_frame(&mut self, _: NodeId, frame: &[u8], _: Instant) -> Result<(), Malformed> {
        Err(frame
            .first()
            .map_or(Malformed::Truncated, |&first| Malformed::Kind(first & 0x0f)))
    }

    fn handle_members(&mut self, _: &[NodeId], _: Instant) {}

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn poll_send(&mut self) -> Option<Send> {
        None
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            local: self.ends.len() as u64 * ENTRY_BYTES,
            extra: 0,
        }
    }

    fn keys_count(&self) -> usize {
        self.ends.len()
    }

    fn knows(&self, key: Key) -> bool {
        self.ends.contains_key(&key)
    }

    fn keys(&self) -> Vec<Key> {
        self.ends.keys().copied().collect()
    }
}
