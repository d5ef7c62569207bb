//! Real servers for tests: private Redis, `PostgreSQL` and Mosquitto, their certificates, a
//! browser, and packages of Python and JavaScript (Envoy among them), and disks that can be full. [`Daemon`] is a
//! Tollgate server as a process, and [`Wire`] a client connection for HTTP/1.1 or RESP.
//!
//! Each has its own free ports and folder and is removed when dropped, so that tests can run in parallel. The
//! programs (`redis-server`, `redis-cli`, `initdb`, `postgres`, `psql`, `mosquitto`, `chromium`, `chromedriver`) must
//! be installed. A missing program fails the test.
//!
//! Deliberately absent: engines, anything of the product. Tests choose the requests.

#![allow(missing_docs, reason = "internal: comments say why, not what")]
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
