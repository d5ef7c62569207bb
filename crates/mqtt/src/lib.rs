//! The bytes of MQTT 3.1.1 and 5, as far as a proxy between a client and a broker needs them.
//!
//! [`Frames`] follows packets through a stream without keeping them. [`Connect`], [`Connack`], [`PublishHead`], [`Ack`]
//! and [`Disconnect`] are read in place; [`mod@write`] has the packets that a gateway sends, [`client`] those of a
//! client. [`TopicFilter`] and [`Filters`] match topics.
//!
//! Every reader accepts any bytes: it returns a value, needs more bytes, or refuses with a [`Malformed`].
//! Deliberately absent:
//! sockets, sessions, subscriptions, payloads, and MQTT 3.1.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod ack;
pub mod client;
mod connack;
mod connect;
mod error;
mod filter;
mod filters;
mod frames;
mod header;
mod properties;
mod publish;
mod reader;
pub mod reason;
mod topic;
pub mod write;

pub use ack::{Ack, Disconnect, Suback};
pub use connack::Connack;
pub use connect::{Connect, Version};
pub use error::Malformed;
pub use filter::{BadFilter, LEVELS_MAX, TopicFilter};
pub use filters::Filters;
pub use frames::{Frames, Piece};
pub use header::{Header, PACKET_MAX, PacketKind};
pub use properties::{Properties, Property, PropertyValue};
pub use publish::{PublishHead, Qos};
pub use topic::is_topic;
