//! A node's part in one policy under supply, at the boundary: what a policy says of the rate, and what is kept and
//! shown of it.
//!
//! Not here: how rates are lent, which is the machine's.

use core::any::Any;
use std::sync::Arc;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_gossip::{Decoder, Encoder};
use tollgate_limit::{Algorithm, Instant, PolicyConfig, Span};
use tollgate_mode::{
    Build, ClockKind, Figure, Malformed, Mode, ModeEvent, ModeKey, ModeKind, NodeId, SHARDS,
    by_machine, promised_wait, told_by_machine,
};

use crate::authority::AUTHORITY;
use crate::config::SupplyConfig;
use crate::limits::{BadLimits, Limits};
use crate::machine::Machine;
use crate::setup::{Begin, Boot, SupplyRecord, SupplySetup};
use crate::shares::Shares;
use crate::status;

/// Supply among the ways to agree.
#[derive(Clone, Debug, Default)]
pub struct Supply {
    /// What may be tuned.
    pub config: SupplyConfig,
    /// Whether every part begins as if no node had ever run: right where all begin together, else more may pass than
    /// the limit.
    pub is_first: bool,
}

impl ModeKind for Supply {
    fn coordination(&self) -> Coordination {
        Coordination::Supply
    }

    fn clock(&self) -> ClockKind {
        ClockKind::Steady
    }

    fn shards(&self) -> usize {
        // An authority knows one machine of every node.
        if self.config.lease.is_some() {
            1
        } else {
            SHARDS
        }
    }

    fn check(&self, _: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        let limits = limits(policy.policy.config());
        limits.map(drop).map_err(|error| error.to_string())
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        let config = build.policy.policy.config();
        let roster = build.roster.ok_or("there is no roster")?;
        let (me, is_itself) = roster.me.unwrap_or((NOBODY, false));
        let kept = roster.kept.as_deref().filter(|_| is_itself);
        let shares = Shares::new(roster.division, roster.parts.iter().copied());
        let setup = SupplySetup {
            limits: limits(config).map_err(|error| error.to_string())?,
            shares: shares.map_err(|error| error.to_string())?,
            me,
            boot: Boot(roster.boot),
            begin: if self.is_first {
                Begin::Fresh
            } else {
                // What cannot be read is as a disk that was lost.
                Begin::Restart(kept.and_then(|bytes| decode(bytes).ok()))
            },
            members: roster.members.clone(),
            seed: roster.boot ^ build.tag,
            start: build.start,
            wait_max: promised_wait(config),
            leaks: config.algorithm == Algorithm::LeakyBucket,
            config: self.config.clone(),
        };
        let machine = Machine::new(setup).map_err(|error| error.to_string())?;
        Ok(Box::new(Part { machine }))
    }
}

/// One node's part in one policy.
#[derive(Debug)]
struct Part {
    machine: Machine,
}

impl Mode for Part {
    by_machine!();
    told_by_machine!();

    fn design(&self) -> &'static str {
        Coordination::Supply.name()
    }

    fn extension(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.machine)
    }

    fn change(&mut self, policy: &NamedPolicy, now: Instant) {
        let config = policy.policy.config();
        if let Ok(limits) = limits(config) {
            self.machine.set_wait_max(promised_wait(config));
            self.machine.set_limits(limits, now);
        }
    }

    fn miss(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.machine.miss(key, cost, now);
    }

    fn handle_event(&mut self, event: &ModeEvent<'_>, now: Instant) {
        match event {
            ModeEvent::Members(alive) => self.machine.handle_members(alive, now),
            ModeEvent::Roster { tag, parts } => {
                if let Ok(shares) = Shares::new(*tag, parts.iter().copied()) {
                    self.machine.handle_shares(shares, now);
                }
            }
            ModeEvent::Leave => self.machine.goodbye(now),
            ModeEvent::GiveUp => self.machine.give_up(now),
            ModeEvent::Kept(bytes) => {
                if let Ok(kept) = decode(bytes) {
                    self.machine.handle_kept(&kept, now);
                }
            }
            ModeEvent::Delay(_)
            | ModeEvent::Join
            | ModeEvent::Day { .. }
            | ModeEvent::Renumber(_)
            | ModeEvent::ClockSet { .. } => {}
        }
    }

    fn poll_kept(&mut self) -> Option<Arc<[u8]>> {
        self.machine.poll_kept().map(|kept| encode(&kept))
    }

    fn is_superseded(&self) -> bool {
        self.machine.figures().ignored.duplicate_identities > 0
    }

    fn status(&mut self, of: Option<ModeKey>, now: Instant) -> Vec<Figure> {
        status::of(&self.machine, of, now)
    }
}

/// The limit of a policy whose rate is divided.
pub fn limits(config: &PolicyConfig) -> Result<Limits, BadLimits> {
    let period = Span::from_nanos(u128::from(config.period.nanos()));
    Limits::per(config.limit, period, config.burst.unwrap_or(config.limit))
}

/// What must survive a crash, as bytes.
fn encode(kept: &SupplyRecord) -> Arc<[u8]> {
    let mut encoder = Encoder::default();
    encoder.u8(KEPT_VERSION);
    for number in [
        kept.number,
        kept.home,
        kept.limits.rate(),
        kept.limits.burst(),
    ] {
        encoder.count(number);
    }
    encoder.varint(kept.waited.as_nanos());
    for node in &kept.nodes {
        encoder.count(u64::from(node.0));
    }
    encoder.finish()
}

fn decode(bytes: &[u8]) -> Result<SupplyRecord, Malformed> {
    let mut decoder = Decoder::from_first(bytes);
    if decoder.u8()? != KEPT_VERSION {
        return Err(Malformed::Value);
    }
    let (number, home) = (decoder.count()?, decoder.count()?);
    let limits = Limits::new(decoder.count()?, decoder.count()?);
    let waited = Span::from_nanos(decoder.varint()?);
    let mut nodes = Vec::new();
    while !decoder.is_empty() {
        let node = u16::try_from(decoder.count()?).map_err(|_| Malformed::Value)?;
        nodes.push(NodeId(node));
    }
    Ok(SupplyRecord {
        number,
        home,
        limits: limits.map_err(|_| Malformed::Value)?,
        nodes,
        waited,
    })
}

/// A node that was not told who it is: it has no home under this number, which no name has.
const NOBODY: NodeId = AUTHORITY;
const KEPT_VERSION: u8 = 1;
