//! What was given away and not confirmed: until then its room stays taken.
//!
//! A hold ends when the receiver says what it kept, or when the time is over after which the receiver would not take it
//! any more. Bounded by what a sub-bucket may give. Not here: the room itself.

use std::collections::BTreeMap;

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

/// Names a gift: who asked for it, in which boot, with which ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gift {
    pub(crate) to: NodeId,
    pub(crate) boot: u64,
    pub(crate) ticket: u64,
}

/// What was given away and not confirmed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds {
    by_gift: BTreeMap<Gift, (u128, Instant)>,
    by_end: BTreeMap<(Instant, Gift), u128>,
}

impl Holds {
    pub(crate) fn len(&self) -> usize {
        self.by_gift.len()
    }

    pub(crate) fn insert(&mut self, gift: Gift, grains: u128, end: Instant) {
        self.by_gift.insert(gift, (grains, end));
        self.by_end.insert((end, gift), grains);
    }

    /// Ends a hold: how much it was.
    pub(crate) fn confirm(&mut self, gift: Gift) -> Option<u128> {
        let (grains, end) = self.by_gift.remove(&gift)?;
        self.by_end.remove(&(end, gift));
        Some(grains)
    }

    /// Ends one hold whose time is over: how much it was.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<u128> {
        let entry = self.by_end.first_entry()?;
        let (end, gift) = *entry.key();
        if end > now {
            return None;
        }
        let grains = entry.remove();
        self.by_gift.remove(&gift);
        Some(grains)
    }

    /// When the next one ends by itself.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.by_end.keys().next().map(|(end, _)| *end)
    }
}
