//! A member as the shell sees it.
//!
//! Not here: how it is found and lost.

use std::net::SocketAddr;
use std::sync::Arc;

use tollgate_gossip::{NodeId, Writer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: u128,
    pub boot: u64,
    /// Start of the boot, in milliseconds since the epoch by its own clock.
    pub started: u64,
    pub node: NodeId,
    /// Identifies the boot.
    pub writer: Writer,
    pub address: SocketAddr,
    /// Its own description.
    pub about: Arc<About>,
    pub state: MemberState,
}

/// A node's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub name: String,
    pub zone: Option<String>,
    /// Share of the load, relative to the other nodes.
    pub capacity: u32,
    pub version: String,
    /// The highest version of the protocol it supports.
    pub speaks: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    Alive,
    /// It failed to answer a node; it still counts as live.
    Suspect,
}
