//! What a node's part in the control plane wants done or known.
//!
//! Not here: who does it.

use crate::command::ControlError;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// A command was applied at a place of the log; a hash of its bytes.
    Committed {
        /// The place.
        index: u64,
        /// The hash.
        hash: u64,
    },
    /// The roster, the slots or what this node is sure of have changed: make the view again.
    Changed,
    /// This node is to hand a slot over, then to call `handed`.
    HandOver {
        /// Which.
        slot: u16,
        /// Its epoch so far.
        epoch: u64,
        /// The name of the next node in charge.
        to: String,
    },
    /// What became of a command that was asked for here.
    Outcome {
        /// The number it was asked with.
        ticket: u64,
        /// What became of it.
        result: Result<(), ControlError>,
    },
    /// This node leads.
    Leads {
        /// In which term.
        term: u64,
    },
    /// This node founded a cluster with others, or became part of one.
    Joined {
        /// The cluster's number.
        cluster: u64,
    },
    /// The disk is an old one or a copy: this node joins again under a new number.
    NewIdentity,
    /// A node of another cluster sends frames.
    OtherCluster {
        /// Its cluster.
        cluster: u64,
    },
    /// The leader does not take this node in.
    Refused(ControlError),
    /// The disk does not take what is written: this node votes no more until it does.
    DiskFailed,
    /// The disk works again.
    DiskWorks,
}
