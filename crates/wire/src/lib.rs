//! Messages to bytes and back, without sockets.
//!
//! Decoders take whatever a stranger sends and end in a value or a typed refusal, in bounded
//! memory. Names and numbers are those of the protocols; whoever serves them turns these messages
//! into the limiter's own types. Deliberately not here: deciding, and anything that waits.
//!
//! - [`resp`]: Redis clients, with the throttle commands of redis-cell and throttlecrab.
//! - [`rls`], [`rlqs`], [`authz`]: what Envoy sends and understands; [`envoy`] and [`google`] hold their parts.
//! - [`xds`]: how Envoy's descriptor configuration comes from a management server.
//! - [`gubernator`], [`throttlecrab`]: those servers' messages.
//! - [`v1`], [`problem`]: the bodies of Tollgate's own HTTP interface; [`native`]: its own gRPC service.
//! - [`reflection`]: descriptors of every gRPC service here.
//!
//! Protobuf messages and descriptors are made from the files in `proto/`, which say what each field means; those that
//! also have a JSON form carry it as serde attributes.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

pub mod authz;
pub mod envoy;
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::pedantic,
    reason = "generated; the files in `proto/` say what messages and fields mean"
)]
mod generated;
pub mod google;
pub mod gubernator;
mod json;
pub mod native;
pub mod problem;
pub mod reflection;
pub mod resp;
pub mod rlqs;
pub mod rls;
pub mod throttlecrab;
pub mod v1;
pub mod xds;
