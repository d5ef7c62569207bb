//! What the machines of a node have said and heard so far, for whoever shows it.

use core::any::Any;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_contract::Coordination;
use tollgate_limit::Instant;
use tollgate_mode::{Figure, FigureValue, Footprint, ModeKey};
use tollgate_table::Print;

use super::Company;
use super::parts::PolicyPart;
use super::seat::MachineGuard;
use super::tag::key;
use crate::node::Node;

/// One policy that is counted together with other nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl PolicyGossip {
    /// Adds what a shard has said and heard.
    fn add(&mut self, held: &mut MachineGuard<'_>) {
        let talked = *held.talked();
        let machine = held.machine();
        let footprint = machine.footprint();
        self.design = machine.design();
        self.keys += machine.keys_count() as u64;
        self.state_bytes.0 += footprint.local;
        self.state_bytes.1 += footprint.extra;
        self.said.frames += talked.said.frames;
        self.said.bytes += talked.said.bytes;
        self.said.publications += talked.said.publications;
        self.heard += talked.heard;
        self.malformed += talked.malformed;
        self.evicted_refused.0 += talked.evicted;
        self.evicted_refused.1 += talked.refused;
        self.copies_dropped += talked.copies_dropped;
        self.held_bytes += machine.held();
        self.over_max = self.over_max.max(talked.over_max);
        self.quiet &= machine.is_quiet();
    }
}

/// How a policy stands, of one key or of all: then what its shards say, one after the other, together.
fn figures(
    company: &Company,
    part: &PolicyPart,
    key: Option<ModeKey>,
    now: Instant,
) -> Vec<Figure> {
    let (mut all, mut has_key) = (Vec::new(), false);
    let shards = part.shards.iter().map(|shard| &**shard);
    let one = key.map(|key| part.shard(key));
    for shard in shards.filter(|shard| one.is_none_or(|one| one.order == shard.order)) {
        let mut held = shard.hold(company);
        let now = held.at(Some(now));
        let mut figures: Vec<Figure> = held.machine().status(key, now);
        let knows_keys = held.machine().keys_count() > 0;
        if held.release() {
            company.outbox.wake();
        }
        // The first that knows a key comes first.
        let is_first = all.is_empty() || knows_keys && !has_key;
        if is_first {
            std::mem::swap(&mut all, &mut figures);
        }
        let others = all.iter_mut().zip(&figures);
        others.for_each(|(figure, other)| figure.join(&other.value, knows_keys && !is_first));
        has_key |= knows_keys;
    }
    all
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
                let key = of.map(|(_, print)| key(print));
                all.push(PolicyStatus {
                    contract: contract.id.clone(),
                    policy: named.name.clone(),
                    tag: part.tag,
                    figures: figures(company, part, key, now),
                });
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
                let name = contract.policies.get(part.place).map(|named| &named.name);
                let mut policy = PolicyGossip {
                    contract: contract.id.clone(),
                    policy: name.cloned().unwrap_or_default(),
                    tag: part.tag,
                    quiet: true,
                    ..PolicyGossip::default()
                };
                for shard in &part.shards {
                    policy.add(&mut shard.hold(company));
                }
                all.push(policy);
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
