//! The engine on real servers, each started for one test alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken set-up must stop the test"
)]

mod cluster;
mod failover;
mod failures;
mod kit;
mod lifetimes;
mod sentinel;
mod single;
mod tls;
