//! What can go wrong.
//!
//! Not here: how the world carries it out.

use tollgate_limit::Span;

/// Something that goes wrong. Times are since the first request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldFault {
    /// Every message takes that long, and up to `jitter` longer.
    Delay {
        /// At least.
        base: Span,
        /// At most that much more, each message its own; so they overtake each other.
        jitter: Span,
    },
    /// That many of a million messages are lost.
    Loss(u32),
    /// That many of a million messages come twice.
    Duplication(u32),
    /// Each node's clock is off by up to that much, either way.
    Skew(Span),
    /// One node's clock jumps.
    Jump {
        /// Whose.
        node: u16,
        /// When.
        at: Span,
        /// By how many nanoseconds.
        nanos: i64,
    },
    /// A node is gone for a while; its requests go to the next one.
    Crash {
        /// Which.
        node: u16,
        /// When.
        at: Span,
        /// For how long; zero is a restart at once.
        outage: Span,
        /// Whether it comes back with its memory.
        keeps_state: bool,
    },
    /// Messages from some nodes to some others are lost for a while; the other way they pass unless cut too.
    Cut {
        /// Senders.
        from: Vec<u16>,
        /// Receivers.
        to: Vec<u16>,
        /// From when.
        at: Span,
        /// For how long.
        lasting: Span,
    },
    /// A node is not there before.
    Join {
        /// Which.
        node: u16,
        /// When.
        at: Span,
    },
    /// A node goes for good.
    Leave {
        /// Which.
        node: u16,
        /// When.
        at: Span,
    },
}

impl WorldFault {
    /// When it happens, if it happens once and changes a node.
    pub(crate) fn begins(&self) -> Option<Span> {
        match self {
            Self::Jump { at, .. }
            | Self::Crash { at, .. }
            | Self::Join { at, .. }
            | Self::Leave { at, .. } => Some(*at),
            Self::Delay { .. }
            | Self::Loss(_)
            | Self::Duplication(_)
            | Self::Skew(_)
            | Self::Cut { .. } => None,
        }
    }

    /// The nodes it names.
    pub(crate) fn nodes(&self) -> Vec<u16> {
        match self {
            Self::Jump { node, .. }
            | Self::Crash { node, .. }
            | Self::Join { node, .. }
            | Self::Leave { node, .. } => vec![*node],
            Self::Cut { from, to, .. } => [from.as_slice(), to].concat(),
            Self::Delay { .. } | Self::Loss(_) | Self::Duplication(_) | Self::Skew(_) => Vec::new(),
        }
    }
}
