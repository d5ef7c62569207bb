//! The real parts of tests: private servers of Redis, `PostgreSQL` and Mosquitto, the certificates they show, a
//! browser, and packages of Python and JavaScript (Envoy among them), and disks that can be full.
//!
//! Each has free ports and a folder of its own and goes when it is dropped, so that tests run side by side. The
//! programs (`redis-server`, `redis-cli`, `initdb`, `postgres`, `psql`, `mosquitto`, `chromium`, `chromedriver`) must
//! be installed. A part that cannot be had ends the test.
//!
//! Deliberately absent: clients, engines, anything of the product. Whoever tests says what is asked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "only tests and measurements use this crate, and a broken set-up must stop them"
)]

mod browser;
mod cluster;
mod disk;
mod envoy;
mod http;
mod javascript;
mod mosquitto;
mod papers;
mod postgres;
mod process;
mod python;
mod redis;
mod sentinels;
mod stalls;

pub use browser::{Browser, Viewport};
pub use cluster::Cluster;
pub use disk::SmallDisk;
pub use envoy::envoy;
pub use http::HttpAnswer;
pub use javascript::{NodePackage, node_modules};
pub use mosquitto::Mosquitto;
pub use papers::Papers;
pub use postgres::Postgres;
pub use process::{PATIENCE, free_port, until};
pub use python::python_programs;
pub use redis::{Redis, Setup};
pub use sentinels::Sentinels;
pub use stalls::Stalls;
