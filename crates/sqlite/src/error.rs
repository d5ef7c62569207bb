//! What may go wrong with a file, and what an error of `SQLite` says.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why there is no connection.
#[derive(Debug)]
pub enum FileError {
    /// `SQLite` says so.
    Sql(sqlx::Error),
    /// The system does, of this file.
    File(PathBuf, io::Error),
    /// The file was removed while no connection had it open, so that nothing of it is left.
    Removed(PathBuf),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(error) => write!(f, "{error}"),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Removed(path) => write!(
                f,
                "{} was removed while the server runs: put a backup in its place, or start the server again to begin with an empty one",
                path.display()
            ),
        }
    }
}

impl std::error::Error for FileError {}

impl From<sqlx::Error> for FileError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

/// What an error of `SQLite` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not understand a statement: its tables are not those that were expected.
    Statement,
    /// Others keep the file locked.
    Busy,
    /// It takes no writes.
    ReadOnly,
    /// The disk is full.
    Full,
    /// The disk does not do what it is asked: EIO, EPERM, EFBIG.
    Disk,
    /// The file may not be opened.
    Forbidden,
    /// It is not as it was written.
    Broken,
    /// It is no database at all.
    Foreign,
    /// Something else.
    Other,
}

impl Fault {
    /// What an error says. Its lowest eight bits are what happened, the rest where.
    pub fn of(error: &sqlx::Error) -> Self {
        match code(error).map(|code| code & 0xFF) {
            Some(1) => Self::Statement,
            Some(5 | 6) => Self::Busy,
            Some(8) => Self::ReadOnly,
            Some(10) => Self::Disk,
            Some(13) => Self::Full,
            Some(3 | 14 | 23) => Self::Forbidden,
            Some(11) => Self::Broken,
            Some(26) => Self::Foreign,
            _ => Self::Other,
        }
    }
}

fn code(error: &sqlx::Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}
