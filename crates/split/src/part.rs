//! A node's part in one policy under split, at the boundary: which bucket is cut, and what is shown of it.
//!
//! A bucket is cut once, by the roster of the start: another roster counts when all nodes are started again. Not here:
//! how tokens are borrowed, which is the machine's.

use std::str::FromStr;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_limit::{Algorithm, Instant, PolicyConfig, Span};
use tollgate_mode::{
    Build, ClockKind, Figure, Mode, ModeEvent, ModeKey, ModeKind, NodeId, SHARDS, Tag, by_machine,
    counter, gauge, promised_wait, told_by_machine,
};

use crate::config::{AdaptorConfig, Borrow, SplitConfig};
use crate::limits::{BadTopicLimits, TopicLimits};
use crate::topics::{Topics, TopicsSetup};

/// Split among the ways to agree: how buckets are cut, the same on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
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

impl FromStr for Adapt {
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

impl Default for Split {
    fn default() -> Self {
        Self {
            borrow: true,
            low_milli: 1_000,
            adapt: Adapt::On,
        }
    }
}

impl Split {
    fn config(self) -> SplitConfig {
        SplitConfig {
            borrow: if self.borrow {
                Borrow::Near
            } else {
                Borrow::Off
            },
            low_milli: self.low_milli,
            rests_max: RESTS_MAX,
            hire: match self.adapt {
                Adapt::Off => None,
                Adapt::On => Some(AdaptorConfig::default()),
                Adapt::Printed => Some(AdaptorConfig::printed()),
            },
            ..SplitConfig::default()
        }
    }
}

impl ModeKind for Split {
    fn coordination(&self) -> Coordination {
        Coordination::Split
    }

    fn clock(&self) -> ClockKind {
        ClockKind::Steady
    }

    fn shards(&self) -> usize {
        SHARDS
    }

    fn check(&self, _: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        let limits = limits(policy.policy.config());
        limits.map(drop).map_err(|error| error.to_string())
    }

    fn tag(&self, tag: &mut Tag, policy: &NamedPolicy) {
        let config = policy.policy.config();
        tag.text(Coordination::Split.name());
        tag.number(config.limit);
        tag.number(config.burst.unwrap_or(0));
        tag.number(config.period.nanos());
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        let config = build.policy.policy.config();
        let roster = build.roster.ok_or("there is no roster")?;
        let limits = limits(config).map_err(|error| error.to_string())?;
        let me = roster.me.filter(|(_, is_itself)| *is_itself);
        let setup = TopicsSetup {
            roster: roster.parts.clone(),
            me: me.map_or(NOBODY, |(me, _)| me),
            boot: roster.boot,
            members: roster.members.clone(),
            start: build.start,
            wait_max: wait_max(config, &limits),
            leaks: config.algorithm == Algorithm::LeakyBucket,
            limits,
            config: self.config(),
        };
        let machine = Topics::new(setup).map_err(|error| error.to_string())?;
        Ok(Box::new(Part { machine }))
    }
}

/// One node's part in one policy.
#[derive(Debug)]
struct Part {
    machine: Topics,
}

impl Mode for Part {
    by_machine!();
    told_by_machine!();

    fn design(&self) -> &'static str {
        Coordination::Split.name()
    }

    fn change(&mut self, policy: &NamedPolicy, _: Instant) {
        let limits = self.machine.limits();
        let wait_max = wait_max(policy.policy.config(), &limits);
        self.machine.set_wait_max(wait_max);
    }

    fn miss(&mut self, key: ModeKey, _: u64, now: Instant) {
        self.machine.miss(key, now);
    }

    fn handle_event(&mut self, event: &ModeEvent<'_>, _: Instant) {
        if let ModeEvent::Members(alive) = event {
            self.machine.handle_members(alive);
        }
    }

    fn status(&mut self, of: Option<ModeKey>, now: Instant) -> Vec<Figure> {
        let first = self.machine.a_key();
        let mut figures = standing(&mut self.machine, of.or(first).unwrap_or(ModeKey(0)), now);
        figures.extend(counts(&self.machine));
        figures
    }
}

