//! Storage of contracts, plans and assignments, with their history and tokens: `SQLite` or
//! `PostgreSQL`.
//!
//! [`Database`] is the handle. Contracts and plans are in memory, as of one revision ([`Database::snapshot`]);
//! assignments are looked up key by key ([`Database::lookup`]). Every write is one transaction that checks, changes and
//! records ([`Database::put`]), and every call ends by its deadline with an answer or a typed [`Error`].
//!
//! Deliberately absent: the meaning and consistency of documents (`tollgate-catalogue`), listeners, and
//! polling.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod access;
mod audit;
mod change;
mod connection;
mod database;
mod error;
mod import;
mod migrate;
mod pool;
mod read;
mod sessions;
mod shapes;
mod snapshot;
mod write;

pub use access::{AdminToken, NewToken, Role, digest_of};
pub use audit::AuditEntry;
pub use connection::{Connection, SqlRow, SqlValue};
pub use database::{Config, Database, Source};
pub use error::Error;
pub use import::{Imported, Importer};
pub use pool::PooledConnection;
pub use read::{Filter, Item};
pub use snapshot::Snapshot;
pub use write::WriteResult;

/// The most items of one page.
pub const PAGE_MAX: u64 = 1000;
