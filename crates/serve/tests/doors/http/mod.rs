//! HTTP, from outside: real sockets, real clients.

#![allow(clippy::expect_used)] // Whatever a test cannot do without must be there.

mod agree;
mod describe;
mod desk;
mod framing;
mod http2;
pub(crate) mod kit;
mod limits;
mod safe;
mod schemathesis;
mod tail;
mod v1;
