//! One node of the world: its machine, its clock, and its share of the traffic.
//!
//! Not here: what the machine does.

use tollgate_gossip::{Machine, NodeId, Writer};
use tollgate_limit::Instant;

/// One node.
#[derive(Debug)]
pub(crate) struct Node {
    /// The machine; a node that was never there, or lost its memory, has none.
    pub(crate) replica: Option<Machine>,
    pub(crate) is_up: bool,
    /// Of its last boot.
    pub(crate) writer: Option<Writer>,
    /// The fault that took it down.
    pub(crate) down_by: Option<u32>,
    /// How far its clock is ahead.
    pub(crate) offset: i64,
    /// When it will be woken.
    pub(crate) armed: Option<u64>,
    /// Who it was told is alive.
    pub(crate) told: Vec<NodeId>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) is_quiet: bool,
}

impl Node {
    pub(crate) fn new(offset: i64) -> Self {
        Self {
            replica: None,
            is_up: false,
            writer: None,
            down_by: None,
            offset,
            armed: None,
            told: Vec::new(),
            sent_bytes: 0,
            received_bytes: 0,
            is_quiet: true,
        }
    }

    /// What its clock shows at a time of the world.
    pub(crate) fn clock(&self, world: u64) -> Instant {
        Instant::from_nanos(world.saturating_add_signed(self.offset))
    }

    /// The time of the world at which its clock shows `local`.
    pub(crate) fn world_time(&self, local: Instant) -> u64 {
        let nanos = local.as_nanos();
        match self.offset.checked_neg() {
            Some(back) => nanos.saturating_add_signed(back),
            None => u64::MAX,
        }
    }

    /// The machine, if it runs.
    pub(crate) fn running(&mut self) -> Option<&mut Machine> {
        self.replica.as_mut().filter(|_| self.is_up)
    }
}
