//! What keys had used up when the clock was set, as far as what is counted no longer says so.
//!
//! Counts are of instants, so a clock that is set makes them old, or puts them into a time to come. What a key had used
//! up by then it owes from then on. Like credit that is known here only: every node whose clock is set keeps its own.
//! Not here: counts.

use std::collections::BTreeMap;

use tollgate_limit::Instant;
use tollgate_mode::{Key, Malformed, Saved};

use super::Replica;
use crate::bucket::Bucket;
use crate::codec::latest;

/// What one key of a bucket owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owed {
    pub(crate) grains: u128,
    /// From then on it drains: not before what is counted has drained.
    pub(crate) from: Instant,
}

/// What keys of a bucket owe.
#[derive(Debug, Default)]
pub(crate) struct Arrears {
    owed: BTreeMap<Key, Owed>,
}

impl Arrears {
    /// What a key owes now, where that much is counted of it.
    pub(crate) fn of(&mut self, key: Key, bucket: Bucket, level: u128, now: Instant) -> u128 {
        let Some(owed) = self.owed.get_mut(&key) else {
            return 0;
        };
        if level > 0 {
            let drained = now.saturating_add(bucket.time_for(level));
            owed.from = owed.from.max(drained);
        } else {
            let gone = bucket.refilled(now.nanos_since(owed.from));
            owed.grains = owed.grains.saturating_sub(gone);
            owed.from = owed.from.max(now);
        }
        let grains = owed.grains;
        if grains == 0 {
            self.owed.remove(&key);
        }
        grains
    }

    /// So much more is counted of a key.
    pub(crate) fn count(&mut self, key: Key, bucket: Bucket, grains: u128, now: Instant) {
        if let Some(owed) = self.owed.get_mut(&key) {
            let from = owed.from.max(now);
            owed.from = from.saturating_add(bucket.time_for(grains));
        }
    }

    /// Takes off what is given back; says what is left of that.
    pub(crate) fn refund(&mut self, key: Key, grains: u128) -> u128 {
        let Some(owed) = self.owed.get_mut(&key) else {
            return grains;
        };
        let taken = grains.min(owed.grains);
        owed.grains -= taken;
        grains - taken
    }

    pub(crate) fn insert(&mut self, key: Key, owed: Owed) {
        if owed.grains > 0 {
            self.owed.insert(key, owed);
        }
    }

    pub(crate) fn remove(&mut self, key: Key) {
        self.owed.remove(&key);
    }

    pub(crate) fn clear(&mut self) {
        self.owed.clear();
    }

    pub(crate) fn get(&self, key: Key) -> Option<Owed> {
        self.owed.get(&key).copied()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.owed.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.owed.len()
    }
}

impl Replica {
    /// What must not be lost of a key, and until when that matters; `None` if nothing is known.
    pub(super) fn saved(&mut self, key: Key, now: Instant) -> Option<Saved> {
        let level = self.level(key, now);
        let credit = self.credit.get(&key).copied().unwrap_or(0);
        let (owed, frame) = (self.arrears.get(key), self.design.save(key, now));
        let mut bytes = match owed {
            Some(Owed { grains, from }) => {
                let mut bytes = (OWES | grains).to_le_bytes().to_vec();
                bytes.extend_from_slice(&from.as_nanos().to_le_bytes());
                bytes
            }
            None => credit.to_le_bytes().to_vec(),
        };
        if owed.is_none() || frame.is_some() {
            bytes.extend_from_slice(&frame?);
        }
        let level = level.saturating_add(credit);
        let fresh_at = now.saturating_add(self.design.time_for(level));
        Some(Saved { bytes, fresh_at })
    }

    /// Takes back what a former boot of this node saved of a key. What makes no sense changes nothing.
    pub(super) fn restored(
        &mut self,
        key: Key,
        bytes: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let (credit, frame) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        let credit = u128::from_le_bytes(*credit);
        if credit & OWES > 0 {
            let (from, frame) = frame.split_first_chunk().ok_or(Malformed::Truncated)?;
            if !frame.is_empty() {
                self.design.restore(frame, now)?;
            }
            let from = Instant::from_nanos(u64::from_le_bytes(*from)).min(latest(now));
            let grains = credit & !OWES;
            self.arrears.insert(key, Owed { grains, from });
            return Ok(());
        }
        self.design.restore(frame, now)?;
        if credit > 0 {
            let level = self.design.level(key, now);
            let known = self.credit.entry(key).or_default();
            *known = known.saturating_add(credit).min(level);
        }
        Ok(())
    }
}

/// Marks what is saved of a key that owes.
const OWES: u128 = 1 << 127;
