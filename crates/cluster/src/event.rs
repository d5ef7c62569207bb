//! What comes out of a cluster: events, transmits, and reasons to refuse.
//!
//! Not here: counting refusals ([`crate::Refusals`]).

use std::fmt;
use std::net::SocketAddr;

use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Span;

use crate::frame::FrameKind;
use crate::roll::MissingNode;

/// Polled oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The set of members changed.
    Members,
    Gossip {
        from: NodeId,
        tag: u64,
        frame: Vec<u8>,
    },
    /// A message of another kind from a peer.
    Message {
        from: NodeId,
        kind: FrameKind,
        body: Vec<u8>,
    },
    /// Another live node had this node's numbers too; these are the new ones.
    Renumbered {
        node: NodeId,
        writer: Writer,
    },
    /// This node's generation was raised; the shell must store it.
    Generation(u64),
    /// An older process has the same identity. This one is silent now and must stop.
    IdentityTaken {
        at: SocketAddr,
    },
    /// A peer's clock is too far off; its datagrams are refused.
    ClockOff {
        boot: u64,
        /// `None` if the boot is not that of a member.
        from: Option<NodeId>,
        by: Span,
        /// Whether its clock is ahead of this node's.
        is_ahead: bool,
    },
    /// No peer was found, or the last one is gone.
    Alone,
    Joined,
    Came {
        node: NodeId,
        /// Set if it was missing: since when, in milliseconds since the epoch.
        since_ms: Option<u64>,
        /// It was a member a moment ago, and left without a goodbye.
        is_restart: bool,
    },
    Gone {
        who: MissingNode,
        /// Without a goodbye it is missing.
        is_goodbye: bool,
    },
    /// Another node reports a missing one.
    Missing(MissingNode),
    /// The missing node of that name is forgotten.
    Forgotten(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub to: SocketAddr,
    /// The peer, if known; always for streams.
    pub node: Option<NodeId>,
    pub via: Via,
    /// A datagram's payload, before it is sealed; a stream's message, without its length prefix.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    Datagram {
        /// Used only once per boot.
        counter: u64,
    },
    Stream,
}

/// Why something that arrived was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// Too short, or not a datagram of this protocol.
    Foreign,
    /// A version that this node does not support.
    Version,
    /// Sealed with an unknown key.
    Key,
    /// The seal does not verify.
    Seal,
    /// Received before.
    Replayed,
    /// The sender's clock is too far from ours.
    Clock,
    /// It was sealed for another boot.
    Misdirected,
    /// Sent by this node itself.
    Echo,
    /// The content does not parse.
    Malformed,
    /// The sender is not a member.
    Stranger,
    /// The sender claims the identity of another node.
    Liar,
    /// Too many senders to track.
    Crowded,
    /// This node has left, or another process owns its identity.
    Silent,
}

impl Refused {
    pub const ALL: [Self; 13] = [
        Self::Foreign,
        Self::Version,
        Self::Key,
        Self::Seal,
        Self::Replayed,
        Self::Clock,
        Self::Misdirected,
        Self::Echo,
        Self::Malformed,
        Self::Stranger,
        Self::Liar,
        Self::Crowded,
        Self::Silent,
    ];

    /// The name in metrics and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::Version => "version",
            Self::Key => "key",
            Self::Seal => "seal",
            Self::Replayed => "replayed",
            Self::Clock => "clock",
            Self::Misdirected => "misdirected",
            Self::Echo => "echo",
            Self::Malformed => "malformed",
            Self::Stranger => "stranger",
            Self::Liar => "liar",
            Self::Crowded => "crowded",
            Self::Silent => "silent",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "not a datagram of this cluster",
            Self::Version => "a version of the protocol that is not understood",
            Self::Key => "sealed with another key",
            Self::Seal => "the seal is broken",
            Self::Replayed => "it came before",
            Self::Clock => "the sender's clock is more than a minute off",
            Self::Misdirected => "meant for another boot",
            Self::Echo => "sent by this node itself",
            Self::Malformed => "its content cannot be read",
            Self::Stranger => "the sender is not a member",
            Self::Liar => "the sender claims another's identity",
            Self::Crowded => "too many senders",
            Self::Silent => "this node has left the cluster",
        })
    }
}

impl std::error::Error for Refused {}

/// A peer's stream has no room for a message: too much is queued before it. The message was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFull;

impl fmt::Display for StreamFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer's stream is full, or there is no such peer")
    }
}

impl std::error::Error for StreamFull {}
