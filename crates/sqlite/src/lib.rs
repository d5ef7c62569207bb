//! Databases of `SQLite` and `PostgreSQL`: shared code to open them, to migrate tables and to classify errors
//! who keep something in one.
//!
//! `SQLite` rolls back by itself after some errors (a full disk, a write that fails), and the driver's count of
//! transactions is wrong from then on: so a connection is closed after any error ([`DatabaseFile::run`]). A file that
//! is removed, or replaced, while it is open still accepts writes, which are lost later: so the file at
//! the path is compared before each use ([`File::check`]), and the connection's data is written to a new file
//! there.
//!
//! Deliberately absent: tables, statements, pools, and what an error means to the caller.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod error;
mod file;
mod held;
mod mark;
mod migrate;
mod open;
pub mod private;

pub use error::{DatabaseFault, FileError, why};
pub use file::{File, OpenedConnection};
pub use held::DatabaseFile;
pub use migrate::{MigrateError, ScriptConnection, Steps, migrate};
pub use open::{PostgresAddress, file_options};
