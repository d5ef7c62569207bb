//! Connections: bounded in number, opened on demand, dropped after any error.
//!
//! Not here: deadlines; the caller sets one.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tollgate_sqlite::{File, OpenedConnection};

use crate::connection::Connection;
use crate::error::Error;
use crate::migrate::migrate;

#[derive(Clone, Debug)]
pub(crate) enum DatabaseOptions {
    Sqlite(Arc<File>),
    Postgres(Box<PgConnectOptions>),
}

#[derive(Debug)]
pub(crate) struct DatabasePool {
    options: DatabaseOptions,
    patience: Duration,
    idle: Arc<Mutex<Vec<Connection>>>,
    /// Held by the task that saves the data of a removed file.
    saving: Arc<tokio::sync::Mutex<()>>,
    permits: Arc<Semaphore>,
    is_migrated: AtomicBool,
}

/// A connection and its permit. Dropping it without [`Self::done`] closes it, which rolls back its transaction.
#[derive(Debug)]
pub struct PooledConnection<'a> {
    connection: Connection,
    pool: &'a DatabasePool,
    _permit: OwnedSemaphorePermit,
}

impl DatabasePool {
    /// `patience`: how long to wait for locks of others.
    pub(crate) fn new(options: DatabaseOptions, connections: usize, patience: Duration) -> Self {
        Self {
            options,
            patience,
            idle: Arc::default(),
            saving: Arc::default(),
            permits: Arc::new(Semaphore::new(connections.max(1))),
            is_migrated: AtomicBool::new(false),
        }
    }

    pub(crate) fn file(&self) -> Option<Arc<File>> {
        match &self.options {
            DatabaseOptions::Sqlite(file) => Some(Arc::clone(file)),
            DatabaseOptions::Postgres(_) => None,
        }
    }

    pub(crate) async fn take(&self) -> Result<PooledConnection<'_>, Error> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| Error::Away("it was closed".into()))?;
        let connection = match self.alive().await? {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(PooledConnection {
            connection,
            pool: self,
            _permit: permit,
        })
    }

    /// An idle connection, if one still answers, and has the file that is at the path.
    async fn alive(&self) -> Result<Option<Connection>, Error> {
        loop {
            let idle = lock(&self.idle).pop();
            match (idle, &self.options) {
                (Some(Connection::Sqlite(opened)), DatabaseOptions::Sqlite(file)) => {
                    if let Some(opened) = self.checked(file, opened).await? {
                        return Ok(Some(Connection::Sqlite(opened)));
                    }
                }
                (Some(mut connection), _) => {
                    if connection.is_alive().await {
                        return Ok(Some(connection));
                    }
                }
                (None, _) => return Ok(None),
            }
        }
    }

    /// The connection, unless it was closed because its file is gone. Saving its data may take longer than
    /// any caller waits.
    async fn checked(
        &self,
        file: &Arc<File>,
        opened: Box<OpenedConnection>,
    ) -> Result<Option<Box<OpenedConnection>>, Error> {
        if file.is_same(&opened) {
            return Ok(Some(opened));
        }
        let (file, saving, idle) = (
            Arc::clone(file),
            Arc::clone(&self.saving),
            Arc::clone(&self.idle),
        );
        let saved = tokio::spawn(async move {
            let _turn = saving.lock().await;
            let mut slot = Some(*opened);
            let done = file.check(&mut slot).await;
            // It has the only copy of the data: saving is tried again.
            lock(&idle).extend(slot.map(Box::new).map(Connection::Sqlite));
            done
        });
        let saved = saved.await;
        saved.map_err(|_| Error::Away("the task that saves it is gone".into()))??;
        Ok(None)
    }

    /// A new connection. Creating a file, or recovering one after a crash, locks it exclusively for a
    /// moment, for which `SQLite` does not wait.
    async fn connect(&self) -> Result<Connection, Error> {
        let until = Instant::now() + self.patience;
        loop {
            match self.connect_now().await {
                Err(Error::Locked) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
                done => return done,
            }
        }
    }

    async fn connect_now(&self) -> Result<Connection, Error> {
        match &self.options {
            DatabaseOptions::Sqlite(file) => {
                let mut connection = Connection::Sqlite(Box::new(file.open().await?));
                // The new file may have other tables.
                migrate(&mut connection).await?;
                Ok(connection)
            }
            DatabaseOptions::Postgres(options) => {
                let mut connection = Connection::Postgres(Box::new(options.connect().await?));
                if !self.is_migrated.load(Ordering::Relaxed) {
                    migrate(&mut connection).await?;
                    self.is_migrated.store(true, Ordering::Relaxed);
                }
                Ok(connection)
            }
        }
    }
}

impl PooledConnection<'_> {
    /// Returns a healthy connection to the pool.
    pub fn done(self) {
        lock(&self.pool.idle).push(self.connection);
    }

    /// Rolls back and returns `why`.
    pub async fn undone(mut self, why: Error) -> Error {
        if why.is_an_answer() && self.rollback().await.is_ok() {
            self.done();
        }
        why
    }
}

impl Deref for PooledConnection<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for PooledConnection<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Between two attempts to lock the database.
const PAUSE: Duration = Duration::from_millis(10);
