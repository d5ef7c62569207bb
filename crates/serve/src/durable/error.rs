//! Why counts cannot be kept.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tollgate_sqlite::{DatabaseFault, FileError, MigrateError};
use tollgate_store::Failure;

use crate::database::DatabaseError;

#[derive(Debug)]
pub enum StoreError {
    /// The system gave no random bytes for secrets.
    Random(getrandom::Error),
    /// A file or folder of the data directory cannot be used.
    File(PathBuf, io::Error),
    /// Another process uses the data directory.
    Taken {
        folder: PathBuf,
        /// What that process wrote about itself.
        holder: String,
    },
    /// The file is no database, or that of another program.
    Foreign(PathBuf),
    /// The database was written by a later version.
    Later {
        /// The version found.
        found: i64,
        /// The newest supported version.
        known: i64,
    },
    /// The database is corrupt.
    Damaged(String),
    /// The counts were made under another cluster's secret, or under none.
    OtherSecret(PathBuf),
    Full,
    /// An operation failed on the disk.
    Disk(sqlx::Error),
    /// The database may not be opened or written.
    ReadOnly,
    /// Another process keeps the database locked.
    Busy,
    /// An operation failed in the database.
    Database(sqlx::Error),
    /// The writer thread has ended.
    Gone,
    Thread(io::Error),
    /// The shared database was unreachable at the start.
    NotThere {
        away: String,
        /// Its error, or that it did not answer.
        failure: Failure,
    },
    /// An operation failed in the shared database.
    Away(Failure),
    /// The counts under this lease were made under another cluster's secret, or under none.
    OtherSecretOfSeat(String),
    /// The fence of a statement is not that of the lease.
    Fenced,
    /// Nothing came from this process for so long that others took its lease as abandoned.
    Vacated,
    /// Another process holds the lease.
    TakenOver,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(error) => write!(f, "the system gives no randomness: {error}"),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Taken { folder, holder } => write!(
                f,
                "{}: the data directory is in use by {holder}; stop it, or name another with --data-dir",
                folder.display()
            ),
            Self::Foreign(path) => {
                write!(f, "{}: this is no database of Tollgate's", path.display())
            }
            Self::Later { found, known } => write!(
                f,
                "the database has version {found}, and this server reads up to {known}: it was written by a later one"
            ),
            Self::Damaged(what) => write!(
                f,
                "the database is damaged ({what}): put a backup in its place, or move it away and start with no counts"
            ),
            Self::OtherSecret(path) => write!(
                f,
                "{}: the counts in this data directory were made under another cluster's secret, or outside a cluster; give \
                 the key file of that cluster, or name another --data-dir and start with no counts",
                path.display()
            ),
            Self::Full => f.write_str("the disk is full, so that durable counts cannot be written"),
            Self::Disk(error) => write!(
                f,
                "the disk of the database of durable counts fails ({error}): look at the system's log and the mode of the file"
            ),
            Self::ReadOnly => f.write_str("the database of durable counts may not be written"),
            Self::Busy => f.write_str("the database of durable counts is locked by somebody else"),
            Self::Database(error) => write!(f, "the database: {error}"),
            Self::Gone => f.write_str("the thread that writes durable counts is gone"),
            Self::Thread(error) => write!(f, "no thread for durable counts: {error}"),
            Self::NotThere { away, failure } => write!(
                f,
                "the database of durable counts at {away} cannot be used ({failure}): start it, mend `database` in the \
                 file or --database, or remove it to keep counts in the data directory"
            ),
            Self::Away(failure) => write!(f, "the database of durable counts: {failure}"),
            Self::OtherSecretOfSeat(seat) => write!(
                f,
                "the counts of the seat {seat:?} were made under another cluster's secret, or outside a cluster; give the \
                 key file of that cluster, or another name"
            ),
            Self::Fenced => f.write_str("what was written before this connection is not written by it"),
            Self::Vacated => f.write_str("others took this server's seat for left; it is taken again"),
            Self::TakenOver => f.write_str(
                "another process has this server's seat in the database, so that this one keeps nothing any more; stop one of \
                 them, or give each a name of its own",
            ),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<getrandom::Error> for StoreError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Failure(failure) => Self::Away(failure),
            DatabaseError::Later { found, known } => Self::Later { found, known },
        }
    }
}

impl StoreError {
    /// The same error, naming this file.
    pub(super) fn of_file(self, path: &Path) -> Self {
        match self {
            Self::Foreign(_) => Self::Foreign(path.into()),
            error => error,
        }
    }

    /// A copy, for further callers while the error lasts.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Later { found, known } => Self::Later {
                found: *found,
                known: *known,
            },
            Self::Away(failure) => Self::Away(failure.clone()),
            _ => Self::Away(Failure::Unreachable(self.to_string())),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match DatabaseFault::of(&error) {
            DatabaseFault::Busy => Self::Busy,
            DatabaseFault::ReadOnly | DatabaseFault::Forbidden => Self::ReadOnly,
            DatabaseFault::Broken => Self::Damaged(error.to_string()),
            DatabaseFault::Foreign => Self::Foreign(PathBuf::new()),
            DatabaseFault::Full => Self::Full,
            DatabaseFault::Disk => Self::Disk(error),
            DatabaseFault::Statement
            | DatabaseFault::Late
            | DatabaseFault::Starting
            | DatabaseFault::Other => Self::Database(error),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Sql(error) => error.into(),
            MigrateError::Later { found, known } => Self::Later { found, known },
        }
    }
}

impl From<FileError> for StoreError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sql(error) => error.into(),
            FileError::File(_, error) if error.kind() == io::ErrorKind::StorageFull => Self::Full,
            FileError::File(path, error) => Self::File(path, error),
            FileError::Removed(path) => Self::File(path, io::ErrorKind::NotFound.into()),
        }
    }
}
