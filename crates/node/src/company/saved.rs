//! Counts of durable policies that nodes keep together, for whoever keeps them longer than the process lives.
//!
//! Policies are named by their tags, as between nodes. A key is written when this node charged it or gave something
//! back, with all that this node knows of it; what others admitted, they write. Not here: files, and when to write.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_limit::Instant;
use tollgate_mode::Saved;
use tollgate_table::Print;

use super::tag::{key, print};
use super::{Company, LockedMachine};
use crate::durable::RestoreError;
use crate::node::Node;

impl Node {
    /// Tags of the durable policies that are counted together with other nodes.
    pub fn durable_tags(&self) -> Vec<u64> {
        let parts = self.parts().flat_map(|(_, parts)| parts.each());
        let durable = parts.filter(|part| part.is_durable);
        durable.map(|part| part.seat.tag).collect()
    }

    /// Adds the keys of such a policy that changed here since the last call to `prints`.
    ///
    /// Says whether more changed than could be kept in mind: then every key may have ([`Self::prints_of`]).
    pub fn take_dirty_of(&self, tag: u64, prints: &mut Vec<Print>) -> bool {
        let seat = self.seats().get(&tag);
        seat.is_some_and(|seat| {
            seat.is_written.store(true, Relaxed);
            seat.dirty.take(prints)
        })
    }

    /// Whether keys of such a policy that count were forgotten for want of room: what is not known of a key may be in
    /// its row.
    pub fn forgot_keys(&self, tag: u64) -> bool {
        self.seat_of(tag).is_some_and(|(company, seat)| {
            let mut held = seat.hold(company);
            let evicted = held.talked().evicted;
            held.release();
            evicted > 0
        })
    }

    /// Every key of such a policy.
    pub fn prints_of(&self, tag: u64) -> Vec<Print> {
        let Some((company, seat)) = self.seat_of(tag) else {
            return Vec::new();
        };
        let mut held = seat.hold(company);
        let keys = held.machine().keys();
        held.release();
        keys.into_iter().map(print).collect()
    }

    /// What such a policy must not lose of a key; `None` where nothing is known.
    pub fn save(&self, tag: u64, print: Print, now: Instant) -> Option<Saved> {
        let (company, seat) = self.seat_of(tag)?;
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
        let (company, seat) = self.seat_of(tag).ok_or(RestoreError::NoContract)?;
        let key = key(print);
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

    fn seat_of(&self, tag: u64) -> Option<(&Company, &Arc<LockedMachine>)> {
        Some((self.company()?, self.seats().get(&tag)?))
    }
}
