//! A proxy between processes that delays, loses, doubles, reorders and cuts what passes, over UDP and TCP.
//!
//! Every node of a cluster tells the others an address of the [`Mesh`] as its own. The mesh knows who sends by the port
//! a datagram comes from, so that each direction of each pair has a [`DatagramConditions`] of its own, which may change
//! at any time. One seed decides every loss and every delay of a link; how the links of a run interleave is up to the
//! processes.
//!
//! Deliberately not here: what the bytes mean, and the processes themselves. A [`Script`] may name them, and whoever
//! started them carries that out.

mod datagrams;
mod links;
mod mesh;
mod queue;
mod script;
mod streams;
mod whose;

pub use links::{DatagramConditions, DatagramCounts};
pub use mesh::Mesh;
pub use script::{BadScript, Change, ProcessFault, Script, ScriptStep};
