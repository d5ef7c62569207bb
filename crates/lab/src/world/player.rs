//! A node of the world as a member of its network, and what it was told.
//!
//! Not here: the node itself, which is the daemon's, and how it comes and goes.

use tollgate_gossip::{Footprint, NodeId, Writer};
use tollgate_limit::Instant;
use tollgate_node::GossipRefused;

use crate::nodes::{Member, NodeFrame, Whole};

#[derive(Debug, Default)]
pub(crate) struct Player {
    /// The node; one that was never there, or lost its memory, is none.
    pub(crate) whole: Option<Whole>,
    /// Of its last boot.
    pub(crate) writer: Option<Writer>,
    /// The fault that took it down.
    pub(crate) down_by: Option<u32>,
    /// Who it was told is alive.
    pub(crate) told: Vec<NodeId>,
    /// Frames that it took.
    pub(crate) received: u64,
    /// Frames that it could not read, though it knew the sender.
    pub(crate) malformed: u64,
}

impl Player {
    pub(crate) fn running(&self) -> Option<&Whole> {
        self.whole.as_ref().filter(|whole| whole.is_up)
    }

    /// Bytes of state that the node holds now, if it runs.
    pub(crate) fn footprint(&self) -> Option<Footprint> {
        let (footprint, _) = self.running()?.gossip_state();
        Some(footprint)
    }

    /// Whether it has nothing left to say.
    pub(crate) fn is_quiet(&self) -> bool {
        self.running().is_none_or(|whole| whole.gossip_state().1)
    }
}

impl Member for Player {
    type Message = NodeFrame;

    fn is_up(&self) -> bool {
        self.running().is_some()
    }

    fn handle_message(&mut self, _from: u16, frame: &NodeFrame, now: u64) {
        self.received += 1;
        let Some(whole) = self.running() else {
            return;
        };
        let now = Instant::from_nanos(now);
        let taken = whole.handle_gossip(frame.tag, frame.from, &frame.bytes, now);
        let is_unread = matches!(taken, Err(GossipRefused::Malformed(_)));
        // A frame of a node it was not told of may be refused.
        self.malformed += u64::from(is_unread && self.told.contains(&frame.from));
    }

    fn handle_timeout(&mut self, now: u64) {
        if let Some(whole) = &mut self.whole {
            Member::handle_timeout(whole, now);
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        Member::poll_timeout(self.whole.as_ref()?)
    }

    fn poll_send(&mut self) -> Option<(u16, NodeFrame)> {
        Member::poll_send(self.whole.as_mut()?)
    }

    fn bytes(frame: &NodeFrame) -> &[u8] {
        &frame.bytes
    }
}
