//! `PostgreSQL` and `SQLite` as engines that decide for many nodes.
//!
//! Both keep one row for each key, in the same table and format (`docs/store-sql.md` shows it). [`Postgres`]
//! decides in the database, one statement for a batch, for any number of nodes; [`Sqlite`] decides in this process, one
//! transaction for a batch, for a single node or a few on one machine.
//!
//! Deliberately absent: the circuit breaker (`tollgate-store`), fallback answers, settings files.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod failure;
mod fold;
mod form;
mod ledger;
mod postgres;
mod sqlite;
mod sweep;

pub use failure::of as failure_of;
pub use postgres::{Postgres, PostgresConfig};
pub use sqlite::{Sqlite, SqliteConfig};
pub use sweep::Sweep;
