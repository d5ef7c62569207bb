//! What counts at a seat: a machine that gossips, one that divides a rate, one that cuts buckets, a grantor, or one that synchronises. All are asked alike.
//!
//! Not here: time, which is another for each (`seat`), and what only one of them knows.

use tollgate_contract::Coordination;
use tollgate_gossip::{
    self as gossip, Footprint, Key, Malformed, NodeId, Probe, Saved, Send, Standing,
};
use tollgate_lease::{Lender, Syncing};
use tollgate_limit::{Instant, Span};
use tollgate_split::Topics;
use tollgate_supply as supply;

use super::outbox::Pace;

/// A machine of any sort.
#[derive(Debug)]
pub(crate) enum Mind {
    /// Counts what all admitted.
    Gossip(gossip::Machine),
    /// Spends what it has.
    Supply(Box<supply::Machine>),
    /// Tells when a message goes, by its part of the bucket.
    Split(Box<Topics>),
    /// Lends.
    Lease(Box<Lender>),
    /// Has the whole bucket, and tells a centre now and then.
    Sync(Box<Syncing>),
}

/// Runs the same expression on what counts, whatever it is.
macro_rules! on {
    ($mind:expr, $it:ident => $run:expr) => {
        match $mind {
            Self::Gossip($it) => $run,
            Self::Supply($it) => $run,
            Self::Split($it) => $run,
            Self::Lease($it) => $run,
            Self::Sync($it) => $run,
        }
    };
}

impl Mind {
    /// The coordination that it is for.
    pub(super) const fn coordination(&self) -> Coordination {
        match self {
            Self::Gossip(_) => Coordination::Gossip,
            Self::Supply(_) => Coordination::Supply,
            Self::Split(_) => Coordination::Split,
            Self::Lease(_) => Coordination::Lease,
            Self::Sync(_) => Coordination::Sync,
        }
    }

    /// On which clock it counts.
    pub(super) const fn pace(&self) -> Pace {
        match self {
            Self::Gossip(_) | Self::Sync(_) => Pace::Wall,
            Self::Supply(_) | Self::Split(_) | Self::Lease(_) => Pace::Steady,
        }
    }

    /// The machine, where it gossips.
    pub(super) const fn gossip(&mut self) -> Option<&mut gossip::Machine> {
        match self {
            Self::Gossip(machine) => Some(machine),
            Self::Supply(_) | Self::Split(_) | Self::Lease(_) | Self::Sync(_) => None,
        }
    }

    /// The machine, where it divides a rate.
    pub(super) fn supply(&mut self) -> Option<&mut supply::Machine> {
        match self {
            Self::Gossip(_) | Self::Split(_) | Self::Lease(_) | Self::Sync(_) => None,
            Self::Supply(machine) => Some(machine),
        }
    }

    /// The machine, where it cuts buckets.
    pub(super) fn split(&mut self) -> Option<&mut Topics> {
        match self {
            Self::Gossip(_) | Self::Supply(_) | Self::Lease(_) | Self::Sync(_) => None,
            Self::Split(topics) => Some(topics),
        }
    }

    /// The grantor, where it is one.
    pub(super) fn lease(&mut self) -> Option<&mut Lender> {
        match self {
            Self::Lease(lender) => Some(lender),
            Self::Gossip(_) | Self::Supply(_) | Self::Split(_) | Self::Sync(_) => None,
        }
    }

    /// The machine, where it synchronises.
    pub(super) fn sync(&mut self) -> Option<&mut Syncing> {
        match self {
            Self::Sync(syncing) => Some(syncing),
            Self::Gossip(_) | Self::Supply(_) | Self::Split(_) | Self::Lease(_) => None,
        }
    }

    pub(super) fn set_wait_max(&mut self, wait_max: Span) {
        on!(self, it => it.set_wait_max(wait_max));
    }

