//! RESP over real sockets: stock clients, raw bytes, and clients that misbehave.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod auth;
mod bytes;
mod clients;
mod commands;
mod ends;
pub(crate) mod kit;
mod transactions;
