//! Proxies that ask Tollgate first: real nginx, Caddy, `HAProxy` and Envoy with the files that are shipped, and the
//! paths they ask, asked by hand.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test says what it expects"
)]

mod auth;
mod caddy;
mod compat;
pub(crate) mod envoy;
mod garbage;
mod haproxy;
mod kit;
mod nginx;
mod rlqs;
