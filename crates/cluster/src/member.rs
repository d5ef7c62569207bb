//! A member as others see it.
//!
//! Not here: how it is found and lost.

use std::net::SocketAddr;
use std::sync::Arc;

use tollgate_gossip::{NodeId, Writer};

/// One live node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node, across all its boots.
    pub id: u128,
    /// The boot.
    pub boot: u64,
    /// When the boot began, in milliseconds since the epoch by its own clock.
    pub started: u64,
    /// Its number on the wire.
    pub node: NodeId,
    /// The number of its boot.
    pub writer: Writer,
    /// Where it is reached.
    pub address: SocketAddr,
    /// What it says of itself.
    pub about: Arc<About>,
    /// How sure we are.
    pub state: MemberState,
}

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name people know it by.
    pub name: String,
    /// Where it stands.
    pub zone: Option<String>,
    /// How much it can take, relative to the others.
    pub capacity: u32,
    /// The version of its program.
    pub version: String,
    /// The highest version of the protocol it understands.
    pub speaks: u8,
}

/// How sure we are of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It answers.
    Alive,
    /// It did not answer somebody; it is still counted on.
    Suspect,
}