/// The bucket of a policy that is cut.
pub fn limits(config: &PolicyConfig) -> Result<TopicLimits, BadTopicLimits> {
    let period = Span::from_nanos(u128::from(config.period.nanos()));
    TopicLimits::new(config.limit, period, config.burst.unwrap_or(config.limit))
}

/// The longest that a request is told to wait.
fn wait_max(config: &PolicyConfig, limits: &TopicLimits) -> Span {
    match config.algorithm {
        // Its queue is as long as the burst, and a part of it lasts as long as the whole.
        Algorithm::LeakyBucket => Span::from_nanos(u128::from(limits.lasts_ns()) * 2),
        _ => promised_wait(config),
    }
}

/// How the sub-bucket of a key stands. Rates are messages per second, amounts are messages.
fn standing(machine: &mut Topics, key: ModeKey, now: Instant) -> Vec<Figure> {
    let stands = machine.inspect(key, now);
    let grains = |pick: fn(&crate::setup::Inspection) -> u128| stands.as_ref().map_or(0, pick);
    let limits = machine.limits();
    let messages = |grains| messages(&limits, grains);
    let rate = |grains| messages(grains) * 1e9;
    let whole = limits.whole();
    let one_way = stands.as_ref().and_then(|stands| stands.one_way_ns);
    vec![
        gauge(
            "rate",
            rate(whole.rate),
            "The rate of the bucket that is cut, messages per second.",
        ),
        Figure::new("burst", messages(whole.depth)),
        gauge(
            "own_rate",
            rate(grains(|s| s.share.rate)),
            "This node's part of it.",
        ),
        gauge(
            "own_burst",
            messages(grains(|s| s.share.depth)),
            "This node's part of the depth, in messages.",
        ),
        gauge(
            "hired_rate",
            rate(grains(|s| s.hired.rate)),
            "Of this node's part, what is hired of other nodes.",
        ),
        gauge(
            "let_rate",
            rate(grains(|s| s.lets.rate)),
            "What other nodes have hired of this node's part.",
        ),
        gauge(
            "tokens",
            messages(grains(|s| s.tokens)),
            "Tokens of the first key that is known, as are the next two.",
        ),
        gauge(
            "owed",
            messages(grains(|s| s.queued)),
            "What messages were told to wait for and has not come back yet.",
        ),
        gauge(
            "held",
            messages(grains(|s| s.held)),
            "Room kept for tokens that were given away.",
        ),
        Figure::new("one_way_ms", one_way.map(millis)),
        Figure::new("cost_max", machine.cost_max()),
        gauge("keys", machine.keys_count() as u64, "Keys that are known.").sum(),
    ]
}

fn counts(machine: &Topics) -> Vec<Figure> {
    let (counts, limits) = (machine.counts(), machine.limits());
    vec![
        counter(
            "counts.admitted",
            counts.arrived,
            "Messages that were admitted.",
        ),
        counter(
            "counts.delayed",
            counts.waited,
            "Of these, those that were told to wait.",
        ),
        counter(
            "counts.asks",
            counts.asks,
            "Asks for tokens of other nodes.",
        ),
        counter("counts.hits", counts.hits, "Asks that got some."),
        counter(
            "counts.hires",
            counts.hires,
            "Questions for a part of the bucket.",
        ),
        counter(
            "counts.borrowed",
            messages(&limits, counts.borrowed),
            "Tokens that came from other nodes.",
        ),
        Figure::new("counts.given", messages(&limits, counts.given)).sum(),
        Figure::new("counts.expired", counts.expired).sum(),
        counter(
            "counts.frames",
            counts.frames,
            "Frames that were sent to other nodes.",
        ),
        Figure::new("counts.malformed", counts.malformed).sum(),
    ]
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
fn messages(limits: &TopicLimits, grains: u128) -> f64 {
    grains as f64 / limits.message().max(1) as f64
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Where all nodes are asked for too much, asking each other helps nobody.
const RESTS_MAX: u32 = 32;
/// A node that was not told who it is: it has no part under this number, which no name has.
const NOBODY: NodeId = NodeId(u16::MAX);
