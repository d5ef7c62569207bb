//! The real parts of tests: private servers of Redis, `PostgreSQL` and Mosquitto, the certificates they show, a
//! browser, and packages of Python and JavaScript (Envoy among them), and disks that can be full. [`Daemon`] is a
//! server of ours as a process, and [`Wire`] a connection that asks any server by HTTP/1.1 or RESP.
//!
//! Each has free ports and a folder of its own and goes when it is dropped, so that tests run side by side. The
//! programs (`redis-server`, `redis-cli`, `initdb`, `postgres`, `psql`, `mosquitto`, `chromium`, `chromedriver`) must
//! be installed. A part that cannot be had ends the test.
//!
//! Deliberately absent: engines, anything of the product. Whoever tests says what is asked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "only tests and measurements use this crate, and a broken set-up must stop them"
)]

mod browser;
mod cluster;
mod daemon;
mod disk;
mod envoy;
mod javascript;
mod mosquitto;
mod papers;
mod postgres;
mod process;
mod python;
mod redis;
mod sentinels;
mod stalls;
pub mod wire;

pub use browser::{Browser, Viewport};
pub use cluster::RedisCluster;
pub use daemon::Daemon;
pub use disk::SmallDisk;
pub use envoy::envoy;
pub use javascript::{NodePackage, node_modules};
pub use mosquitto::Mosquitto;
pub use papers::Papers;
pub use postgres::Postgres;
pub use process::{PATIENCE, Process, free_port, refused, until, until_within};
pub use python::python_programs;
pub use redis::{Redis, RedisSetup};
pub use sentinels::Sentinels;
pub use stalls::Stalls;
pub use wire::{HttpReply, Wire};
