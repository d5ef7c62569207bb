//! Membership and the protocol between nodes, up to the bytes before they are sealed.
//!
//! [`Cluster`] is one node's part. Opened datagrams, messages of streams and time go in; payloads to seal and send, and
//! events, come out. Membership is SWIM (by `foca`); besides, every peer has a measured delay and a graded freshness.
//!
//! Not here: sockets, clocks, randomness, cryptography. The frames of the designs (`tollgate-gossip`) is
//! opaque here.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod bytes;
mod cap;
mod clock;
mod cluster;
mod config;
mod dice;
mod event;
mod frame;
mod fresh;
mod link;
mod member;
mod number;
pub mod owner;
mod peer;
mod probe;
mod replay;
mod roll;
mod status;
mod swim;

pub use cluster::Cluster;
pub use config::{ClusterConfig, FailureTiming};
pub use event::{Event, Refused, StreamFull, Transmit, Via};
pub use frame::{DATAGRAM_OVERHEAD, FrameKind, MESSAGE_BYTES_MAX, OLDEST_VERSION, VERSION};
pub use member::{About, Member, MemberState};
pub use owner::OwnerKey;
pub use roll::MissingNode;
pub use status::{ClusterStatus, Freshness, Grade, LinkTraffic, PeerStatus, Refusals};
