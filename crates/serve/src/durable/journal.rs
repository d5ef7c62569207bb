//! Where rows are kept: a file of this process' own, or a seat in a database that many use. What is asked of both.
//!
//! Each question waits for its answer. Not here: SQL, and what rows mean.

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tollgate_limit::Instant;

use super::folder::Folder;
use super::rows::{self, Found, Kept, Saved, Written};
use super::seat::{self, Seat};
use super::settle::Settler;
use super::thread::Thread;
use super::{StoreError, schema};

/// Where rows are kept.
pub(super) enum Journal {
    /// A file.
    File {
        /// Goes before the thread, whose connection must be the last.
        settler: Settler,
        thread: Thread<SqliteConnection>,
    },
    /// A seat.
    Seat(Seat),
}

/// Secrets of the table and of receipts.
type Secrets = ([u8; 16], [u8; 32]);

/// Asks either journal the same.
macro_rules! ask {
    ($journal:expr, $name:ident($($value:expr),*)) => {
        match $journal {
            Self::File { thread, .. } => {
                thread.run(async move |connection| rows::$name(connection, $($value),*).await)
            }
            Self::Seat(seat) => seat.run(async move |at| seat::rows::$name(at, $($value),*).await),
        }
    };
}

impl Journal {
    /// The file of a data directory, and its secrets; that of the table may be given.
    pub(super) fn in_folder(
        folder: Folder,
        given: Option<[u8; 16]>,
    ) -> Result<(Self, [u8; 16], [u8; 32]), StoreError> {
        let database = folder.database()?;
        let path = database.clone();
        let thread = Thread::start(
            async move || schema::open(&path).await,
            async move |connection: SqliteConnection| {
                // What was committed is on disk; closing only tidies up the log.
                let _ = connection.close().await;
                // Nobody else may have the directory before.
                drop(folder);
            },
        )?;
        let (table, receipts): Secrets = thread.run(async move |connection| {
            let table = rows::table_secret(connection, given).await?;
            Ok((table, rows::secret(connection, "receipts").await?))
        })?;
        let settler = Settler::start(&database)?;
        Ok((Self::File { settler, thread }, table, receipts))
    }

    pub(super) const fn seat(&self) -> Option<&Seat> {
        match self {
            Self::File { .. } => None,
            Self::Seat(seat) => Some(seat),
        }
    }

    /// There was a commit.
    pub(super) fn committed(&self) {
        if let Self::File { settler, .. } = self {
            settler.wish();
        }
    }

    pub(super) fn number(
        &self,
        id: String,
        shape: String,
        now_ms: i64,
    ) -> Result<(i64, i64), StoreError> {
        ask!(self, number(&id, &shape, now_ms))
    }

    pub(super) fn shapes(&self, contract: i64) -> Result<Vec<(i64, String)>, StoreError> {
        ask!(self, shapes(contract))
    }

    pub(super) fn cells_after(
        &self,
        contract: i64,
        after: Option<u64>,
        now: Instant,
    ) -> Result<Vec<Found>, StoreError> {
        ask!(self, cells_after(contract, after, now.as_nanos()))
    }

    pub(super) fn saved_after(
        &self,
        tag: u64,
        after: Option<u64>,
        now: Instant,
    ) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        ask!(self, saved_after(tag, after, now.as_nanos()))
    }

    pub(super) fn drop_fresh(
        &self,
        from: Kept,
        after: Option<(i64, i64)>,
        now: Instant,
    ) -> Result<(Option<(i64, i64)>, u64), StoreError> {
        ask!(self, drop_fresh(from, after, now.as_nanos()))
    }

    pub(super) fn drop_unseen(&self, since_ms: i64) -> Result<(), StoreError> {
        ask!(self, drop_unseen(since_ms))
    }

    pub(super) fn cells_of_others(&self, contracts: Vec<i64>) -> Result<u64, StoreError> {
        ask!(self, cells_of_others(&contracts))
    }

    /// Writes cells; where that fails, some may have been written.
    pub(super) fn write(&self, cells: Vec<Written>) -> Result<(), StoreError> {
        match self {
            Self::File { thread, .. } => {
                thread.run(async move |connection| rows::write(connection, &cells).await)
            }
            Self::Seat(seat) => {
                for part in cells.chunks(PART) {
                    let part = part.to_vec();
                    seat.write(async move |at| seat::rows::write(at, &part, &[]).await)?;
                }
                Ok(())
            }
        }
    }

    /// The same of keys that are counted together.
    pub(super) fn write_saved(&self, tag: u64, keys: Vec<(u64, Saved)>) -> Result<(), StoreError> {
        match self {
            Self::File { thread, .. } => {
                thread.run(async move |connection| rows::write_saved(connection, tag, &keys).await)
            }
            Self::Seat(seat) => {
                for part in keys.chunks(PART) {
                    let part = part.to_vec();
                    seat.write(async move |at| seat::rows::write_saved(at, tag, &part).await)?;
                }
                Ok(())
            }
        }
    }
}

/// Rows that go to a database in one statement.
const PART: usize = 10_000;
