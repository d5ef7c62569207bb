//! The server: listeners, and the engine they share.
//!
//! Every listener turns requests of its protocol into one of the questions of [`engine::Turn`], and the answer back
//! into its protocol. Deliberately absent: deciding (`tollgate-node`), bytes of protocols (`tollgate-wire`), and the
//! command line (`tollgate`).

#![allow(missing_docs, reason = "internal: comments say why, not what")]

pub mod access;
pub mod annex;
pub mod auth;
pub mod catalogue;
pub mod cluster;
pub mod database;
pub mod desk;
pub mod durable;
pub mod engine;
pub mod grpc;
pub mod guard;
pub mod gubernator;
pub mod http;
pub mod lend;
pub mod listen;
pub mod logs;
pub mod meter;
pub mod modes;
pub mod owner;
pub mod resp;
pub mod rls;
pub mod run;
pub mod settings;
pub mod shared;
pub mod source;
mod state;
pub mod statistics;
pub mod store;
pub mod supply;
pub mod tail;
pub mod throttle;
pub mod traces;
mod troubles;
mod unsent;
pub mod upstream;
mod value;
pub mod xds;
