//! Redis as the engine that decides for many nodes: a single server, a primary behind Sentinels, or a Cluster.
//!
//! One script call decides a request by all policies of its contract. The script compares and adds, and answers with
//! what it found; everything else is derived by the code that decides in memory, which also checks the
//! script's verdict. What the script cannot represent exactly is decided here and written if nothing changed
//! meanwhile. See
//! `exact.rs` for why it never rounds, and docs/store.md for the design.
//!
//! Deliberately absent: fallback answers (`tollgate-serve`), and other engines
//! (`tollgate-store-sql`).

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod clock;
mod config;
mod decide;
mod dial;
mod engine;
mod exact;
mod failure;
mod figures;
mod head;
mod lanes;
mod ledger;
mod link;
mod name;
mod pack;
mod reply;
mod scripts;
mod shapes;
mod together;

pub use config::{BadAddress, Config, Servers, Tls};
pub use engine::Redis;
pub use figures::RedisFigures;
