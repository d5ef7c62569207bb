//! What modes and people read of the control plane: a value that many threads share, made again when something changes.
//!
//! Not here: how it is shared.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::roster::{NodeInfo, RosterNode};
use crate::state::ControlState;

/// The control plane as one node knows it.
#[derive(Clone, Debug)]
pub struct ControlView {
    /// The cluster; zero before there is one.
    pub cluster: u64,
    /// This node's number.
    pub me: u64,
    /// The term of the leader that is known.
    pub term: u64,
    /// The name of the leader, where it is known.
    pub leader: Option<String>,
    /// Whether this node leads, and until when it is sure of that by its own steady clock.
    pub lead_until: Option<u64>,
    /// The numbers of the voters.
    pub voters: Vec<u64>,
    /// How much of the log is applied.
    pub applied: u64,
    /// Whether the disk does not take what is written: this node does not vote.
    pub is_disk_failed: bool,
    pub(crate) state: Arc<ControlState>,
    pub(crate) place: Option<u16>,
    /// Until when this node is sure of what it is in charge of.
    pub(crate) until: Option<u64>,
    /// Slots that it has stopped to be in charge of.
    pub(crate) stopped: Arc<BTreeMap<u16, u64>>,
}

/// Who is in charge of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InCharge<'a> {
    /// The node; none before there is one.
    pub node: Option<&'a NodeInfo>,
    /// Since which epoch.
    pub epoch: u64,
    /// Until when this node is sure of being in charge, by its own steady clock; none where another node is.
    pub until: Option<u64>,
}

impl InCharge<'_> {
    /// Whether this node is surely in charge now.
    pub fn is_sure(&self, now: u64) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

impl ControlView {
    /// Who is in charge of a slot, since which epoch, and until when this node is sure that it is itself.
    pub fn in_charge(&self, slot: u16) -> InCharge<'_> {
        let Some(slot_now) = self.state.slot(slot) else {
            return InCharge {
                node: None,
                epoch: 0,
                until: None,
            };
        };
        let node = self.state.nodes().get(&slot_now.in_charge);
        let is_mine = self.place == Some(slot_now.in_charge);
        let hand = slot_now.handing.map(|handing| handing.index);
        let is_stopped = hand.is_some() && self.stopped.get(&slot).copied() == hand;
        InCharge {
            node: node.map(|node| &node.info),
            epoch: slot_now.epoch,
            until: self.until.filter(|_| is_mine && !is_stopped),
        }
    }

    /// The node that has the second copy of a slot.
    pub fn standby(&self, slot: u16) -> Option<&RosterNode> {
        self.state.nodes().get(&self.state.slot(slot)?.standby)
    }

    /// What is agreed on.
    pub fn state(&self) -> &Arc<ControlState> {
        &self.state
    }

    /// Slots that this node has handed over and is asked to hand over, with the places of those commands.
    pub fn stopped(&self) -> &Arc<BTreeMap<u16, u64>> {
        &self.stopped
    }

    /// Until when this node is sure of what it is in charge of, by its own steady clock; none while it is not.
    pub fn sure_until(&self) -> Option<u64> {
        self.until
    }
}
