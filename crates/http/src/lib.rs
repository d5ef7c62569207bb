//! What HTTP clients are told about their quota, and who they are behind trusted proxies.
//!
//! The server, the gateway's management API and the layer of the library share this. A [`LimitReport`] says how the
//! policies stand after an answer; header fields and the problem document of a refusal are made of it.
//! [`ClientAddress`] finds the client of a request by headers of proxies that are trusted. Deliberately not here:
//! requests and responses, deciding, and clocks.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod address;
mod headers;
mod label;
mod network;
pub mod problem;
mod report;
mod value;

pub use address::{ClientAddress, ForwardingHeader, Trust};
pub use headers::merge;
pub use network::{Network, NetworkError};
pub use report::{Decider, LimitReport};
