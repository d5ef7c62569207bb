//! The thread that has the database: nobody else waits for a disk.

use std::sync::mpsc;
use std::thread::JoinHandle;

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::runtime::Runtime;

use super::folder::Folder;
use super::{StoreError, schema};

/// What is asked of the thread.
type Job = Box<dyn FnOnce(&mut Database) + Send>;

/// The database, on its thread.
pub(super) struct Database {
    runtime: Runtime,
    connection: SqliteConnection,
    /// Holds the data directory as long as the connection is open.
    _folder: Folder,
}

/// A way to the thread that has the database. It ends when this is dropped.
pub(super) struct Thread {
    jobs: Option<mpsc::SyncSender<Job>>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    /// Starts the thread and opens the database there.
    pub(super) fn start(folder: Folder) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::sync_channel::<Job>(JOBS_MAX);
        let (opened, open) = mpsc::sync_channel(1);
        let path = folder.database();
        let work = move || match Database::open(folder) {
            Err(error) => drop(opened.send(Err(error))),
            Ok(mut database) => {
                let _ = opened.send(Ok(()));
                while let Ok(job) = queue.recv() {
                    job(&mut database);
                }
                database.close();
            }
        };
        let handle = std::thread::Builder::new()
            .name("tollgate-db".into())
            .spawn(work);
        let handle = handle.map_err(|error| StoreError::File(path, error))?;
        open.recv().map_err(|_| StoreError::Gone)??;
        Ok(Self {
            jobs: Some(jobs),
            handle: Some(handle),
        })
    }

    /// Does something on the thread, and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, wait) = mpsc::sync_channel(1);
        let job = move |database: &mut Database| {
            let Database {
                runtime,
                connection,
                ..
            } = database;
            // Nobody waits any more: whoever asked is gone.
            let _ = done.send(runtime.block_on(job(connection)));
        };
        let jobs = self.jobs.as_ref().ok_or(StoreError::Gone)?;
        jobs.send(Box::new(job)).map_err(|_| StoreError::Gone)?;
        wait.recv().map_err(|_| StoreError::Gone)?
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(handle) = self.handle.take() {
            // A thread that panicked has closed its files, too.
            let _ = handle.join();
        }
    }
}

impl Database {
    fn open(folder: Folder) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| StoreError::File(folder.database(), error))?;
        let connection = runtime.block_on(schema::open(&folder.database()))?;
        Ok(Self {
            runtime,
            connection,
            _folder: folder,
        })
    }

    fn close(self) {
        // What was committed is on disk; closing only tidies up the log.
        let _ = self.runtime.block_on(self.connection.close());
    }
}

/// Jobs that wait for the thread.
const JOBS_MAX: usize = 4;
