//! A thread that owns a database, so that no other waits for a disk or a network.

use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::runtime::Runtime;

use super::StoreError;

type Job<C> = Box<dyn FnOnce(&Runtime, &mut C) + Send>;

/// A handle to the thread that owns a database. It ends when this is dropped.
pub(super) struct Thread<C> {
    jobs: Option<mpsc::SyncSender<Job<C>>>,
    handle: Option<JoinHandle<()>>,
}

impl<C: 'static> Thread<C> {
    /// Starts the thread; it opens the database and finally closes it.
    pub(super) fn start(
        open: impl AsyncFnOnce() -> Result<C, StoreError> + Send + 'static,
        close: impl AsyncFnOnce(C) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::sync_channel::<Job<C>>(JOBS_MAX);
        let (opened, is_open) = mpsc::sync_channel(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(StoreError::Thread)?;
        let work = move || match runtime.block_on(open()) {
            Err(error) => drop(opened.send(Err(error))),
            Ok(mut database) => {
                let _ = opened.send(Ok(()));
                while let Ok(job) = queue.recv() {
                    job(&runtime, &mut database);
                }
                runtime.block_on(close(database));
            }
        };
        let handle = std::thread::Builder::new()
            .name("tollgate-db".into())
            .spawn(work);
        let handle = handle.map_err(StoreError::Thread)?;
        is_open.recv().map_err(|_| StoreError::Gone)??;
        Ok(Self {
            jobs: Some(jobs),
            handle: Some(handle),
        })
    }

    /// Runs on the thread, and waits for the result.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut C) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, wait) = mpsc::sync_channel(1);
        let job = move |runtime: &Runtime, database: &mut C| {
            // The receiver may have gone.
            let _ = done.send(runtime.block_on(job(database)));
        };
        let jobs = self.jobs.as_ref().ok_or(StoreError::Gone)?;
        jobs.send(Box::new(job)).map_err(|_| StoreError::Gone)?;
        wait.recv().map_err(|_| StoreError::Gone)?
    }
}

impl<C> Drop for Thread<C> {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(handle) = self.handle.take() {
            // A thread that panicked has closed its files, too.
            let _ = handle.join();
        }
    }
}

/// Jobs queued for the thread.
const JOBS_MAX: usize = 4;
