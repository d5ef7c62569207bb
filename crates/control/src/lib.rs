//! The control plane: which nodes belong to the cluster, and which node is in charge of which slot of the key space.
//!
//! A few of the nodes vote (Raft); the others learn. The leader renews the right of every node to act: a node in charge
//! knows by its own steady clock until when it is *sure*, and its successor is named only when that is over or when it
//! said that it stopped. Decisions never wait for any of this: they read a [`ControlView`].
//!
//! [`Control`] is one node's part. Time, frames and answers of the disk go in; frames, bytes to write and events come
//! out. Not here: sockets, files, clocks, seals, and what modes do when they are not sure.

mod bytes;
mod command;
mod config;
mod event;
mod file;
mod frame;
mod log;
mod machine;
mod roster;
mod slots;
mod state;
mod view;

pub use command::{ControlCommand, ControlError, SlotStop};
pub use config::ControlConfig;
pub use event::ControlEvent;
pub use file::{ControlDisk, DiskError};
pub use frame::{CONTROL_FRAME_MAX, ControlFrame};
pub use machine::{Control, ControlSend, ControlStart, ControlTime, ControlWrite};
pub use roster::{NodeInfo, NodeState, RosterNode};
pub use slots::{Handing, SLOTS, Slot, SlotMove, slot_of};
pub use state::{ControlState, NODES_MAX};
pub use view::{ControlView, InCharge};
