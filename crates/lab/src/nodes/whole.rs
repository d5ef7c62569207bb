//! A whole node as a member: who it is, what it says, and what its disk holds.
//!
//! Not here: how it comes and goes.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Instant;
use tollgate_node::{ModeRecord, Node};

use super::net::{Member, address};

/// A frame between nodes.
#[derive(Clone, Debug)]
pub struct NodeFrame {
    /// The number of the node that sent it.
    pub from: NodeId,
    /// The number of the node it is for.
    pub to: NodeId,
    /// The policy it is about, as all nodes name it.
    pub tag: u64,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// A node, who it is, and what its disk holds.
#[derive(Clone, Debug)]
pub struct Whole {
    /// The newest of the nodes that followed on each other in this process.
    pub node: Arc<Node>,
    /// Its number in the cluster, and that of this start.
    pub id: (NodeId, Writer),
    /// Its name.
    pub name: String,
    /// When it began, by the world's time.
    pub began: u64,
    /// What it has stored of each policy, by tag.
    pub disk: BTreeMap<u64, ModeRecord>,
    /// Whether it runs.
    pub is_up: bool,
}

/// Numbers of nodes are that far apart, so that each has some to change to.
const NUMBERS_APART: u16 = 10;

impl Whole {
    /// The number of the node at a place.
    pub(crate) fn number(place: usize) -> NodeId {
        NodeId(
            address(place)
                .saturating_add(1)
                .saturating_mul(NUMBERS_APART),
        )
    }

    /// The address of the node that has, or once had, a number.
    pub(crate) fn address(number: NodeId) -> u16 {
        (number.0 / NUMBERS_APART).wrapping_sub(1)
    }
}

impl Deref for Whole {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

impl Member for Whole {
    type Message = NodeFrame;

    fn is_up(&self) -> bool {
        self.is_up
    }

    fn handle_message(&mut self, _from: u16, frame: &NodeFrame, now: u64) {
        if frame.to == self.id.0 {
            let now = Instant::from_nanos(now);
            // Policies may differ where contracts are changed one node at a time.
            let _ = self.handle_gossip(frame.tag, frame.from, &frame.bytes, now);
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        self.node.handle_timeout(Instant::from_nanos(now));
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.node.poll_timeout().map(Instant::as_nanos)
    }

    fn store(&mut self, now: u64) {
        for (tag, kept) in self.take_kept() {
            self.handle_kept(tag, &kept, Instant::from_nanos(now));
            self.disk.insert(tag, kept);
        }
    }

    fn poll_send(&mut self) -> Option<(u16, NodeFrame)> {
        let out = self.node.poll_send()?;
        let frame = NodeFrame {
            from: self.id.0,
            to: out.to,
            tag: out.tag,
            bytes: out.frame,
        };
        Some((Self::address(out.to), frame))
    }

    fn bytes(frame: &NodeFrame) -> &[u8] {
        &frame.bytes
    }
}
