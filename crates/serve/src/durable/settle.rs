//! The thread that waits for the disk, so that no flush does.
//!
//! A commit only hands its pages to the system: that survives a killed process. Periodically this thread syncs the log
//! to the disk, for power failures, and checkpoints the log if it is long. A disk may take more than a second for it.
//! Commits go on meanwhile, but a journaling file system may delay some of them; so this is rare. If it fails,
//! `/readyz` reports it, and the whole log is written back as soon as that works. Not here: flushes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use tokio::runtime::Runtime;

use super::StoreError;
use crate::logs::Rarely;
use crate::troubles::Lasting;

/// A handle to that thread, which ends when this is dropped.
pub(super) struct Settler {
    wishes: Option<mpsc::SyncSender<()>>,
    handle: Option<JoinHandle<()>>,
}

impl Settler {
    /// Starts the thread, for a database that stays open while it runs. Failures are in `trouble`.
    pub(super) fn start(database: &Path, trouble: Arc<Lasting>) -> Result<Self, StoreError> {
        let (wishes, queue) = mpsc::sync_channel(1);
        let (opened, is_open) = mpsc::sync_channel(1);
        let path = database.to_owned();
        let work = move || match Disk::open(&path, trouble) {
            Err(error) => drop(opened.send(Err(error))),
            Ok(mut disk) => {
                // Secrets that were just drawn must not be drawn again.
                disk.settle();
                let _ = opened.send(Ok(()));
                while (disk.is_doubtful || queue.recv().is_ok()) && disk.rest(&queue) {
                    disk.settle();
                }
                disk.close();
            }
        };
        let handle = std::thread::Builder::new()
            .name("tollgate-settle".into())
            .spawn(work);
        let handle = handle.map_err(|error| StoreError::File(database.into(), error))?;
        is_open.recv().map_err(|_| StoreError::Gone)??;
        Ok(Self {
            wishes: Some(wishes),
            handle: Some(handle),
        })
    }

    /// Reports a commit.
    pub(super) fn wish(&self) {
        if let Some(wishes) = &self.wishes {
            // A pending request covers this one too.
            let _ = wishes.try_send(());
        }
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        drop(self.wishes.take());
        if let Some(handle) = self.handle.take() {
            // A thread that panicked has closed its files, too.
            let _ = handle.join();
        }
    }
}

/// The state of the thread.
struct Disk {
    runtime: Runtime,
    options: SqliteConnectOptions,
    /// None after an error, until it is needed.
    connection: Option<SqliteConnection>,
    log: File,
    path: PathBuf,
    settled: Instant,
    warnings: Rarely,
    trouble: Arc<Lasting>,
    /// Whether the system may have dropped pages that it could not write: syncing them again would not notice.
    is_doubtful: bool,
}

impl Disk {
    fn open(database: &Path, trouble: Arc<Lasting>) -> Result<Self, StoreError> {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        let path = PathBuf::from(path);
        let failed = |error| StoreError::File(path.clone(), error);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let options = SqliteConnectOptions::new()
            .filename(database)
            .synchronous(SqliteSynchronous::Full)
            .disable_statement_logging();
        let connection = runtime.block_on(options.connect())?;
        // The log stays the same file as long as the database is open.
        let log = File::open(&path).map_err(failed)?;
        Ok(Self {
            runtime,
            options,
            connection: Some(connection),
            log,
            path,
            settled: Instant::now(),
            warnings: Rarely::new(WARN_EVERY),
            trouble,
            is_doubtful: false,
        })
    }

    /// Waits until the next round is due; returns whether to go on.
    fn rest(&self, queue: &mpsc::Receiver<()>) -> bool {
        loop {
            let left = SETTLE_EVERY.saturating_sub(self.settled.elapsed());
            match queue.recv_timeout(left) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    fn settle(&mut self) {
        let done = self.try_settle();
        self.settled = Instant::now();
        self.is_doubtful = done.is_err();
        self.trouble
            .set(done.as_ref().err().map(ToString::to_string));
        if let Err(error) = done
            && let Some(unsaid) = self.warnings.now()
        {
            tracing::warn!(%error, unsaid, "durable counts are written, but would not survive a loss of power");
        }
    }

    fn try_settle(&mut self) -> Result<(), StoreError> {
        let failed = |error| StoreError::File(self.path.clone(), error);
        self.log.sync_data().map_err(failed)?;
        // The file keeps its length when it is rewritten from the start, so a long one is not always full.
        let length = self.log.metadata().map_err(failed)?.len();
        if length < LOG_BYTES && !self.is_doubtful {
            return Ok(());
        }
        // A passive checkpoint neither waits nor blocks: later commits are left for the next time.
        let connection = self.connection.take();
        let written = self.runtime.block_on(async {
            let mut connection = match connection {
                Some(connection) => connection,
                None => self.options.connect().await?,
            };
            let checkpoint = sqlx::raw_sql("PRAGMA wal_checkpoint(PASSIVE)");
            checkpoint.execute(&mut connection).await?;
            Ok::<_, sqlx::Error>(connection)
        });
        // A connection that failed is closed.
        self.connection = Some(written?);
        Ok(())
    }

    fn close(self) {
        // The other connection is the last one, and cleans up.
        if let Some(connection) = self.connection {
            let _ = self.runtime.block_on(connection.close());
        }
    }
}

/// Shorter logs are left alone.
const LOG_BYTES: u64 = 4 << 20;
/// The shortest interval between rounds.
const SETTLE_EVERY: Duration = Duration::from_secs(5);
/// Interval between warnings about a failing disk.
const WARN_EVERY: Duration = Duration::from_mins(1);
