//! Policies whose limit is divided by a roster: who is told what of it, and what must be kept.
//!
//! Not here: how it is divided, names and numbers of nodes (`roster`), files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{ClockKind, ModeEvent, ModeKey, ModeProbe, ModeVerdict, NodeId};

use super::Company;
use super::outbox::nanos;
use super::roster::{Roster, RosterPeer};
use super::seat::MachineGuard;
use super::union::{DividedAdmission, ModeRecord, RosterUpdate, Union};
use crate::node::Node;

impl Company {
    /// What a machine says must be kept.
    pub(super) fn keep(&self, tag: u64, kept: ModeRecord) {
        if let Some(union) = &self.union {
            union.keep(tag, kept);
            self.outbox.wake();
        }
    }
}

impl MachineGuard<'_> {
    /// Tells whoever writes down what was admitted of a divided rate.
    pub(super) fn tell_admitted(&self, key: ModeKey, cost: u64, probe: ModeProbe, at: Instant) {
        let Some(journal) = self.journal() else {
            return;
        };
        let wait = match probe.verdict {
            ModeVerdict::Allow { wait, .. } => wait,
            ModeVerdict::Deny { .. } | ModeVerdict::Never => Span::ZERO,
        };
        journal(&DividedAdmission {
            tag: self.tag(),
            key,
            cost,
            at,
            wait,
        });
    }
}

impl Node {
    /// Hears who lives, this node included, where rates are divided. Says which names more than one of them bears.
    pub fn handle_peers(&self, me: NodeId, peers: Vec<RosterPeer>, now: Instant) -> Vec<String> {
        let Some(union) = self.union() else {
            return Vec::new();
        };
        let heard = union.hear_peers(me, peers);
        self.settle_places(&heard, now);
        heard.places.doubled.clone()
    }

    /// Takes another roster: less counts at once, more when every node was told.
    pub fn set_roster(&self, roster: Roster, now: Instant) {
        let Some(union) = self.union() else {
            return;
        };
        let (tag, parts) = (roster.shares().tag(), roster.parts().collect::<Vec<_>>());
        let heard = union.hear_roster(roster);
        self.settle_places(&heard, now);
        self.tell_modes(&ModeEvent::Roster { tag, parts: &parts }, now);
    }

    /// Tells modes where every node is; where this node is another than before, they begin again.
    fn settle_places(&self, heard: &RosterUpdate, now: Instant) {
        let node = self.newest();
        let Some(company) = node.company() else {
            return;
        };
        for (contract, parts) in node.parts() {
            let each = parts.each().iter();
            let shards = each.flat_map(|part| part.shards.iter().map(move |shard| (part, shard)));
            for (part, shard) in shards.filter(|(_, shard)| shard.is_by_roster) {
                let named = contract.policies.get(part.place);
                let mut held = shard.hold(company);
                // The node that made others believe that this part is over is gone.
                let is_over = heard.is_alone && held.machine().is_superseded();
                let begun = named
                    .filter(|_| heard.is_moved || is_over)
                    .and_then(|named| {
                        let kind = company.kind(contract, named)?;
                        Some(company.build_as(kind, named, shard.tag, None, now))
                    });
                // As `countable` with this roster, it can be built.
                if let Some(Ok(machine)) = begun {
                    held.begin_again(machine);
                }
                let alive = heard.places.all();
                held.handle_event(&ModeEvent::Members(&alive), now);
                held.release();
            }
        }
        company.outbox.wake();
    }

    /// When to call [`Self::handle_timeout`] next for divided rates, on the steady clock; nothing where there is none.
    pub fn poll_steady(&self) -> Option<Instant> {
        let node = self.newest();
        let company = node.company()?;
        company.has_steady().then_some(())?;
        company.outbox.arm(ClockKind::Steady, None);
        let seats = node.seats().values();
        let seats = seats.filter(|seat| seat.clock == ClockKind::Steady);
        let next = seats.map(|seat| seat.next()).min();
        let next = next
            .filter(|next| *next < u64::MAX)
            .map(Instant::from_nanos);
        company.outbox.arm_by(ClockKind::Steady, nanos(next));
        next
    }

    /// What must be stored for the next start, by the tags of policies; each change once.
    pub fn take_kept(&self) -> BTreeMap<u64, ModeRecord> {
        self.union().map(Union::take_unstored).unwrap_or_default()
    }

    /// Takes note of what is stored now.
    pub fn handle_kept(&self, tag: u64, kept: &ModeRecord, now: Instant) {
        let node = self.newest();
        let (Some(company), Some(seat)) = (node.company(), node.seats().get(&tag)) else {
            return;
        };
        let mut held = seat.hold(company);
        held.handle_event(&ModeEvent::Kept(kept), now);
        if held.release() {
            company.outbox.wake();
        }
    }

    /// Uses no part of a roster any more, as another process has what was kept of this node.
    pub fn give_up_homes(&self, now: Instant) {
        self.tell_modes(&ModeEvent::GiveUp, now);
    }

    /// Names of the roster that more than one live node bears, and how often this node made way for an older one.
    pub fn doubled_names(&self) -> (Vec<String>, u64) {
        self.union().map_or_else(Default::default, |union| {
            (union.places().doubled.clone(), union.yielded.load(Relaxed))
        })
    }

    /// Who has homes, where rates are divided.
    pub fn roster(&self) -> Option<Arc<Roster>> {
        self.union().map(Union::roster)
    }

    fn union(&self) -> Option<&Union> {
        self.company()?.union.as_ref()
    }
}
