//! `tollgate serve` as a process: what it prints, signals, exit codes, ten thousand connections, a kill.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod crowd;
mod disk;
mod files;
mod kit;
mod life;
mod store;
mod store_tls;
