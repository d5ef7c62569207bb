//! One node of the world: its machine and its share of the traffic.
//!
//! Not here: what the machine does, and its clock, which the simulator has.

use tollgate_gossip::{Machine, NodeId, Writer};

/// One node.
#[derive(Debug)]
pub(crate) struct Node {
    /// The machine; a node that was never there, or lost its memory, has none.
    pub(crate) replica: Option<Box<dyn Machine>>,
    pub(crate) is_up: bool,
    /// Of its last boot.
    pub(crate) writer: Option<Writer>,
    /// The fault that took it down.
    pub(crate) down_by: Option<u32>,
    /// Who it was told is alive.
    pub(crate) told: Vec<NodeId>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) is_quiet: bool,
}

impl Node {
    pub(crate) fn new() -> Self {
        Self {
            replica: None,
            is_up: false,
            writer: None,
            down_by: None,
            told: Vec::new(),
            sent_bytes: 0,
            received_bytes: 0,
            is_quiet: true,
        }
    }

    /// The machine, if it runs.
    pub(crate) fn running(&mut self) -> Option<&mut dyn Machine> {
        match &mut self.replica {
            Some(replica) if self.is_up => Some(&mut **replica),
            _ => None,
        }
    }
}
