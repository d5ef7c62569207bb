//! Errors of a file, and the classification of database errors.

use std::fmt;
use std::io;
use std::path::PathBuf;

use sqlx::postgres::PgDatabaseError;

/// Why there is no connection.
#[derive(Debug)]
pub enum FileError {
    /// `SQLite` failed.
    Sql(sqlx::Error),
    /// The system failed on this file.
    File(PathBuf, io::Error),
    /// The file was removed while no connection had it open, so that its data is lost.
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

/// The class of a database error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseFault {
    /// A statement does not compile: the tables are not the expected ones.
    Statement,
    /// Another transaction holds the lock, or committed first.
    Busy,
    /// A statement took too long.
    Late,
    /// The server starts, recovers or stops.
    Starting,
    /// It refuses writes.
    ReadOnly,
    /// There is no room: disk, memory, connections.
    Full,
    /// I/O errors: EIO, EPERM, EFBIG.
    Disk,
    /// Permission denied, or the server failed to authenticate.
    Forbidden,
    /// Corrupt data, or values that make no sense.
    Broken,
    /// Not a database.
    Foreign,
    Other,
}

impl DatabaseFault {
    pub fn of(error: &sqlx::Error) -> Self {
        use sqlx::Error as Sql;
        match error {
            Sql::Database(database) => {
                let code = database.code().unwrap_or_default();
                match database.try_downcast_ref::<PgDatabaseError>() {
                    Some(_) => Self::of_postgres(&code),
                    None => Self::of_sqlite(&code),
                }
            }
            Sql::Tls(_) | Sql::Configuration(_) => Self::Forbidden,
            // A handshake that fails is a failure to read.
            Sql::Io(why) if is_of_tls(why) => Self::Forbidden,
            Sql::ColumnDecode { .. } | Sql::Decode(_) | Sql::ColumnNotFound(_) => Self::Broken,
            _ => Self::Other,
        }
    }

    /// The lowest eight bits of a code are the error, the rest its location.
    fn of_sqlite(code: &str) -> Self {
        match code.parse::<u32>().map(|code| code & 0xFF) {
            Ok(1) => Self::Statement,
            Ok(5 | 6) => Self::Busy,
            Ok(8) => Self::ReadOnly,
            Ok(10) => Self::Disk,
            Ok(13) => Self::Full,
            Ok(3 | 14 | 23) => Self::Forbidden,
            Ok(11) => Self::Broken,
            Ok(26) => Self::Foreign,
            _ => Self::Other,
        }
    }

    fn of_postgres(code: &str) -> Self {
        match code {
            "57P01" | "57P02" | "57P03" => Self::Starting,
            "57014" => Self::Late,
            // Lock timeout, serialization failure, deadlock.
            "55P03" | "40001" | "40P01" => Self::Busy,
            // A hot standby, or a read-only database.
            "25006" => Self::ReadOnly,
            // Authentication, database name, privileges.
            "3D000" | "42501" => Self::Forbidden,
            _ if code.starts_with("28") => Self::Forbidden,
            _ if code.starts_with("53") => Self::Full,
            // Invalid values.
            _ if code.starts_with("22") => Self::Broken,
            _ if code.starts_with("42") => Self::Statement,
            _ => Self::Other,
        }
    }
}

/// Without the driver's prefix.
pub fn why(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Tls(why) | sqlx::Error::Configuration(why) => why.to_string(),
        sqlx::Error::Io(why) if is_of_tls(why) => why.to_string(),
        error => error.to_string(),
    }
}

fn is_of_tls(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(why) if why.is::<rustls::Error>())
}
