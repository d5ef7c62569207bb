//! A file, connections to it, and recovery when it is removed or replaced.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::error::FileError;
use crate::mark::{FileMark, Marks, beside, named};
use crate::private::narrow;

/// A database file. It is created if missing, readable by its owner only; once it existed it is not created
/// again, for an empty file would look like its data.
#[derive(Debug)]
pub struct File {
    options: SqliteConnectOptions,
    path: PathBuf,
    /// Whether only this process writes it, and so knows its content.
    is_alone: bool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// As it was last opened.
    mark: Option<FileMark>,
    /// How often it was lost.
    lost: u64,
    /// When and how it was lost last.
    last: Option<(Instant, String)>,
}

#[derive(Debug)]
pub struct OpenedConnection {
    connection: SqliteConnection,
    marks: Marks,
}

impl Deref for OpenedConnection {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for OpenedConnection {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

impl File {
    /// Other processes may write it too: a file that replaces it is used from then on.
    pub fn shared(options: SqliteConnectOptions) -> Self {
        Self::of(options, false)
    }

    /// Only this process writes it: a file that replaces it is set aside, and
    /// if its data is lost an empty one is created.
    pub fn alone(options: SqliteConnectOptions) -> Self {
        Self::of(options, true)
    }

    fn of(options: SqliteConnectOptions, is_alone: bool) -> Self {
        Self {
            path: options.get_filename().to_owned(),
            options: options.create_if_missing(false),
            is_alone,
            known: Mutex::default(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How often it was lost: removed, or replaced by another, while it was open.
    pub fn lost(&self) -> u64 {
        self.known().lost
    }

    /// What happened to it, if it was lost less than a minute ago.
    pub fn lately(&self) -> Option<String> {
        let known = self.known();
        let last = known.last.as_ref().filter(|(at, _)| at.elapsed() < LATELY);
        last.map(|(_, what)| what.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: io::Error) -> FileError {
        FileError::File(self.path.clone(), error)
    }

    fn lose(&self, what: &str) {
        let what = format!("{} {what}", self.path.display());
        tracing::warn!("{what}");
        let mut known = self.known();
        known.lost += 1;
        known.last = Some((Instant::now(), what));
    }

    pub async fn open(&self) -> Result<OpenedConnection, FileError> {
        let before = self.make().map_err(|error| self.failed(error))?;
        let before = before.ok_or_else(|| FileError::Removed(self.path.clone()))?;
        let mut connection = self.options.connect().await?;
        // This makes sure that its log exists.
        let read = sqlx::raw_sql("SELECT count(*) FROM sqlite_schema");
        read.execute(&mut connection).await?;
        let marks = Marks::of(&self.path).map_err(|error| self.failed(error))?;
        let known = self.known().mark.replace(before);
        if known.is_some() && marks.database != Some(before) {
            let moved = io::Error::other("it was replaced while it was opened");
            return Err(self.failed(moved));
        }
        Ok(OpenedConnection { connection, marks })
    }

    /// Creates the file if allowed; `None` if it existed before and is gone.
    fn make(&self) -> io::Result<Option<FileMark>> {
        let (known, found) = (self.known().mark, FileMark::of(&self.path)?);
        match (found, known) {
            (Some(found), Some(known)) if found != known && self.is_alone => {
                let aside = self.set_aside()?;
                let what = format!(
                    "was replaced while no connection had it open; the other file is {aside} now, and all that is in memory is written to a new file"
                );
                self.lose(&what);
            }
            (Some(_), _) => {
                self.make_private()?;
                return Ok(found);
            }
            (None, Some(_)) if !self.is_alone => return Ok(None),
            (None, Some(_)) => {
                self.lose("was removed while no connection had it open; all that is in memory is written to a new file");
            }
            (None, None) => {
                // A missing folder is an error.
                private(&self.path)?;
                return FileMark::of(&self.path);
            }
        }
        self.make_folder()?;
        private(&self.path)?;
        FileMark::of(&self.path)
    }

    /// Restricts files that an older version, or another program, made readable for all.
    fn make_private(&self) -> io::Result<()> {
        let [log, index] = beside(&self.path);
        [&self.path, &log, &index]
            .into_iter()
            .try_for_each(|path| narrow(path))
    }

    fn make_folder(&self) -> io::Result<()> {
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        folder.map_or(Ok(()), |folder| builder.create(folder))
    }

    /// Whether a connection has the file that is at the path now.
    pub fn is_same(&self, opened: &OpenedConnection) -> bool {
        Marks::of(&self.path).is_ok_and(|now| opened.marks.are_in(&now))
    }

    /// Checks that a connection still has the file at the path. Otherwise it is closed, and if its file, or
    /// the log of that, is gone, its data is written to a new file at the path first. After an error it is
    /// left as it is.
    pub async fn check(&self, slot: &mut Option<OpenedConnection>) -> Result<(), FileError> {
        let Some(opened) = slot else {
            return Ok(());
        };
        let now = Marks::of(&self.path).map_err(|error| self.failed(error))?;
        if opened.marks.are_in(&now) {
            return Ok(());
        }
        let remove = opened.marks.remove_beside(&self.path);
        remove.map_err(|error| self.failed(error))?;
        let is_other = now.database.is_some() && now.database != opened.marks.database;
        if is_other && now.database == self.known().mark {
            // Another connection has already handled this.
        } else if is_other && self.is_alone {
            let aside = self.set_aside().map_err(|error| self.failed(error))?;
            self.lose(&format!(
                "was replaced while the server had it open; the other file is {aside} now, and what the server had is written to a new file"
            ));
            self.save(opened).await?;
        } else if is_other || !self.save(opened).await? {
            self.lose(
                "was replaced while the server had it open; from now on the other file is used",
            );
        } else if now.database.is_some() {
            self.lose("lost its log while the server had it open; what the server had is written to a new file");
        } else {
            self.lose("was removed while the server had it open; what the server had is written to a new file");
        }
        if let Some(opened) = slot.take() {
            opened.close().await;
        }
        Ok(())
    }

    /// Writes the data of a connection to a new file, and moves that to the path, unless another appeared there
    /// meanwhile.
    async fn save(&self, opened: &mut OpenedConnection) -> Result<bool, FileError> {
        let path = named(&self.path, ".saving");
        let failed = |error| FileError::File(path.clone(), error);
        self.make_folder().map_err(failed)?;
        // Left over by an earlier attempt.
        remove(&path).map_err(failed)?;
        private(&path).map_err(failed)?;
        let name = path.to_str().ok_or(io::ErrorKind::InvalidFilename);
        let name = name.map_err(|kind| failed(kind.into()))?;
        let vacuum = sqlx::query("VACUUM INTO ?").bind(name);
        let done = vacuum.execute(&mut opened.connection).await;
        let done = done.map_err(FileError::Sql).and_then(|_| {
            let put = sync(&path).and_then(|()| self.put(&path, &opened.marks));
            put.map_err(failed)
        });
        // On success it has two names.
        let removed = remove(&path);
        let is_put = done?;
        removed.map_err(failed)?;
        Ok(is_put)
    }

    /// Moves a file to the path, unless another than that of these marks is there.
    fn put(&self, saved: &Path, marks: &Marks) -> io::Result<bool> {
        let there = FileMark::of(&self.path)?;
        if there.is_some() && there != marks.database {
            return Ok(false);
        }
        // A log of another file would be read into this one.
        let [log, index] = beside(&self.path);
        remove(&log)?;
        remove(&index)?;
        let put = FileMark::of(saved)?;
        if there.is_some() {
            std::fs::rename(saved, &self.path)?;
        } else {
            match std::fs::hard_link(saved, &self.path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                done => done?,
            }
        }
        self.known().mark = put;
        Ok(true)
    }

    /// Renames the file at the path, and those beside it, to a free name; returns it.
    fn set_aside(&self) -> io::Result<String> {
        let named_so = |number: u32| named(&self.path, &format!(".found-{number}"));
        let is_free = |path: &PathBuf| matches!(FileMark::of(path), Ok(None));
        let free = (1..FOUND_MAX).map(named_so).find(is_free);
        let free = free.ok_or_else(|| io::Error::other("too many files were put there"))?;
        for (from, to) in beside(&self.path).iter().zip(beside(&free)) {
            match std::fs::rename(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, &free)?;
        Ok(free.display().to_string())
    }
}

impl OpenedConnection {
    /// Waits until the file is closed.
    pub async fn close(self) {
        // What was committed is in the file or its log; closing only cleans up.
        let _ = self.connection.close().await;
    }
}

fn private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync(path: &Path) -> io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}

/// How long a lost file is reported.
const LATELY: Duration = Duration::from_mins(1);
/// Bound on files that are set aside.
const FOUND_MAX: u32 = 1_000;
