//! The tables, and migrations of older databases.
//!
//! Not here: what the rows mean (`rows.rs`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tollgate_sqlite::{Steps, file_options};

use super::StoreError;

/// Marks a file as ours: "toll".
const APPLICATION: i64 = 0x746f_6c6c;

/// Each migrates the database to the next version, from the empty version 0.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE secret (
        name TEXT PRIMARY KEY,
        value BLOB NOT NULL
    ) WITHOUT ROWID, STRICT;
    -- Contracts whose cells are kept; `seen_ms` is when a server last had the contract.
    CREATE TABLE contract (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        seen_ms INTEGER NOT NULL
    ) STRICT;
    -- What a contract counted by, and its policies, when cells were written.
    CREATE TABLE shape (
        number INTEGER PRIMARY KEY,
        contract INTEGER NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (contract, text)
    ) STRICT;
    -- One key of one contract: `print` is the key's print, `fresh_ns` when the row says no more than none would.
    CREATE TABLE cell (
        contract INTEGER NOT NULL,
        print INTEGER NOT NULL,
        shape INTEGER NOT NULL,
        fresh_ns INTEGER NOT NULL,
        state BLOB NOT NULL,
        PRIMARY KEY (contract, print)
    ) WITHOUT ROWID, STRICT;
", "
    -- What this node must not lose of a key that nodes count together: `tag` is what they call the policy.
    CREATE TABLE gossip (
        tag INTEGER NOT NULL,
        print INTEGER NOT NULL,
        fresh_ns INTEGER NOT NULL,
        state BLOB NOT NULL,
        PRIMARY KEY (tag, print)
    ) WITHOUT ROWID, STRICT;
"];

/// How the database is opened.
///
/// A commit is in the system's cache when it returns, not yet on disk (`synchronous=NORMAL`): a killed process loses no
/// commit that way, and a disk that takes a second for a sync does not delay the flush behind it. `settle.rs` syncs
/// commits to the disk and checkpoints the log; a commit writes the log back only if it outgrows its limit.
pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    file_options(path, false, BUSY)
        .pragma("journal_size_limit", WAL_BYTES.to_string())
        .pragma("wal_autocheckpoint", WAL_PAGES.to_string())
}

/// Migrates a database, unless another program made it.
pub(super) async fn prepare(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let ours: i64 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await?;
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut *connection)
        .await?;
    if ours != APPLICATION && tables > 0 {
        return Err(StoreError::Foreign(PathBuf::new()));
    }
    let steps = Steps {
        is_noted: "SELECT count(*) FROM sqlite_schema WHERE name = 'migration'",
        last: "SELECT coalesce(max(version), 0) FROM migration",
        begin: BEGIN,
        note: "INSERT INTO migration VALUES ({}, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
        each: MIGRATIONS.iter().map(ToString::to_string).collect(),
    };
    Ok(tollgate_sqlite::migrate(connection, &steps).await?)
}

/// Also marks the file as ours.
const BEGIN: &str = "
    BEGIN IMMEDIATE;
    PRAGMA application_id = 1953459308;
    CREATE TABLE IF NOT EXISTS migration (version INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL) STRICT";
/// How long another process, such as a backup, may keep the database locked.
const BUSY: Duration = Duration::from_secs(5);
/// The log is truncated to this many bytes after a checkpoint.
const WAL_BYTES: u64 = 64 << 20;
/// The same in pages.
const WAL_PAGES: u64 = WAL_BYTES / 4_096;
