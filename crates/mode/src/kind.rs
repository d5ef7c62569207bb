//! The row of a mode in the registry: which policies it can count, and how a node's part in one is built.
//!
//! Not here: the registry, which is in `node`.

use core::fmt;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_limit::{Instant, OnLimit, PolicyConfig, Span};

use crate::ids::{NodeId, Writer};
use crate::mode::{ClockKind, Mode};
use crate::tag::Tag;

/// A way to agree, and what a server's settings say of it.
pub trait ModeKind: fmt::Debug + Send + Sync {
    /// The word for it in contracts.
    fn coordination(&self) -> Coordination;

    /// Which clock its parts are told the time of.
    fn clock(&self) -> ClockKind {
        ClockKind::Wall
    }

    /// Whether nodes have numbers by a roster of names, instead of those of the cluster.
    fn is_by_roster(&self) -> bool {
        self.coordination().is_divided()
    }

    /// Whether its parts save and restore keys one by one, so that a policy can be durable; what others admitted is not
    /// written, and their buckets begin empty.
    fn saves_keys(&self) -> bool {
        false
    }

    /// How many parts a policy has on every node, each with the keys of one shard, a lock and frames of its own. The
    /// same on all nodes, and a power of two.
    fn shards(&self) -> usize {
        1
    }

    /// Whether it counts a policy.
    fn counts(&self, _contract: &Contract, policy: &NamedPolicy) -> bool {
        policy.coordination == self.coordination()
    }

    /// Why a policy cannot be counted this way.
    fn check(&self, contract: &Contract, policy: &NamedPolicy) -> Result<(), String>;

    /// Adds to a tag whatever a running part cannot change.
    fn tag(&self, tag: &mut Tag, _policy: &NamedPolicy) {
        tag.text(self.coordination().name());
    }

    /// A node's part in a policy, as of a node that may have run before.
    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String>;
}

/// What a node's part in a policy is built from.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// The policy.
    pub policy: &'a NamedPolicy,
    /// Its name on the wire.
    pub tag: u64,
    /// Who this node and the others are.
    pub numbers: &'a NodeNumbers,
    /// The time, by the clock of the mode.
    pub start: Instant,
    /// Where nodes have numbers by a roster, this node's part in it.
    pub roster: Option<&'a RosterPart>,
}

/// Who a node is among others, and who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeNumbers {
    /// This node.
    pub me: NodeId,
    /// This boot; never used before in the cluster.
    pub writer: Writer,
    /// The writer of the boot before, where there was one.
    pub was: Option<Writer>,
    /// Who is believed alive, this node included, in ascending order.
    pub members: Vec<NodeId>,
    /// Decides every random choice of this boot.
    pub seed: u64,
    /// How long a message between nodes takes, about.
    pub delay: Span,
}

/// A node's part in a roster, under the numbers of the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterPart {
    /// Names the division.
    pub division: u64,
    /// Everyone who has a part, and how large.
    pub parts: Vec<(NodeId, u32)>,
    /// This node, and whether that is the number of its name.
    pub me: Option<(NodeId, bool)>,
    /// Who is alive.
    pub members: Vec<NodeId>,
    /// Larger than at any start before.
    pub boot: u64,
    /// What the part that ran before handed out to be kept.
    pub kept: Option<std::sync::Arc<[u8]>>,
}

/// Shards of a policy, where there is no reason for another number: decision 070 says what was measured.
pub const SHARDS: usize = 8;

/// How long a policy lets requests wait; longest where it says no bound.
fn longest_wait(config: &PolicyConfig, unbounded: Span) -> Span {
    match config.on_limit {
        OnLimit::Deny => Span::ZERO,
        OnLimit::Delay { max_wait_ns } => max_wait_ns.map_or(unbounded, span),
    }
}

/// How long a policy lets requests wait, without a bound of the mode's own.
pub fn wait_max(config: &PolicyConfig) -> Span {
    longest_wait(config, Span::from_nanos(u128::MAX))
}

/// How long a policy lets requests wait where a restarted node uses nothing of its own until all promises have ended.
pub fn promised_wait(config: &PolicyConfig) -> Span {
    longest_wait(config, WAIT_UNSAID).min(WAIT_MAX)
}

/// The longest wait that is promised where a policy says none.
const WAIT_UNSAID: Span = Span::from_nanos(10_000_000_000);
/// The longest wait that is promised.
const WAIT_MAX: Span = Span::from_nanos(3_600_000_000_000);

fn span(nanos: u64) -> Span {
    Span::from_nanos(u128::from(nanos))
}
