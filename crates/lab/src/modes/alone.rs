//! No agreement at all: each node counts for itself. The baseline every design is measured against.

use std::collections::BTreeMap;

use tollgate_gossip::{Bucket, Footprint, Malformed, Mark, ModeKey, NodeId};
use tollgate_limit::Instant;

use super::{PaperDesign, PaperSetup};

/// Bytes of a key and the end of its backlog.
const ENTRY_BYTES: u64 = 24;

/// The end of the backlog of each key that has one.
#[derive(Debug)]
struct Alone {
    bucket: Bucket,
    ends: BTreeMap<ModeKey, Mark>,
}

pub(super) fn build(setup: &PaperSetup) -> Box<dyn PaperDesign> {
    Box::new(Alone {
        bucket: setup.bucket,
        ends: BTreeMap::new(),
    })
}

impl PaperDesign for Alone {
    fn level(&mut self, key: ModeKey, now: Instant) -> u128 {
        let level = self
            .ends
            .get(&key)
            .map_or(0, |end| end.since(self.bucket.mark(now)));
        if level == 0 {
            self.ends.remove(&key);
        }
        level
    }

    fn accept(&mut self, key: ModeKey, cost: u64, now: Instant) {
        let now = self.bucket.mark(now);
        let end = self.ends.entry(key).or_insert(now);
        *end = (*end).max(now).plus(self.bucket.grains(cost));
    }

    fn handle_frame(&mut self, _: NodeId, frame: &[u8], _: Instant) -> Result<(), Malformed> {
        Err(frame
            .first()
            .map_or(Malformed::Truncated, |&first| Malformed::Kind(first & 0x0f)))
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

    fn knows(&self, key: ModeKey) -> bool {
        self.ends.contains_key(&key)
    }

    fn keys(&self) -> Vec<ModeKey> {
        self.ends.keys().copied().collect()
    }
}
