//! gRPC over HTTP/2 on plain TCP, asked by generated clients and by hand.

#![allow(clippy::expect_used)] // Helpers too: a test that cannot begin has failed.

mod authz;
mod others;
mod protocol;
pub(crate) mod quota;
mod rls;
mod rules;
pub(crate) mod server;
mod services;
mod xds;
