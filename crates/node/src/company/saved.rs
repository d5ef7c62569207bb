//! Counts of durable policies that nodes keep together, for whoever keeps them longer than the process lives.
//!
//! Policies are named by their tags, as between nodes. A key is written when this node charged it or gave something
//! back, with all that this node knows of it; what others admitted, they write. Not here: files, and when to write.

use std::sync::atomic::Ordering::Relaxed;

use tollgate_limit::Instant;
use tollgate_mode::{ModeKey, Saved};
use tollgate_table::Print;

use super::tag::{key, print, shard, shard_tag};
use super::{Company, LockedMachine};
use crate::durable::RestoreError;
use crate::node::Node;

impl Node {
    /// Tags of the durable policies that are counted together with other nodes.
    pub fn durable_tags(&self) -> Vec<u64> {
        let parts = self.parts().flat_map(|(_, parts)| parts.each());
        let durable = parts.filter(|part| part.is_durable);
        durable.map(|part| part.tag).collect()
    }

    /// Adds the keys of such a policy that changed here since the last call to `prints`.
    ///
    /// Says whether more changed than could be kept in mind: then every key may have ([`Self::prints_of`]).
    pub fn take_dirty_of(&self, tag: u64, prints: &mut Vec<Print>) -> bool {
        let mut is_more = false;
        for seat in self.shards_of(tag) {
            seat.is_written.store(true, Relaxed);
            is_more |= seat.dirty.take(prints);
        }
        is_more
    }

    /// Whether keys of such a policy that count were forgotten for want of room: what is not known of a key may be in
    /// its row.
    pub fn forgot_keys(&self, tag: u64) -> bool {
        let Some(company) = self.company() else {
            return false;
        };
        self.shards_of(tag).any(|seat| {
            let mut held = seat.hold(company);
            let evicted = held.talked().evicted;
            held.release();
            evicted > 0
        })
    }

    /// Every key of such a policy.
    pub fn prints_of(&self, tag: u64) -> Vec<Print> {
        let Some(company) = self.company() else {
            return Vec::new();
        };
        let each = self.shards_of(tag).flat_map(|seat| {
            let mut held = seat.hold(company);
            let keys = held.machine().keys();
            held.release();
            keys
        });
        each.map(print).collect()
    }

    /// What such a policy must not lose of a key; `None` where nothing is known.
    pub fn save(&self, tag: u64, print: Print, now: Instant) -> Option<Saved> {
        let (company, seat) = self.seat_of(tag, key(print))?;
        let mut held = seat.hold(company);
        let now = held.at(Some(now));
        let saved = held.machine().save(key(print), now);
        held.release();
        saved
    }

    /// Takes back what a former start saved. What other nodes know of it counts only once.
    pub fn restore(
        &self,
        tag: u64,
        print: Print,
        bytes: &[u8],
        now: Instant,
    ) -> Result<(), RestoreError> {
        let key = key(print);
        let (company, seat) = self.seat_of(tag, key).ok_or(RestoreError::NoContract)?;
        let mut held = seat.hold(company);
        let now = held.at(Some(now));
        let done = if held.has_room(key, now) {
            let done = held.machine().restore(key, bytes, now);
            done.map_err(RestoreError::Gossip)
        } else {
            Err(RestoreError::Full)
        };
        held.release();
        done
    }

    /// The machines of a policy.
    fn shards_of(&self, tag: u64) -> impl Iterator<Item = &LockedMachine> {
        let count = self.seats().get(&tag).map_or(0, |first| first.policy.count);
        (0..count).filter_map(move |shard| Some(&**self.seats().get(&shard_tag(tag, shard))?))
    }

    /// The one among them that has a key.
    fn seat_of(&self, tag: u64, key: ModeKey) -> Option<(&Company, &LockedMachine)> {
        let count = self.seats().get(&tag)?.policy.count;
        let seat = self.seats().get(&shard_tag(tag, shard(key, count)))?;
        Some((self.company()?, seat))
    }
}
