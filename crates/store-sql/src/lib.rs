//! `PostgreSQL` and `SQLite` as engines that decide for many nodes.
//!
//! Both keep one row for each key, in the same table and the same form (`docs/store-sql.md` shows it). [`Postgres`]
//! decides in the database, one statement for a batch however many nodes ask; [`Sqlite`] decides in this process, one
//! transaction for a batch, for a single node or a few on one machine.
//!
//! Deliberately absent: when not to ask (`tollgate-store`), what is answered instead, settings files.

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
