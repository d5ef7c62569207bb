//! What comes out of a cluster: events, things to send, and reasons to refuse.
//!
//! Not here: counting refusals ([`crate::Refusals`]).

use std::fmt;
use std::net::SocketAddr;

use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Span;

use crate::frame::FrameKind;
use crate::roll::MissingNode;

/// What the shell should know of, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The members are others than before.
    Members,
    /// A replica's frame.
    Gossip {
        /// The sender.
        from: NodeId,
        /// Which policy it is for.
        tag: u64,
        /// The frame, as a replica made it.
        frame: Vec<u8>,
    },
    /// Something else that a peer said.
    Message {
        /// The sender.
        from: NodeId,
        /// What it is.
        kind: FrameKind,
        /// Its content.
        body: Vec<u8>,
    },
    /// This node's numbers were another live node's as well; these are the new ones.
    Renumbered {
        /// The node.
        node: NodeId,
        /// The boot.
        writer: Writer,
    },
    /// This node's generation had to be raised; whoever keeps it on disk writes it down.
    Generation(u64),
    /// Another process that runs for longer has the same identity. This one has fallen silent and must stop.
    IdentityTaken {
        /// Where the other one is.
        at: SocketAddr,
    },
    /// A peer's clock is too far off; what it sends is refused.
    ClockOff {
        /// Its boot.
        boot: u64,
        /// The node, where it is known.
        from: Option<NodeId>,
        /// How far.
        by: Span,
        /// Whether its clock is ahead of ours.
        is_ahead: bool,
    },
    /// Nobody is there: none was found, or the last one is gone.
    Alone,
    /// The first peer is there.
    Joined,
    /// A member came.
    Came {
        /// Its number.
        node: NodeId,
        /// Since when it was missing, in milliseconds since the epoch, where it was.
        since_ms: Option<u64>,
        /// Whether it was there a moment ago, and did not say that it goes.
        is_restart: bool,
    },
    /// A member is gone.
    Gone {
        /// Who it was.
        who: MissingNode,
        /// Whether it said that it goes; it is missing where not.
        is_goodbye: bool,
    },
    /// Another node tells of one that is missing.
    Missing(MissingNode),
    /// Whoever of that name was missing is forgotten.
    Forgotten(String),
}

/// Something to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// The peer, where it is known; always for streams.
    pub node: Option<NodeId>,
    /// How.
    pub via: Via,
    /// A datagram's payload, before it is sealed; a stream's message, before its length is put in front.
    pub bytes: Vec<u8>,
}

/// How something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// In one datagram, sealed under this number.
    Datagram {
        /// Never used before by this boot.
        counter: u64,
    },
    /// Over the peer's stream.
    Stream,
}

/// Why something that arrived was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// It is too short to be a datagram of ours, or it is not one.
    Foreign,
    /// It is of a version that is not understood.
    Version,
    /// It is sealed with a key that is not ours.
    Key,
    /// The seal is broken.
    Seal,
    /// It came before.
    Replayed,
    /// Its sender's clock is too far from ours.
    Clock,
    /// It was sealed for another boot.
    Misdirected,
    /// It came from this very node.
    Echo,
    /// Its content cannot be read.
    Malformed,
    /// The sender is no member.
    Stranger,
    /// Its sender says that it is somebody else.
    Liar,
    /// There are more senders than can be told apart.
    Crowded,
    /// This node has left, or its identity is another's.
    Silent,
}

impl Refused {
    /// Every reason, in order.
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

/// A peer's stream has no room for a message: it would have to wait behind too much. Nothing was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFull;

impl fmt::Display for StreamFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer's stream is full, or there is no such peer")
    }
}

impl std::error::Error for StreamFull {}
