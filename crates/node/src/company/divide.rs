//! Policies whose rate is divided: their machines, who is told what of them, and how they stand.
//!
//! Not here: the protocol (`tollgate-supply`), names and numbers of nodes (`roster`), files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_contract::{Contract, NamedPolicy};
use tollgate_gossip::{Key, NodeId, Probe, Verdict};
use tollgate_limit::{Instant, Span};
use tollgate_supply::{Figures, Inspection, Kept};
use tollgate_table::Print;

use super::outbox::{Pace, nanos};
use super::roster::{Peer, Roster};
use super::seat::Held;
use super::tag::{key, supply_tag};
use super::union::{Admitted, Heard, Union, supply_limits, wait_max};
use super::{Company, Seat, Seats};
use crate::node::Node;

/// A policy whose rate is divided, on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySupply {
    /// The contract's id.
    pub contract: String,
    /// The policy's name.
    pub policy: String,
    /// What it is called on the wire.
    pub tag: u64,
    /// The rate that is divided, in 10^-9 requests per second, and the burst.
    pub limit: (u64, u64),
    /// What was counted since the machine began.
    pub figures: Figures,
    /// Keys known.
    pub keys: u64,
    /// How the key stands that was asked for; otherwise all known keys together, or one that was never seen.
    pub key: SupplyKey,
    /// The time on which its times are.
    pub now: Instant,
}

/// How a key stands, or many together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupplyKey {
    /// How it stands; of many, rates, tokens and loans are sums and the rest is that of the first.
    pub stands: Inspection,
    /// How many those are.
    pub count: u64,
}

impl Company {
    /// The seat of a policy whose rate is divided: the one there was, under the limits of now, or a new one.
    pub(super) fn divided(
        &self,
        (contract, named): (&Contract, &NamedPolicy),
        before: &Seats,
        order: u64,
        now: Instant,
    ) -> Option<Arc<Seat>> {
        let union = self.union.as_ref()?;
        let tag = supply_tag(contract, named);
        let Some(seat) = before.get(&tag) else {
            let mind = union.mind(named, tag, now)?;
            return Some(Arc::new(Seat::new(order, (tag, None), mind)));
        };
        let limits = supply_limits(named.policy.config()).ok()?;
        let mut held = seat.hold(self);
        let now = held.at(Some(now));
        if let Some(machine) = held.ground() {
            machine.set_wait_max(wait_max(named.policy.config()));
            machine.set_limits(limits, now);
        }
        if held.release() {
            self.outbox.wake();
        }
        Some(Arc::clone(seat))
    }

    /// What a machine says must be kept.
    pub(super) fn keep(&self, tag: u64, kept: Kept) {
        if let Some(union) = &self.union {
            union.keep(tag, kept);
            self.outbox.wake();
        }
    }
}

