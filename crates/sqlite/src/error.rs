//! What may go wrong with a file, and what an error of a database says.

use std::fmt;
use std::io;
use std::path::PathBuf;

use sqlx::postgres::PgDatabaseError;

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

/// What an error of a database says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseFault {
    /// It does not understand a statement: its tables are not those that were expected.
    Statement,
    /// Others have what is asked for, or went first.
    Busy,
    /// A statement took too long.
    Late,
    /// It starts, recovers or stops.
    Starting,
    /// It takes no writes.
    ReadOnly,
    /// There is no room: disk, memory, connections.
    Full,
    /// The disk does not do what it is asked: EIO, EPERM, EFBIG.
    Disk,
    /// We may not, or it is not who it should be.
    Forbidden,
    /// It is not as it was written, or says what makes no sense.
    Broken,
    /// It is no database at all.
    Foreign,
    /// Something else.
    Other,
}

impl DatabaseFault {
    /// What an error says.
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

    /// The lowest eight bits of a code are what happened, the rest where.
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
            // A lock took too long; others went first.
            "55P03" | "40001" | "40P01" => Self::Busy,
            // A hot standby, or a database that was made read-only.
            "25006" => Self::ReadOnly,
            // Who we are, which database, what we may.
            "3D000" | "42501" => Self::Forbidden,
            _ if code.starts_with("28") => Self::Forbidden,
            _ if code.starts_with("53") => Self::Full,
            // Numbers that are none.
            _ if code.starts_with("22") => Self::Broken,
            _ if code.starts_with("42") => Self::Statement,
            _ => Self::Other,
        }
    }
}

/// Why there was an error, without what the driver says around it.
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
