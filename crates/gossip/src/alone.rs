//! No agreement at all: each node counts for itself. The baseline every design is measured against.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Footprint, Key, Malformed, NodeId, Send, Writer};

use crate::bucket::{Bucket, Mark};
use crate::codec::{Decoder, Encoder, Header};
use crate::replica::Design;
use crate::spare::Hand;

/// Bytes of a key and the end of its backlog.
const ENTRY_BYTES: u64 = 24;
/// The kind of a frame that is never sent.
const SAVED: u8 = 1;

/// The end of the backlog of each key that has one.
#[derive(Debug)]
pub(crate) struct Alone {
    bucket: Bucket,
    ends: BTreeMap<Key, Mark>,
    /// Goes round the keys that may be forgotten for want of room.
    hand: Hand,
}

impl Alone {
    pub(crate) fn new(bucket: Bucket) -> Self {
        Self {
            bucket,
            ends: BTreeMap::new(),
            hand: Hand::default(),
        }
    }
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

    fn time_for(&self, short: u128) -> Span {
        self.bucket.time_for(short)
    }

    fn keys_count(&self) -> usize {
        self.ends.len()
    }

    fn knows(&self, key: Key) -> bool {
        self.ends.contains_key(&key)
    }

    fn evict(&mut self, now: Instant) -> bool {
        let (bucket, now) = (self.bucket, self.bucket.mark(now));
        let left = |end: &Mark| bucket.capacity().saturating_sub(end.since(now));
        let key = self.hand.pick(&self.ends, left);
        key.is_some_and(|key| self.ends.remove(&key).is_some())
    }

    fn handle_leave(&mut self, _: Instant) {}

    fn save(&mut self, key: Key, _: Instant) -> Option<Arc<[u8]>> {
        let end = self.ends.get(&key)?;
        let mut encoder = Encoder::new(Header {
            kind: SAVED,
            writer: Writer(0),
            sequence: 0,
        });
        encoder.key(key);
        encoder.varint(end.0);
        Some(encoder.finish())
    }

    fn restore(&mut self, frame: &[u8], _: Instant) -> Result<(), Malformed> {
        let (header, mut rest) = Decoder::new(frame)?;
        if header.kind != SAVED {
            return Err(Malformed::Kind(header.kind));
        }
        let (key, end) = (rest.key()?, Mark(rest.varint()?));
        rest.finish()?;
        let known = self.ends.entry(key).or_insert(end);
        *known = (*known).max(end);
        Ok(())
    }

    fn keys(&self) -> Vec<Key> {
        self.ends.keys().copied().collect()
    }
}
