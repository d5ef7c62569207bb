//! Why counts cannot be kept.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why counts cannot be kept.
#[derive(Debug)]
pub enum StoreError {
    /// No randomness for secrets.
    Random(getrandom::Error),
    /// A file or folder of the data directory cannot be used.
    File(PathBuf, io::Error),
    /// Another process has the data directory.
    Taken {
        /// The data directory.
        folder: PathBuf,
        /// What its holder wrote about itself.
        holder: String,
    },
    /// The file is a database of somebody else's, or of nobody's.
    Foreign(PathBuf),
    /// The database was written by a later version.
    Later {
        /// Its version.
        found: i64,
        /// The last one that can be read.
        known: i64,
    },
    /// The database is not as it was written.
    Damaged(String),
    /// The counts were made under another cluster's secret, or under none.
    OtherSecret(PathBuf),
    /// The disk is full.
    Full,
    /// The database may not be written.
    ReadOnly,
    /// Somebody else keeps the database locked.
    Busy,
    /// The database does not do what it is asked.
    Database(sqlx::Error),
    /// The thread that writes is gone.
    Gone,
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
            Self::ReadOnly => f.write_str("the database of durable counts may not be written"),
            Self::Busy => f.write_str("the database of durable counts is locked by somebody else"),
            Self::Database(error) => write!(f, "the database: {error}"),
            Self::Gone => f.write_str("the thread that writes durable counts is gone"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<getrandom::Error> for StoreError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        // The lowest eight bits say what kind, the rest where.
        match code(&error).map(|code| code & 0xFF) {
            Some(5 | 6) => Self::Busy,
            Some(8) => Self::ReadOnly,
            Some(11 | 26) => Self::Damaged(error.to_string()),
            Some(13) => Self::Full,
            _ => Self::Database(error),
        }
    }
}

/// The number of an error of the database.
pub(super) fn code(error: &sqlx::Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}
