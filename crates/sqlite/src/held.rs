//! One connection, reopened when possible.

use std::sync::Arc;

use sqlx::sqlite::SqliteConnection;

use crate::error::FileError;
use crate::file::{File, OpenedConnection};

#[derive(Debug)]
pub struct DatabaseFile {
    file: Arc<File>,
    opened: Option<OpenedConnection>,
}

impl DatabaseFile {
    pub fn new(file: File) -> Self {
        Self {
            file: Arc::new(file),
            opened: None,
        }
    }

    pub const fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Opens a connection to the file at the path if needed. `prepare` migrates a new one.
    pub async fn ready<E: From<FileError>>(
        &mut self,
        prepare: impl AsyncFnOnce(&mut SqliteConnection) -> Result<(), E>,
    ) -> Result<&mut SqliteConnection, E> {
        self.file.check(&mut self.opened).await?;
        if let Some(opened) = self.opened.take() {
            return Ok(&mut *self.opened.insert(opened));
        }
        let mut opened = self.file.open().await?;
        if let Err(error) = prepare(&mut opened).await {
            opened.close().await;
            return Err(error);
        }
        Ok(&mut *self.opened.insert(opened))
    }

    /// `None` without a connection. After any error the connection is closed:
    /// `SQLite` may have rolled back by itself.
    pub async fn run<T, E>(
        &mut self,
        job: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let done = job(self.opened.as_deref_mut()?).await;
        if done.is_err() {
            self.give_up().await;
        }
        Some(done)
    }

    pub const fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// Closes the connection, unless it has the only copy of the data: then [`DatabaseFile::ready`] saves that first.
    pub async fn give_up(&mut self) {
        if self.file.check(&mut self.opened).await.is_err() {
            return;
        }
        if let Some(opened) = self.opened.take() {
            opened.close().await;
        }
    }
}
