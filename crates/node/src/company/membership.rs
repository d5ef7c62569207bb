//! Who a node is among others, as it is told at its start.
//!
//! Not here: who lives since.

use std::sync::Arc;

use tollgate_gossip::Knobs;
use tollgate_limit::{Instant, Span};
use tollgate_mode::{ModeKind, NodeId, Writer};

use super::{Lend, RateDivision};

/// Who a node is among others, and who they are.
#[derive(Clone, Debug)]
pub struct Membership {
    /// This node.
    pub me: NodeId,
    /// This boot; never used before in the cluster.
    pub writer: Writer,
    /// The writer of the boot before, where there was one.
    pub was: Option<Writer>,
    /// Who is believed alive, this node included, in ascending order.
    pub members: Vec<NodeId>,
    /// The time of the start.
    pub start: Instant,
    /// Decides every random choice of this boot.
    pub seed: u64,
    /// What may be tuned.
    pub knobs: Knobs,
    /// Modes besides those of this build; they are asked first whether they count a policy.
    pub modes: Vec<Arc<dyn ModeKind>>,
    /// Its part in dividing rates; without one it counts those alone.
    pub share: Option<RateDivision>,
    /// Its part in lending; without one it decides what would be lent.
    pub lend: Option<Lend>,
}

impl Membership {
    /// A node that knows of no other yet.
    pub fn alone(me: NodeId, writer: Writer, start: Instant) -> Self {
        Self {
            me,
            writer,
            was: None,
            members: vec![me],
            start,
            seed: u64::from(me.0) << 16 | u64::from(writer.0),
            knobs: Knobs {
                delay: DELAY,
                ..Knobs::default()
            },
            modes: Vec::new(),
            share: None,
            lend: None,
        }
    }
}

/// How long a message is expected to take where nobody knows better.
const DELAY: Span = Span::from_nanos(1_000_000);
