//! What the machines of a node have said and heard so far, for whoever shows it.

use core::any::Any;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_contract::Coordination;
use tollgate_limit::Instant;
use tollgate_mode::{Figure, FigureValue, Footprint};
use tollgate_table::Print;

use super::seat::Talked;
use super::tag::key;
use crate::node::Node;

/// One policy that is counted together with other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyGossip {
    /// The contract's id.
    pub contract: String,
    /// The policy's name.
    pub policy: String,
    /// What it is called on the wire.
    pub tag: u64,
    /// How nodes agree about it: the design of gossip, `auto` resolved, or another coordination.
    pub design: &'static str,
    /// Keys known.
    pub keys: u64,
    /// Bytes of state, by the encoding in the documentation of the design: decided from, and kept for others.
    pub state_bytes: (u64, u64),
    /// What was handed out to be sent.
    pub said: FrameCounts,
    /// Frames taken.
    pub heard: u64,
    /// Frames that made no sense.
    pub malformed: u64,
    /// Keys that made room for others, and requests for keys that found none.
    pub evicted_refused: (u64, u64),
    /// Copies for other nodes that made room.
    pub copies_dropped: u64,
    /// Bytes of memory that it takes, about.
    pub held_bytes: u64,
    /// The most tokens that a key was seen above its limit here.
    pub over_max: u64,
    /// Whether nothing waits to be told to anybody.
    pub quiet: bool,
}

/// Frames that were handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// How many.
    pub frames: u64,
    /// Their bytes, 28 for IP and UDP added to each.
    pub bytes: u64,
    /// Those among them that told what was admitted.
    pub publications: u64,
}

/// What all policies of a node have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompanyGossip {
    /// Frames dropped because too many waited to be sent.
    pub dropped: u64,
    /// Frames for policies that are not here.
    pub unknown: u64,
    /// Bytes that all machines take, about, and may take.
    pub bytes: u64,
    /// The most they may take.
    pub bytes_max: u64,
}

/// How a policy stands that is counted together with other nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyStatus {
    /// The contract's id.
    pub contract: String,
    /// The policy's name.
    pub policy: String,
    /// What it is called on the wire.
    pub tag: u64,
    /// What its mode says of it.
    pub figures: Vec<Figure>,
}

impl PolicyStatus {
    /// The figure of that name.
    pub fn figure(&self, name: &str) -> Option<&FigureValue> {
        let figure = self.figures.iter().find(|figure| figure.name == name);
        figure.map(|figure| &figure.value)
    }
}

impl Node {
    /// How each policy under a coordination stands, in the order of the contracts: for one key of one contract, or all.
    pub fn mode_status(
        &self,
        by: Coordination,
        of: Option<(usize, Print)>,
        now: Instant,
    ) -> Vec<PolicyStatus> {
        let node = self.newest();
        let Some(company) = node.company() else {
            return Vec::new();
        };
        let asked = |place: usize| of.is_none_or(|(at, _)| at == place);
        let mut all = Vec::new();
        for (_, contract, parts) in node.placed_parts().filter(|(place, ..)| asked(*place)) {
            for part in parts.each() {
                let named = contract.policies.get(part.place);
                let Some(named) = named.filter(|named| named.coordination == by) else {
                    continue;
                };
                let mut held = part.seat.hold(company);
                let now = held.at(Some(now));
                let key = of.map(|(_, print)| key(print));
                all.push(PolicyStatus {
                    contract: contract.id.clone(),
                    policy: named.name.clone(),
                    tag: part.seat.tag,
                    figures: held.machine().status(key, now),
                });
                if held.release() {
                    company.outbox.wake();
                }
            }
        }
        all
    }

    /// Shows what modes are asked besides, where it is a `T`, to who judges them: each with the time by its clock.
    pub fn extensions<T: Any>(&self, now: Instant, mut see: impl FnMut(&T, Instant)) {
        let node = self.newest();
        let Some(company) = node.company() else {
            return;
        };
        for seat in node.seats().values() {
            let mut held = seat.hold(company);
            let now = held.at(Some(now));
            let extension = held.machine().extension();
            if let Some(it) = extension.and_then(|it| it.downcast_ref()) {
                see(it, now);
            }
        }
    }

    /// What each policy that is counted together has said and heard, in the order of the contracts.
    pub fn gossip_status(&self) -> Vec<PolicyGossip> {
        let node = self.newest();
        let Some(company) = node.company() else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (contract, parts) in node.parts() {
            for part in parts.each() {
                let mut held = part.seat.hold(company);
                let Talked {
                    said,
                    heard,
                    malformed,
                    evicted,
                    refused,
                    copies_dropped,
                    over_max,
                } = *held.talked();
                let machine = held.machine();
                let footprint = machine.footprint();
                let name = contract.policies.get(part.place).map(|named| &named.name);
                all.push(PolicyGossip {
                    contract: contract.id.clone(),
                    policy: name.cloned().unwrap_or_default(),
                    tag: part.seat.tag,
                    design: machine.design(),
                    keys: machine.keys_count() as u64,
                    state_bytes: (footprint.local, footprint.extra),
                    said,
                    heard,
                    malformed,
                    evicted_refused: (evicted, refused),
                    copies_dropped,
                    held_bytes: machine.held(),
                    over_max,
                    quiet: machine.is_quiet(),
                });
            }
        }
        all
    }

    /// Bytes of state of all policies that are counted together, and whether nothing waits to be told to any other
    /// node.
    pub fn gossip_state(&self) -> (Footprint, bool) {
        let (node, mut sum, mut is_quiet) = (self.newest(), Footprint::default(), true);
        let Some(company) = node.company() else {
            return (sum, is_quiet);
        };
        for seat in node.seats().values() {
            let mut held = seat.hold(company);
            let Footprint { local, extra } = held.machine().footprint();
            sum.local += local;
            sum.extra += extra;
            is_quiet &= held.machine().is_quiet();
        }
        (sum, is_quiet)
    }

    /// What all of them have in common; nothing where the node counts alone.
    pub fn company_status(&self) -> CompanyGossip {
        self.company()
            .map_or_else(CompanyGossip::default, |company| CompanyGossip {
                dropped: company.outbox.dropped(),
                unknown: company.unknown.load(Relaxed),
                bytes: company.bytes.load(Relaxed),
                bytes_max: company.bytes_max,
            })
    }
}
