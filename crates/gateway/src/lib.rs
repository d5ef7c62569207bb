//! A gateway in front of an MQTT broker: publishers connect to it as if it were the broker.
//!
//! Each client has a connection of its own to the broker, and every byte passes as it came, both ways, but for PUBLISH
//! packets of clients: contracts decide whether one passes, waits, or is refused. [`start`] runs a gateway; `uplink` is
//! the machine that follows a client's packets, without sockets or clocks. A gateway is a listener of the server: it
//! uses
//! the server's engine.
//!
//! Deliberately absent: sessions, subscriptions and messages (the broker has them), deciding (`tollgate-serve`), web
//! sockets and several brokers.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod aliases;
mod buffer;
mod connection;
mod crowd;
mod down;
mod ids;
mod judge;
mod log;
mod meter;
mod outbox;
mod placement;
mod places;
mod probe;
mod run;
mod settings;
mod stamps;
mod stream;
mod tls;
mod up;
mod uplink;

pub use judge::{Idle, JudgeError, check};
pub use placement::{BadPlacement, Placement, WEIGHT_MAX};
pub use run::{Running, StartError, start};
pub use settings::{ArrivalTime, GatewaySettings, OnQuietRefusal, PlacementList, UpstreamTls};
pub use tls::SealError;
