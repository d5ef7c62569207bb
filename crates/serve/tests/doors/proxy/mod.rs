//! Proxies that ask Tollgate first: real nginx, Caddy and `HAProxy` with the files that are shipped, and the paths they
//! ask, asked by hand.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test says what it expects"
)]

mod auth;
mod caddy;
mod compat;
mod garbage;
mod haproxy;
mod kit;
mod nginx;