    pub(super) fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
        on!(self, it => it.probe(key, cost, now))
    }

    pub(super) fn take(&mut self, key: Key, cost: u64, now: Instant) {
        on!(self, it => it.take(key, cost, now));
    }

    /// A request was refused, here or by another policy: where it is divided, others may have more.
    pub(super) fn miss(&mut self, key: Key, cost: u64, now: Instant) {
        match self {
            Self::Gossip(_) | Self::Sync(_) => {}
            Self::Supply(machine) => machine.miss(key, cost, now),
            Self::Split(topics) => topics.miss(key, now),
            Self::Lease(lender) => lender.miss(key, cost, now),
        }
    }

    pub(super) fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        on!(self, it => it.charge(key, cost, debt_max, now));
    }

    pub(super) fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        on!(self, it => it.refund(key, cost, now));
    }

    /// Whether what was counted then still counts.
    pub(super) fn counts(&self, then: Instant, now: Instant) -> bool {
        match self {
            Self::Gossip(machine) => machine.counts(then, now),
            Self::Supply(_) | Self::Split(_) | Self::Lease(_) | Self::Sync(_) => true,
        }
    }

    pub(super) fn reset(&mut self, key: Key, now: Instant) {
        on!(self, it => it.reset(key, now));
    }

    pub(super) fn standing(&mut self, key: Key, now: Instant) -> Standing {
        on!(self, it => it.standing(key, now))
    }

    pub(super) fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        on!(self, it => it.handle_frame(from, frame, now))
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        on!(self, it => it.handle_timeout(now));
    }

    /// Tells the others what only this node knows, or gives back what it has of them, as it is about to go.
    pub(super) fn handle_leave(&mut self, now: Instant) {
        match self {
            Self::Gossip(machine) => machine.handle_leave(now),
            Self::Supply(machine) => machine.goodbye(now),
            // What it has stays its own, and what it lent is told to whoever comes next by those who have it.
            Self::Split(_) | Self::Lease(_) => {}
            Self::Sync(syncing) => syncing.handle_leave(now),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        on!(self, it => it.poll_timeout())
    }

    pub(super) fn poll_send(&mut self) -> Option<Send> {
        on!(self, it => it.poll_send())
    }

    /// Whether it waits for what others know.
    pub(super) fn is_joining(&self) -> bool {
        match self {
            Self::Gossip(machine) => machine.is_joining(),
            Self::Supply(_) | Self::Split(_) | Self::Lease(_) | Self::Sync(_) => false,
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        on!(self, it => it.is_quiet())
    }

    pub(super) fn footprint(&self) -> Footprint {
        on!(self, it => it.footprint())
    }

    /// What must not be lost of a key; nothing of a rate that is divided, as buckets begin empty.
    pub(super) fn save(&mut self, key: Key, now: Instant) -> Option<Saved> {
        self.gossip().and_then(|machine| machine.save(key, now))
    }

    pub(super) fn restore(
        &mut self,
        key: Key,
        bytes: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let machine = self.gossip();
        machine.map_or(Ok(()), |machine| machine.restore(key, bytes, now))
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        match self {
            Self::Gossip(machine) => machine.keys(),
            Self::Supply(machine) => machine.keys().collect(),
            Self::Split(topics) => topics.keys().collect(),
            Self::Lease(lender) => lender.keys().collect(),
            Self::Sync(syncing) => syncing.keys().collect(),
        }
    }

    pub(super) fn keys_count(&self) -> usize {
        on!(self, it => it.keys_count())
    }

    pub(super) fn knows(&self, key: Key) -> bool {
        on!(self, it => it.knows(key))
    }

    pub(super) fn evict(&mut self, now: Instant) -> bool {
        on!(self, it => it.evict(now))
    }

    /// Drops a copy that is kept for another node; `false` where there is none.
    pub(super) fn drop_copy(&mut self) -> bool {
        self.gossip().is_some_and(gossip::Machine::drop_copy)
    }

    /// About how many bytes of memory it takes.
    pub(super) fn held(&self) -> u64 {
        if let Self::Gossip(machine) = self {
            return machine.held();
        }
        let Footprint { local, extra } = self.footprint();
        self.keys_count() as u64 * KEY_BYTES + 2 * (local + extra)
    }
}

/// What a key takes besides its counts: places in a few trees.
const KEY_BYTES: u64 = 256;
