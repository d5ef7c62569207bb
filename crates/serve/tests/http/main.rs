//! The HTTP door, from outside: real sockets, real clients.

mod agree;
mod describe;
mod framing;
mod http2;
mod kit;
mod limits;
mod schemathesis;
mod v1;
