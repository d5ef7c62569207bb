//! A proxy between processes that delays, drops, duplicates, reorders and partitions UDP and TCP traffic.
//!
//! Every node of a cluster advertises an address of the [`Mesh`]. The mesh knows the sender by the port
//! a datagram comes from, so that each direction of each pair has a [`DatagramConditions`] of its own, which may change
//! at any time. One seed decides every loss and every delay of a link; how the links of a run interleave is up to the
//! processes.
//!
//! Deliberately not here: what the bytes mean, and the processes themselves. A [`Script`] may name them, and
//! the caller that started them executes these steps.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

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
