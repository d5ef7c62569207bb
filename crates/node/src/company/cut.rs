//! Policies whose buckets are cut: what of a roster each node has, and how it stands.
//!
//! A bucket is cut once, by the roster of the start: another roster counts when all nodes are started anew. Not here: the
//! protocol (`tollgate-split`), names and numbers of nodes (`roster`).

use std::sync::Arc;

use tollgate_contract::{Contract, NamedPolicy};
use tollgate_gossip::Key;
use tollgate_limit::{Algorithm, Instant, PolicyConfig, Span};
use tollgate_split::{AdaptorConfig, BadLimits, Borrow, Counts, Inspection, Limits, SplitConfig};
use tollgate_table::Print;

use super::tag::{key, split_tag};
use super::union::wait_max;
use super::{Company, Seat, Seats};
use crate::node::Node;

/// How buckets are cut; the same on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitSettings {
    /// Whether tokens are borrowed.
    pub borrow: bool,
    /// Tokens are asked for below so many thousandths of a message.
    pub low_milli: u32,
    /// Whether parts follow traffic.
    pub adapt: Adapt,
}

/// Whether parts of cut buckets follow traffic: nodes that are asked for much hire some of others, for a short term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adapt {
    /// Every node has its part by right.
    Off,
    /// Within a fraction of a second, and what waits counts as demand.
    #[default]
    On,
    /// By the last ten seconds, every second, arrivals only, as the document has it: to compare with.
    Printed,
}

impl std::str::FromStr for Adapt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "on" => Ok(Self::On),
            "printed" => Ok(Self::Printed),
            _ => Err("parts of cut buckets follow traffic or not: `on`, `off` or `printed`".into()),
        }
    }
}

impl Default for SplitSettings {
    fn default() -> Self {
        Self {
            borrow: true,
            low_milli: 1_000,
            adapt: Adapt::On,
        }
    }
}

impl SplitSettings {
    pub(super) fn config(self) -> SplitConfig {
        SplitConfig {
            borrow: if self.borrow {
                Borrow::Near
            } else {
                Borrow::Off
            },
            low_milli: self.low_milli,
            hire: match self.adapt {
                Adapt::Off => None,
                Adapt::On => Some(AdaptorConfig::default()),
                Adapt::Printed => Some(AdaptorConfig::printed()),
            },
            ..SplitConfig::default()
        }
    }
}

/// A policy whose buckets are cut, on this node. Amounts are in grains, of which a message has so many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySplit {
    /// The contract's id.
    pub contract: String,
    /// The policy's name.
    pub policy: String,
    /// What it is called on the wire.
    pub tag: u64,
    /// The bucket that is cut.
    pub limits: Limits,
    /// What happened so far.
    pub counts: Counts,
    /// Keys known.
    pub keys: u64,
    /// The most that a message may cost.
    pub cost_max: u32,
    /// How the key stands that was asked for; otherwise the first one known, or one that was never seen.
    pub stands: Option<Inspection>,
}

/// The bucket of a policy that is cut.
pub(super) fn split_limits(config: &PolicyConfig) -> Result<Limits, BadLimits> {
    let period = Span::from_nanos(u128::from(config.period.nanos()));
    Limits::new(config.limit, period, config.burst.unwrap_or(config.limit))
}

/// The longest that anybody is told to wait.
pub(super) fn longest_wait(config: &PolicyConfig, limits: &Limits) -> Span {
    match config.algorithm {
        // Its queue is as long as the burst, and a part of it lasts as long as the whole.
        Algorithm::LeakyBucket => Span::from_nanos(u128::from(limits.lasts_ns()) * 2),
        _ => wait_max(config),
    }
}

impl Company {
    /// The seat of a policy whose buckets are cut: the one there was, or a new one.
    pub(super) fn cut(
        &self,
        (contract, named): (&Contract, &NamedPolicy),
        before: &Seats,
        order: u64,
        now: Instant,
    ) -> Option<Arc<Seat>> {
        let union = self.union.as_ref()?;
        let tag = split_tag(contract, named);
        let Some(seat) = before.get(&tag) else {
            let mind = union.mind(named, tag, now)?;
            return Some(Arc::new(Seat::new(order, (tag, None), mind)));
        };
        let mut held = seat.hold(self);
        if let Some(topics) = held.machine().split() {
            let limits = topics.limits();
            topics.set_wait_max(longest_wait(named.policy.config(), &limits));
        }
        held.release();
        Some(Arc::clone(seat))
    }
}

impl Node {
    /// How cut buckets stand, in the order of the contracts: for one key of one contract, or any.
    pub fn split_status(&self, of: Option<(usize, Print)>, now: Instant) -> Vec<PolicySplit> {
        self.told(of, now, |title, held, now| {
            let topics = held.machine().split()?;
            let first = topics.keys().next();
            let asked = of.map(|(_, print)| key(print)).or(first).unwrap_or(Key(0));
            Some(PolicySplit {
                contract: title.contract,
                policy: title.policy,
                tag: title.tag,
                limits: topics.limits(),
                counts: topics.counts(),
                keys: topics.keys_count() as u64,
                cost_max: topics.cost_max(),
                stands: topics.inspect(asked, now),
            })
        })
    }
}
