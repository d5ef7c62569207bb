//! Buckets that many nodes count together: every node decides at once from what it knows, and news spreads behind.
//!
//! A [`Replica`] is one node's part in one policy. It holds a [`Design`], the way the nodes agree; [`Kind`] names them all.
//! Requests, frames, timeouts and changes of membership go in; verdicts and frames to send come out. Nothing here
//! reads a clock, draws from the system's randomness or opens a socket, so the daemon and the lab drive the same types.
//!
//! Deliberately not here: who is alive (membership is told), retransmission (designs repair themselves), and the
//! names of keys, which arrive as 16-byte fingerprints.

mod alone;
mod bucket;
mod bytes;
mod codec;
mod counter;
mod home;
mod ids;
mod kind;
mod list;
mod machine;
#[cfg(feature = "planted")]
#[doc(hidden)]
pub mod plant;
mod queue;
mod replica;
mod rounds;
mod segments;
mod setup;
mod sort;
mod spare;
mod talk;
mod windows;

pub use bucket::{BadBucket, Bucket, Mark};
pub use bytes::{Decoder, Encoder};
pub use codec::Malformed;
pub use home::collectors;
pub use ids::{Key, NodeId, Writer};
pub use kind::{Kind, UnknownKind};
pub use machine::Machine;
pub use replica::{Design, Footprint, Probe, Replica, Saved, Send, Standing, Verdict};
pub use setup::{Knobs, Ratio, Setup};
pub use sort::Sort;
pub use windows::{BadWindow, Bounds, Calendar, Shape, Window, WindowReplica};

/// Chooses the wrong expression when the bug of that name is planted, and otherwise the right one.
#[cfg(feature = "planted")]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($name:literal, $right:expr, $wrong:expr) => {
        if $crate::plant::is($name) {
            $wrong
        } else {
            $right
        }
    };
}

/// The right expression: no bug is ever planted in this build.
#[cfg(not(feature = "planted"))]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($name:literal, $right:expr, $wrong:expr) => {
        $right
    };
}
