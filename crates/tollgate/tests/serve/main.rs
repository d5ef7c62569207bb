//! `tollgate serve` as a process: what it prints, signals, exit codes, ten thousand connections, a kill.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod catalogue;
mod clock;
mod crowd;
mod disk;
mod envoy;
#[path = "../cluster/faked.rs"]
mod faked;
mod files;
mod fit;
mod gateway;
mod hostile;
mod kit;
mod languages;
mod leases;
mod life;
mod logs;
mod manage;
mod million;
mod pasted;
mod statistics;
mod store;
mod store_tls;
mod unit;
