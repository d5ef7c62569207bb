//! What a link must know of its node: how far it is, how long things take, and the frame that was just made.
//!
//! Not here: what a link does with it.

use tollgate_limit::Span;

use super::law::LinkEntry;
use super::log::{Log, Merge};

/// How long things take on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTiming {
    /// An acknowledgement may wait that long.
    pub(super) ack: Span,
    /// The way there and back, and a little.
    pub(super) trip: Span,
}

impl LinkTiming {
    /// A frame that nobody acknowledges is sent again after that.
    pub(super) const fn first_wait(self) -> Span {
        Span::from_nanos(self.ack.as_nanos() + self.trip.as_nanos())
    }
}

/// What a link must know of this node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ours {
    /// The number of its last frame.
    pub(super) number: u64,
    pub(super) pace: LinkTiming,
}

/// A frame that was just made, and what it says where it has to wait.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) number: u64,
    pub(super) entries: &'a [LinkEntry],
    pub(super) merge: Merge<'a>,
    pub(super) log: &'a Log,
    pub(super) pace: LinkTiming,
}

/// What becomes of a frame that was just made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Send,
    Wait,
}
