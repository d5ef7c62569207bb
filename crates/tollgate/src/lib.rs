//! The parts of the `tollgate` binary that its own tests and benchmarks also drive.
//!
//! Nothing here is a library for applications; those link the client crate.

pub mod bench;
pub mod check;
pub mod civil;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod failure;
pub mod gateway;
pub mod generate;
pub mod lab;
pub mod manage;
pub mod progress;
pub mod replay;
pub mod report;
pub mod serve;
pub mod tail;
pub mod top;
pub mod trace;
pub mod usage;
