//! Storage of request statistics: two tables next to the catalogue, in `SQLite` or `PostgreSQL`.
//!
//! [`UsageBook`] adds batches of lines, each once even if it is resent, and returns usage, series and ranks. Rows of
//! a node are its own, so that nodes never wait for each other's.
//!
//! Deliberately absent: counting (`tollgate-stats`), connections and migrations
//! (`tollgate-catalogue-sql`).

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod book;
mod tell;
mod usage;

pub use book::{Batch, UsageBook};
pub use tollgate_catalogue_sql::Error;
pub use usage::{Cursor, USAGE_ROWS_MAX};
