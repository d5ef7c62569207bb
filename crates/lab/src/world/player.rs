//! A node of the world as a member of its network, and what it was told.
//!
//! Not here: the node itself, which is the daemon's, and how it comes and goes.

use std::collections::VecDeque;

use tollgate_gossip::{Footprint, NodeId, Writer};
use tollgate_limit::Instant;
use tollgate_node::GossipRefused;

use super::owned::{OwnedPart, OwnerFrame, WorldStore};
use crate::nodes::{Member, NodeFrame, Whole};

/// What nodes of the world say to each other.
#[derive(Clone, Debug)]
pub(crate) enum PlayerFrame {
    /// Of a mode.
    Mode(NodeFrame),
    /// About keys that another node, or a store, decides.
    Owned(OwnerFrame),
}

/// One node, or the store.
#[derive(Default)]
pub(crate) struct Player {
    /// The node; one that was never there, or lost its memory, is none.
    pub(crate) whole: Option<Whole>,
    /// Its part in owning keys, where keys have owners or a store.
    pub(crate) owned: Option<Box<OwnedPart>>,
    /// The store that it is, where it is none.
    pub(crate) store: Option<WorldStore>,
    /// What the store has to say.
    pub(crate) said: VecDeque<(u16, OwnerFrame)>,
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
        let whole = self.running()?;
        let (mut footprint, _) = whole.gossip_state();
        if self.owned.is_some() {
            footprint.local += whole.cells_count() as u64 * CELL_BYTES;
        }
        Some(footprint)
    }

    /// Whether it has nothing left to say.
    pub(crate) fn is_quiet(&self) -> bool {
        self.running().is_none_or(|whole| whole.gossip_state().1)
    }
}

impl Member for Player {
    type Message = PlayerFrame;

    fn is_up(&self) -> bool {
        self.store.is_some() || self.running().is_some()
    }

    fn handle_message(&mut self, from: u16, frame: &PlayerFrame, now: u64) {
        self.received += 1;
        if let (Some(store), PlayerFrame::Owned(frame)) = (&mut self.store, frame) {
            let said = store.handle(from, frame);
            return self.said.extend(said.map(|said| (from, said)));
        }
        let Some(whole) = self.whole.as_ref().filter(|whole| whole.is_up) else {
            return;
        };
        let frame = match (frame, &mut self.owned) {
            (PlayerFrame::Mode(frame), _) => frame,
            (PlayerFrame::Owned(frame), Some(owned)) => {
                owned.handle(&whole.node, from, frame, now);
                return owned.handle_timeout(&whole.node, now);
            }
            (PlayerFrame::Owned(_), None) => return,
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
            if let Some(owned) = &mut self.owned {
                owned.handle_timeout(&whole.node, now);
            }
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let whole = self.whole.as_ref()?;
        let owned = self.owned.as_ref().map(|owned| owned.poll_timeout());
        let owned = owned.filter(|due| *due < u64::MAX);
        Member::poll_timeout(whole).into_iter().chain(owned).min()
    }

    fn poll_send(&mut self) -> Option<(u16, PlayerFrame)> {
        let own = self.owned.as_mut().and_then(|owned| owned.out.pop_front());
        if let Some((to, frame)) = own.or_else(|| self.said.pop_front()) {
            return Some((to, PlayerFrame::Owned(frame)));
        }
        let (to, frame) = Member::poll_send(self.whole.as_mut()?)?;
        Some((to, PlayerFrame::Mode(frame)))
    }

    fn bytes(frame: &PlayerFrame) -> &[u8] {
        match frame {
            PlayerFrame::Mode(frame) => &frame.bytes,
            PlayerFrame::Owned(frame) => frame.bytes(),
        }
    }
}

/// What a cell takes, about.
const CELL_BYTES: u64 = 32;
