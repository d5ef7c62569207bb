//! Buckets that many nodes count together: every node decides at once from what it knows, and news spreads behind.
//!
//! A [`Replica`] is one node's part in one policy. It holds a [`Design`], the way the nodes agree; [`Kind`] names them
//! all. Requests, frames, timeouts and changes of membership go in; verdicts and frames to send come out. Nothing here
//! reads a clock, draws from the system's randomness or opens a socket, so the daemon and the lab drive the same types.
//!
//! Deliberately not here: who is alive (membership is told), retransmission (designs repair themselves), and the
//! names of keys, which arrive as 16-byte fingerprints.

mod bucket;
mod bytes;
mod codec;
mod home;
mod kind;
mod links;
mod list;
mod machine;
mod part;
mod replica;
mod segments;
mod setup;
mod spare;
mod talk;
mod windows;

pub use bucket::{BadBucket, Bucket, Mark};
pub use bytes::{Decoder, Encoder};
pub use codec::{AHEAD_NS_MAX, FRAME_BYTES_MAX, Header, SEQUENCE_MAX, latest};
pub use home::collectors;
pub use kind::Kind;
pub use machine::{Exchange, Machine, UsedUp, move_time};
pub use part::{Begin, CustomDesign, Gossip};
pub use replica::{Design, Replica};
pub use setup::{Knobs, Ratio, Setup};
pub use tollgate_mode::{
    Footprint, Key, Malformed, NodeId, Probe, Saved, Send, Sort, Standing, Verdict, Writer, planted,
};
pub use windows::{BadWindow, Bounds, Calendar, Shape, Window, WindowReplica};