impl Held<'_> {
    /// Tells whoever writes down what was admitted of a divided rate.
    pub(super) fn tell_admitted(&self, key: Key, cost: u64, (probe, at): (Probe, Instant)) {
        let Some(journal) = self.journal() else {
            return;
        };
        let wait = match probe.verdict {
            Verdict::Allow { wait, .. } => wait,
            Verdict::Deny { .. } | Verdict::Never => Span::ZERO,
        };
        journal(&Admitted {
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
    pub fn handle_peers(&self, me: NodeId, peers: Vec<Peer>, now: Instant) -> Vec<String> {
        let Some(union) = self.union() else {
            return Vec::new();
        };
        let heard = union.hear_peers(me, peers);
        self.settle_places(&heard, now);
        heard.places.doubled.clone()
    }

    /// Hears who has homes from here on: less counts at once, more when every node was told.
    pub fn set_roster(&self, roster: Roster, now: Instant) {
        let Some(union) = self.union() else {
            return;
        };
        let shares = roster.shares().clone();
        let heard = union.hear_roster(roster);
        self.settle_places(&heard, now);
        self.each_seat(|held| {
            let now = held.at(Some(now));
            if let Some(machine) = held.ground() {
                machine.handle_shares(shares.clone(), now);
            }
        });
    }

    /// Tells machines where everybody is; where this node is another than before, they begin anew.
    fn settle_places(&self, heard: &Heard, now: Instant) {
        let node = self.newest();
        let (Some(company), Some(union)) = (node.company(), node.union()) else {
            return;
        };
        for (contract, parts) in node.parts() {
            for part in parts.each().iter().filter(|part| part.seat.is_divided()) {
                let named = contract.policies.get(part.place);
                let mut held = part.seat.hold(company);
                if held.machine().lease().is_some() {
                    continue;
                }
                // Whoever made others believe that this machine is over is gone.
                let is_over = heard.is_alone && held.machine().supply().is_some_and(is_superseded);
                let begun = named
                    .filter(|_| heard.is_moved || is_over)
                    .and_then(|named| union.mind(named, part.seat.tag, now));
                if let Some(machine) = begun {
                    held.begin_again(machine);
                }
                let now = held.at(Some(now));
                if let Some(machine) = held.ground() {
                    machine.handle_members(&heard.places.all(), now);
                }
                if let Some(topics) = held.machine().split() {
                    topics.handle_members(&heard.places.all());
                }
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
        company.outbox.arm(Pace::Steady, None);
        let seats = node.seats().values();
        let seats = seats.filter(|seat| seat.pace() == Pace::Steady);
        let next = seats.map(|seat| seat.next()).min();
        let next = next
            .filter(|next| *next < u64::MAX)
            .map(Instant::from_nanos);
        company.outbox.arm_by(Pace::Steady, nanos(next));
        next
    }

    /// What must be stored for the next start, by the tags of policies; each change once.
    pub fn take_kept(&self) -> BTreeMap<u64, Kept> {
        self.union().map(Union::take_unstored).unwrap_or_default()
    }

    /// Hears what is stored now.
    pub fn handle_kept(&self, tag: u64, kept: &Kept, now: Instant) {
        let node = self.newest();
        let (Some(company), Some(seat)) = (node.company(), node.seats().get(&tag)) else {
            return;
        };
        let mut held = seat.hold(company);
        let now = held.at(Some(now));
        if let Some(machine) = held.ground() {
            machine.handle_kept(kept, now);
        }
        if held.release() {
            company.outbox.wake();
        }
    }

    /// Uses no home any more, as somebody else has what was kept of this node.
    pub fn give_up_homes(&self, now: Instant) {
        self.each_seat(|held| {
            let now = held.at(Some(now));
            if let Some(machine) = held.ground() {
                machine.give_up(now);
            }
        });
    }

    /// How divided rates stand, in the order of the contracts: for one key of one contract, or all.
    pub fn supply_status(&self, of: Option<(usize, Print)>, now: Instant) -> Vec<PolicySupply> {
        self.told(of, now, |title, held, now| {
            let machine = held.machine().supply()?;
            let limits = machine.limits();
            Some(PolicySupply {
                contract: title.contract,
                policy: title.policy,
                tag: title.tag,
                limit: (limits.rate(), limits.burst()),
                figures: machine.figures(),
                keys: machine.keys_count() as u64,
                key: stands(machine, of.map(|(_, print)| key(print)), now),
                now,
            })
        })
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

/// Whether others have heard a later boot under this name.
fn is_superseded(machine: &mut tollgate_supply::Machine) -> bool {
    machine.figures().ignored.duplicate_identities > 0
}

/// How a key stands, or the known ones together, or one that was never seen.
fn stands(machine: &tollgate_supply::Machine, of: Option<Key>, now: Instant) -> SupplyKey {
    let keys: Vec<Key> = match of {
        Some(key) => vec![key],
        None => machine.keys().take(KEYS_SUMMED_MAX).collect(),
    };
    let first = keys.first().copied().unwrap_or(Key(0));
    let mut sum = machine.inspect(first, now);
    for key in keys.iter().skip(1) {
        let one = machine.inspect(*key, now);
        sum.usable = sum.usable.saturating_add(one.usable);
        sum.home = sum.home.saturating_add(one.home);
        sum.lent = sum.lent.saturating_add(one.lent);
        sum.borrowed = sum.borrowed.saturating_add(one.borrowed);
        sum.asked = sum.asked.saturating_add(one.asked);
        sum.demand = sum.demand.saturating_add(one.demand);
        sum.tokens = sum.tokens.saturating_add(one.tokens);
        sum.depth = sum.depth.saturating_add(one.depth);
        sum.loans = sum.loans.saturating_add(one.loans);
    }
    SupplyKey {
        stands: sum,
        count: keys.len() as u64,
    }
}

/// Keys that are looked at for a sum.
const KEYS_SUMMED_MAX: usize = 1 << 10;
