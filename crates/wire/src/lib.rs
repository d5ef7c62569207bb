//! Messages to bytes and back, without sockets.
//!
//! Decoders take any input and return a value or a typed refusal, in bounded memory. Names and numbers are those of the
//! protocols; servers convert these messages into the limiter's own types. Deliberately not here: deciding, and
//! anything that waits.
//!
//! - [`resp`]: Redis clients, with the throttle commands of redis-cell and throttlecrab.
//! - [`rls`], [`rlqs`], [`authz`]: Envoy's services; [`envoy`] and [`google`] hold their parts.
//! - [`xds`]: Envoy's descriptor configuration from a management server.
//! - [`gubernator`], [`throttlecrab`]: those servers' messages.
//! - [`v1`], [`problem`]: the bodies of Tollgate's own HTTP interface; [`native`]: its own gRPC service.
//! - [`reflection`]: descriptors of every gRPC service here.
//!
//! Protobuf messages and descriptors are generated from the files in `proto/`, which document each field; those that
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
