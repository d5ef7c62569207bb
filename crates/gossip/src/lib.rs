//! Buckets and windows that many nodes count together: every node decides at once from what it knows, and reports what
//! is too much to be silent about.
//!
//! A node counts what it admits silently, up to its share of the room that it sees; beyond that it reports the tokens
//! to every other node at once. Reports are deltas in numbered frames, and a link applies each number once, so a key
//! needs no history: what is known of it is one level. A calm key takes a cell, a busy one a record, and links the same
//! however many keys there are. [`Gossip`] is the mode; nothing here reads a clock, draws from the system's randomness
//! or opens a socket, so the daemon and the lab drive the same type.
//!
//! Deliberately not here: who is alive (membership is told), the names of keys, which arrive as 16-byte fingerprints,
//! and relays and hubs, which spread reports in other ways.

mod boots;
mod bucket;
mod buckets;
mod bytes;
mod cell;
mod interval;
mod join;
mod keep;
mod kind;
mod law;
mod level;
mod link;
mod log;
mod machine;
mod meet;
mod ours;
mod part;
mod post;
mod saved;
mod setup;
mod slices;
mod stream;
#[cfg(test)]
mod tests;
mod upkeep;
mod window;
mod windows;
mod wire;

pub use bucket::{BadBucket, Bucket, Mark};
pub use bytes::{Decoder, Encoder};
pub use kind::Gossip;
pub use setup::{Knobs, Ratio};
pub use tollgate_mode::{
    Footprint, Malformed, ModeKey, ModeProbe, ModeVerdict, NodeId, Saved, Send, Standing, Writer,
    planted,
};
