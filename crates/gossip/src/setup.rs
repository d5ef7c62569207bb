//! What a replica is told at its start.
//!
//! Not here: what changes while it runs (membership).

use tollgate_limit::{Instant, Span};
use tollgate_mode::{NodeId, Writer};

use crate::bucket::Bucket;

/// One node's part in one policy.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What is counted.
    pub bucket: Bucket,
    /// This node.
    pub me: NodeId,
    /// This boot; never used before in the cluster.
    pub writer: Writer,
    /// The writer of the boot before, if this is a restart that wants its memory back from its peers.
    pub was: Option<Writer>,
    /// Every node of the cluster, this one included, in ascending order.
    pub members: Vec<NodeId>,
    /// Decides every random choice of this boot.
    pub seed: u64,
    /// The time of the start.
    pub start: Instant,
    /// How long a request may be made to wait for its tokens; none: it is denied at once.
    pub wait_max: Span,
    /// What may be tuned.
    pub knobs: Knobs,
}

/// What may be tuned; the default is what the documentation calls the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Time between two rounds of gossip.
    pub interval: Span,
    /// How long a message is expected to take, for timers that wait for answers.
    pub delay: Span,
    /// `segments`, `home`: how much of the room a node keeps to itself, in shares; by default 5/4 up to a share of
    /// thirty tokens (`segments`: among ten nodes and more), else 1.
    pub beta: Option<Ratio>,
    /// `segments`, `home`: how fast silence is forgotten, in shares of the refill.
    pub fade: Ratio,
    /// `segments`, `home`: how long what is drained is kept, to cover delay and repair.
    pub grace: Span,
    /// `segments`: time between two digests; zero for none, and for no pulls.
    pub digest: Span,
    /// `segments`, `home`: keep a copy of what is unpublished with the next node.
    pub buddy: bool,
    /// `home`: a second node collects as well.
    pub standby: bool,
    /// `home`: reports and announcements are repeated, for transports that lose some.
    pub repeat: bool,
    /// `home`: tokens left at which nodes tell each other directly; `None` chooses by rate and delay, zero never.
    pub direct: Option<u64>,
    /// `home`: children of a node in the tree along which announcements spread; `None`: everybody is told by the home.
    pub tree: Option<u16>,
}

/// Up to that many tokens per node, traffic that goes anywhere does not fill all nodes' shares at once.
const LOOSE_SHARE_MAX: u64 = 30;
/// Among fewer nodes it does: one too many was seen in up to one run of ten with 3 to 7 nodes, never in forty with ten
/// and more.
const LOOSE_NODES_MIN: u64 = 10;

/// How much of the room a node keeps to itself, in shares: `beta`, or the usual.
pub(crate) fn shares(beta: Option<Ratio>, burst: u64, nodes: u64) -> Ratio {
    let is_loose = nodes >= LOOSE_NODES_MIN && burst <= LOOSE_SHARE_MAX.saturating_mul(nodes);
    beta.unwrap_or(Ratio::new(if is_loose { 5 } else { 4 }, 4))
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            interval: Span::from_nanos(300_000_000),
            delay: Span::ZERO,
            beta: None,
            fade: Ratio::new(1, 4),
            grace: Span::from_nanos(3_000_000_000),
            digest: Span::from_nanos(10_000_000_000),
            buddy: true,
            standby: true,
            repeat: true,
            direct: Some(1),
            tree: None,
        }
    }
}

/// A fraction in whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    over: u32,
    under: u32,
}

impl Ratio {
    /// `over` / `under`; a denominator of zero counts as one.
    pub const fn new(over: u32, under: u32) -> Self {
        Self {
            over,
            under: if under == 0 { 1 } else { under },
        }
    }

    /// That part of `whole`, rounded down.
    pub fn of(self, whole: u128) -> u128 {
        whole.saturating_mul(u128::from(self.over)) / u128::from(self.under)
    }

    /// The least whole of which `part` is that part; `None` if there is none, or none that fits.
    pub fn whole_of(self, part: u128) -> Option<u128> {
        let whole = part.checked_mul(u128::from(self.under))?;
        (self.over > 0).then(|| whole.div_ceil(u128::from(self.over)))
    }
}
