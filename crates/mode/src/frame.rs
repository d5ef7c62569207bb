//! What a mode puts out: frames for other nodes, and what must survive a crash.
//!
//! Not here: the encodings, which each mode has of its own.

use std::fmt;
use std::sync::Arc;

use tollgate_limit::Instant;

use crate::ids::NodeId;

/// The version of every frame between nodes.
pub const VERSION: u8 = 1;

/// A frame to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// The node it is for.
    pub to: NodeId,
    /// Its bytes, shared by all who get the same.
    pub frame: Arc<[u8]>,
}

/// Bytes of state, by the encoding in the documentation of each mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// What decisions are made from.
    pub local: u64,
    /// What is kept for others: delta states, copies, collected reports.
    pub extra: u64,
}

/// What must not be lost of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// For the boot after this one.
    pub bytes: Vec<u8>,
    /// From when on they say no more than nothing would.
    pub fresh_at: Instant,
}

/// Why a frame was not taken; nothing of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It ends before its content does.
    Truncated,
    /// It goes on after its content.
    Trailing,
    /// It is longer than any frame may be.
    TooLong,
    /// It is of another version of the encoding.
    Version(u8),
    /// No such kind of frame.
    Kind(u8),
    /// A number is out of range, or a list not in order.
    Value,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the frame is cut short"),
            Self::Trailing => f.write_str("bytes follow the end of the frame"),
            Self::TooLong => f.write_str("the frame is longer than any frame may be"),
            Self::Version(version) => write!(f, "encoding version {version}, expected {VERSION}"),
            Self::Kind(kind) => write!(f, "no frame is of kind {kind}"),
            Self::Value => f.write_str("a number is out of range or a list out of order"),
        }
    }
}

impl std::error::Error for Malformed {}
