//! Storage of rows: a file of this process, or a lease in a shared database. The operations of both.
//!
//! Each call waits for its result. Not here: SQL, and what rows mean.

use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_sqlite::File;

use super::StoreError;
use super::file::OwnFile;
use super::folder::Folder;
use super::rows::{self, CellRow, CellWrite, RowTable, SavedRow};
use super::seat::{self, DatabaseLease};
use super::thread::Thread;
use crate::troubles::Lasting;

pub(super) enum RowJournal {
    File(Thread<OwnFile>),
    Seat(DatabaseLease),
}

/// The secrets that counts are kept under.
#[derive(Clone, Copy)]
pub(super) struct Secrets {
    pub(super) table: [u8; 16],
    pub(super) receipts: [u8; 32],
}

/// Forwards an operation to either journal.
macro_rules! ask {
    ($journal:expr, $name:ident($($value:expr),*)) => {
        match $journal {
            Self::File(thread) => thread.run(async move |file| {
                file.run(async |connection| rows::$name(connection, $($value),*).await).await
            }),
            Self::Seat(seat) => seat.run(async move |at| seat::rows::$name(at, $($value),*).await),
        }
    };
}

impl RowJournal {
    /// The file of a data directory, and its secrets; the table's may be given.
    pub(super) fn in_folder(
        folder: Folder,
        given: Option<[u8; 16]>,
    ) -> Result<(Self, Secrets), StoreError> {
        let thread = Thread::start(
            async move || OwnFile::open(folder, given).await,
            OwnFile::close,
        )?;
        let secrets = thread.run(async |file| Ok(file.secrets()))?;
        Ok((Self::File(thread), secrets))
    }

    pub(super) fn file(&self) -> Result<Option<Arc<File>>, StoreError> {
        match self {
            Self::File(thread) => thread.run(async |file| Ok(Some(file.file()))),
            Self::Seat(_) => Ok(None),
        }
    }

    /// Why writes to the file do not reach the disk; `None` for a database.
    pub(super) fn unsynced(&self) -> Result<Option<Arc<Lasting>>, StoreError> {
        match self {
            Self::File(thread) => thread.run(async |file| Ok(Some(file.unsynced()))),
            Self::Seat(_) => Ok(None),
        }
    }

    /// Makes sure that rows can be written. Returns whether earlier writes may be lost.
    pub(super) fn look(&self) -> Result<bool, StoreError> {
        match self {
            Self::File(thread) => thread.run(async |file| file.look().await),
            Self::Seat(seat) => seat.look(),
        }
    }

    pub(super) const fn seat(&self) -> Option<&DatabaseLease> {
        match self {
            Self::File(_) => None,
            Self::Seat(seat) => Some(seat),
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
    ) -> Result<Vec<CellRow>, StoreError> {
        ask!(self, cells_after(contract, after, now.as_nanos()))
    }

    /// Reads these cells of a contract, and passes those that are not fresh to `apply` before the next operation.
    pub(super) fn cells_at<T: Send + 'static>(
        &self,
        contract: i64,
        prints: Vec<u64>,
        now: Instant,
        apply: impl FnOnce(Vec<CellRow>) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let now = now.as_nanos();
        match self {
            Self::File(thread) => thread.run(async move |file| {
                let found = file.run(async |connection| {
                    rows::cells_at(connection, contract, &prints, now).await
                });
                found.await.map(apply)
            }),
            Self::Seat(seat) => seat.run(async move |at| {
                let found = seat::rows::cells_at(at, contract, &prints, now).await;
                found.map(apply)
            }),
        }
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
        from: RowTable,
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

    /// On error, some cells may have been written.
    pub(super) fn write(&self, cells: Vec<CellWrite>) -> Result<(), StoreError> {
        match self {
            Self::File(thread) => thread.run(async move |file| {
                file.write(async |connection| rows::write(connection, &cells).await)
                    .await
            }),
            Self::Seat(seat) => {
                for part in cells.chunks(PART) {
                    let part = part.to_vec();
                    seat.write(async move |at| seat::rows::write(at, &part, &[]).await)?;
                }
                Ok(())
            }
        }
    }

    /// The same for gossiped keys.
    pub(super) fn write_saved(
        &self,
        tag: u64,
        keys: Vec<(u64, SavedRow)>,
    ) -> Result<(), StoreError> {
        match self {
            Self::File(thread) => thread.run(async move |file| {
                file.write(async |connection| rows::write_saved(connection, tag, &keys).await)
                    .await
            }),
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

/// Rows sent to a database in one statement.
const PART: usize = 10_000;
