//! What a node that synchronises shows of its keys.
//!
//! Not here: anything that decides.

use tollgate_gossip::{Key, NodeId};
use tollgate_limit::Instant;

use super::Syncing;
use crate::amount::tokens;

/// What was counted over all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncCounts {
    /// Times that a key was told to its centre.
    pub told: u64,
    /// Times that a centre answered.
    pub answered: u64,
    /// Times that this centre was told of a key.
    pub heard: u64,
    /// Of those, what came too late, or for another centre, or from nobody that lives, or found no room.
    pub ignored: u64,
    /// The most whole tokens that a key whose centre this is was below zero.
    pub debt_max: u64,
    /// Whole tokens that were spent while the bucket of the centre had none.
    pub over: u64,
}

/// How the keys of a policy stand at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncStand {
    /// What was counted.
    pub counts: SyncCounts,
    /// Keys known.
    pub keys: u64,
    /// Those among them whose centre this is.
    pub centred: u64,
    /// Keys of which the centre has not confirmed everything.
    pub untold: u64,
    /// Whole tokens that keys whose centre this is owe now.
    pub debt: u64,
    /// Tokens that all nodes together may admit too much of a key.
    pub over_max: u64,
}

/// How one key stands at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncKey {
    /// The node that is its centre.
    pub centre: NodeId,
    /// Whole tokens left, as far as this node knows.
    pub remaining: u64,
    /// Whole tokens owed, likewise.
    pub debt: u64,
    /// Tokens spent here since the key is known.
    pub spent: u64,
    /// Of those, what the centre has not confirmed.
    pub untold: u64,
    /// Tokens spent by all nodes that this centre heard of; zero elsewhere.
    pub heard: u64,
}

impl Syncing {
    /// How a key stands here.
    pub fn inspect(&mut self, key: Key, now: Instant) -> SyncKey {
        let remaining = tokens(self.level(key, now).0);
        let Some(entry) = self.entries.get(key) else {
            return SyncKey {
                centre: self.setup.centre(key),
                remaining,
                debt: 0,
                spent: 0,
                untold: 0,
                heard: 0,
            };
        };
        SyncKey {
            centre: entry.centre,
            remaining,
            debt: entry.debt(),
            spent: entry.said(),
            untold: entry.untold().spent,
            heard: entry.spent,
        }
    }

    /// How all keys stand.
    pub fn stand(&mut self, now: Instant) -> SyncStand {
        let mut stand = SyncStand {
            counts: self.counts,
            keys: self.entries.len() as u64,
            untold: self.untold.len() as u64,
            over_max: self.over_max(),
            ..SyncStand::default()
        };
        let (me, limits) = (self.setup.me, self.setup.config.limits);
        self.entries.each_mut(|_, entry| {
            if entry.centre == me {
                entry.bucket.fill(&limits, now);
                stand.centred += 1;
                stand.debt = stand.debt.saturating_add(entry.debt());
            }
        });
        stand
    }
}
