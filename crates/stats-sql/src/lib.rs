//! Where request statistics are kept: two tables beside the catalogue, in `SQLite` or `PostgreSQL`.
//!
//! [`UsageBook`] takes batches of lines, each once however often it is sent, and tells usage, series and ranks. Rows of
//! a node are its own, so that nodes never wait for each other's.
//!
//! Deliberately absent: what is counted and when (`tollgate-stats`), connections and migrations
//! (`tollgate-catalogue-sql`).

mod book;
mod tell;
mod usage;

pub use book::{Batch, UsageBook};
pub use tollgate_catalogue_sql::Error;
pub use usage::{Cursor, USAGE_ROWS_MAX};
