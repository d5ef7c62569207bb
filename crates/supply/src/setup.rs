//! What a machine is told at its start.
//!
//! Not here: what changes while it runs.

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};

use crate::config::SupplyConfig;
use crate::limits::Limits;
use crate::shares::Shares;

/// One boot of one node. A node's next boot has a larger one; zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Boot(pub u64);

/// One node's part in one policy.
#[derive(Clone, Debug)]
pub struct SupplySetup {
    /// What is divided.
    pub limits: Limits,
    /// Among whom.
    pub shares: Shares,
    /// This node.
    pub me: NodeId,
    /// This boot.
    pub boot: Boot,
    /// What came before.
    pub begin: Begin,
    /// Who may be asked, this node included or not, in ascending order.
    pub members: Vec<NodeId>,
    /// Decides every random choice of this boot.
    pub seed: u64,
    /// The time of the start, on a clock that never jumps.
    pub start: Instant,
    /// How long a request may be made to wait for its tokens; none: it is denied at once.
    pub wait_max: Span,
    /// Whether admitted requests wait for those before them, as in a leaking bucket.
    pub leaks: bool,
    /// What may be tuned.
    pub config: SupplyConfig,
}

/// What came before a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Nothing, anywhere: no node of the cluster has run this policy before. Homes are valid and buckets full at once.
    Fresh,
    /// This node may have run before. Nothing of its home is used until what it may have lent has ended, and buckets
    /// begin empty. With `None` it has no home until every node stands where it does, and borrows meanwhile.
    Restart(Option<SupplyRecord>),
}

/// What a node must not forget when it restarts; see [`Machine::poll_kept`](crate::Machine::poll_kept).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupplyRecord {
    /// The number of the limits and shares it stood on.
    pub number: u64,
    /// Its home then.
    pub home: u64,
    /// The limits then; of several between which it was, those with the smallest burst for their rate.
    pub limits: Limits,
    /// Every node that has a part, or had one and has not agreed to another, in ascending order.
    pub nodes: Vec<NodeId>,
    /// The longest that a request may have been made to wait.
    pub waited: Span,
}
