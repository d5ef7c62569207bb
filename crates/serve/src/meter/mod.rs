//! What happened, counted: decisions, refusals, connections, bytes; and which keys come most.
//!
//! Counting must cost a decision next to nothing: no lock, and no line of memory that two threads write.

use tollgate_node::Answer;

/// Counts what happens.
pub struct Meter {}

impl Meter {
    /// Nothing happened yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self {}
    }

    /// A request was decided by contracts.
    pub fn decided(&self, _answer: &Answer) {}

    /// Something happened that has a counter of its own.
    pub fn count(&self, _event: Event) {}
}

/// What has a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection was opened.
    Opened(Door),
    /// A connection was closed.
    Closed(Door),
    /// A connection or request was turned away because there were too many.
    Shed(Door),
    /// Somebody sent what the protocol does not allow.
    Malformed(Door),
    /// Somebody was too slow.
    TimedOut(Door),
    /// Somebody had no credential, or a wrong one.
    Unauthorized(Door),
}

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// HTTP of any kind, but for gRPC.
    Http,
    /// gRPC.
    Grpc,
    /// RESP.
    Resp,
}
