//! Rate-limit header fields and problems for HTTP clients, and their addresses behind trusted proxies.
//!
//! The server, the gateway's admin API and the layer of the library share this. A [`LimitReport`] says how the policies
//! stand after an answer; header fields and the problem document of a refusal are made from it. [`ClientAddress`] finds
//! the client of a request by headers of trusted proxies. Deliberately not here: requests and responses, deciding, and
//! clocks.

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
