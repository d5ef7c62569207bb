//! The file of a data directory: the connection that writes it, the thread that syncs it, and the secrets that it must
//! hold.
//!
//! A connection that failed is closed, and the next operation opens another. A file that was removed or replaced is
//! written again, with the secrets this process counts under. Not here: SQL (`rows.rs`), and how files are held open
//! (`tollgate-sqlite`).

use std::sync::Arc;

use sqlx::sqlite::SqliteConnection;
use tollgate_sqlite::{DatabaseFile, File};
use tollgate_store::Failure;

use super::folder::Folder;
use super::journal::Secrets;
use super::settle::Settler;
use super::{StoreError, rows, schema};
use crate::troubles::Lasting;

/// The state of the writer thread.
pub(super) struct OwnFile {
    /// No other process may use the directory before the file is closed.
    folder: Folder,
    held: DatabaseFile,
    /// Has its own connection and is dropped before the other.
    settler: Option<Settler>,
    secrets: Secrets,
    /// Why writes do not reach the disk, if so.
    unsynced: Arc<Lasting>,
    /// How often the file had been lost at the last check.
    lost: u64,
}

impl OwnFile {
    /// Opens the file; `given` is the secret of the table, if the cluster sets it.
    pub(super) async fn open(folder: Folder, given: Option<[u8; 16]>) -> Result<Self, StoreError> {
        let mut held = DatabaseFile::new(File::alone(schema::options(&folder.database())));
        let ready = held.ready(schema::prepare).await;
        let connection = ready.map_err(|error| error.of_file(&folder.database()))?;
        let secrets = Secrets {
            table: rows::table_secret(connection, given).await?,
            receipts: rows::secret(connection, "receipts", rows::draw()?).await?,
        };
        let unsynced = Arc::<Lasting>::default();
        let settler = Settler::start(held.file().path(), Arc::clone(&unsynced))?;
        Ok(Self {
            folder,
            held,
            settler: Some(settler),
            secrets,
            unsynced,
            lost: 0,
        })
    }

    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(self.held.file())
    }

    /// Why writes do not reach the disk, while they do not.
    pub(super) fn unsynced(&self) -> Arc<Lasting> {
        Arc::clone(&self.unsynced)
    }

    pub(super) const fn secrets(&self) -> Secrets {
        self.secrets
    }

    /// Connects unless there is a connection to the file in the directory.
    async fn connect(&mut self) -> Result<(), StoreError> {
        self.folder.hold()?;
        if !self.held.is_open() {
            self.settler = None;
        }
        let secrets = self.secrets;
        let prepare = async move |connection: &mut SqliteConnection| {
            schema::prepare(connection).await?;
            let table = rows::secret(connection, "table", secrets.table).await?;
            let receipts = rows::secret(connection, "receipts", secrets.receipts).await?;
            let is_ours = (table, receipts) == (secrets.table, secrets.receipts);
            let other = || StoreError::Damaged("the secrets of another server".into());
            is_ours.then_some(()).ok_or_else(other)
        };
        let ready = self.held.ready(prepare).await.map(drop);
        ready.map_err(|error| error.of_file(self.held.file().path()))
    }

    /// Makes sure that rows can be written. Returns whether the file was replaced since the last call, so that every
    /// key must be written.
    pub(super) async fn look(&mut self) -> Result<bool, StoreError> {
        self.connect().await?;
        let lost = self.held.file().lost();
        let is_other = lost != self.lost;
        if is_other {
            self.settler = None;
        }
        if self.settler.is_none() {
            let path = self.held.file().path();
            self.settler = Some(Settler::start(path, Arc::clone(&self.unsynced))?);
        }
        self.lost = lost;
        Ok(is_other)
    }

    /// Runs on the connection, or on a new one if the last failed.
    pub(super) async fn run<T>(
        &mut self,
        job: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if !self.held.is_open() {
            self.connect().await?;
        }
        let closed = || Failure::Unreachable("its connection was given up".into());
        let done = self.held.run(job).await;
        done.unwrap_or_else(|| Err(StoreError::Away(closed())))
    }

    /// The same, and has the write synced soon.
    pub(super) async fn write(
        &mut self,
        job: impl AsyncFnOnce(&mut SqliteConnection) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.run(job).await?;
        if let Some(settler) = &self.settler {
            settler.wish();
        }
        Ok(())
    }

    /// Closes the file, then unlocks the directory.
    pub(super) async fn close(mut self) {
        drop(self.settler.take());
        self.held.give_up().await;
        drop(self.folder);
    }
}
