//! Errors of a database; messages say who has to act.

use core::fmt;
use std::io::ErrorKind;

use tollgate_catalogue::{Kind, Refusal};
use tollgate_sqlite::{DatabaseFault, FileError, MigrateError, why};

/// Unless a variant says otherwise nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The request is not allowed.
    Refused(Refusal),
    /// Another change was first.
    Conflict {
        /// The present version; `None` if the object does not exist.
        present: Option<u64>,
    },
    /// Deadline exceeded. A write may have been made.
    Late,
    /// Another transaction holds the lock for too long.
    Locked,
    /// Disk, memory or connections are exhausted.
    Full,
    ReadOnly,
    /// It cannot be reached, or the connection was lost. A write may have been made.
    Away(String),
    /// Authentication failed, in either direction.
    Forbidden(String),
    /// Its data does not parse.
    Broken(String),
}

impl Error {
    /// For metrics and answers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Conflict { .. } => "conflict",
            Self::Late => "late",
            Self::Locked => "locked",
            Self::Full => "full",
            Self::ReadOnly => "read-only",
            Self::Away(_) => "away",
            Self::Forbidden(_) => "forbidden",
            Self::Broken(_) => "broken",
        }
    }

    /// Whether the database answered, so that its connection is still usable.
    pub(crate) const fn is_an_answer(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Conflict { .. })
    }

    pub(crate) fn not_found(kind: Kind, id: &str) -> Self {
        Self::Refused(Refusal::NotFound(kind, id.to_owned()))
    }

    pub(crate) fn wrong(why: impl Into<String>) -> Self {
        Self::Refused(Refusal::Wrong(why.into()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "{refusal}"),
            Self::Conflict {
                present: Some(version),
            } => write!(
                f,
                "somebody else changed it meanwhile: it has version {version} now; read it again and repeat your change"
            ),
            Self::Conflict { present: None } => {
                f.write_str("somebody else deleted it meanwhile, or it was never there")
            }
            Self::Late => {
                f.write_str("the database did not answer in time; look whether the change was made")
            }
            Self::Locked => f.write_str("others hold the database; try again"),
            Self::Full => f.write_str("the database has no room for more; give it some"),
            Self::ReadOnly => f.write_str("the database takes no writes"),
            Self::Away(why) => write!(f, "the database is away: {why}"),
            Self::Forbidden(why) => write!(f, "the database does not let us in: {why}"),
            Self::Broken(why) => write!(f, "the database has what makes no sense: {why}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match DatabaseFault::of(&error) {
            DatabaseFault::Late => Self::Late,
            DatabaseFault::Busy => Self::Locked,
            DatabaseFault::ReadOnly => Self::ReadOnly,
            DatabaseFault::Full => Self::Full,
            DatabaseFault::Forbidden => Self::Forbidden(why(&error)),
            // The tables are not as expected.
            DatabaseFault::Statement | DatabaseFault::Broken | DatabaseFault::Foreign => {
                Self::Broken(why(&error))
            }
            DatabaseFault::Disk | DatabaseFault::Starting | DatabaseFault::Other => {
                Self::Away(why(&error))
            }
        }
    }
}

impl From<MigrateError> for Error {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Sql(error) => error.into(),
            MigrateError::Later { found, known } => Self::Broken(format!(
                "a newer Tollgate made these tables (step {found}, this one knows {known}); use that one"
            )),
        }
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sql(error) => error.into(),
            FileError::Removed(_) => Self::Away(error.to_string()),
            FileError::File(_, ref why) => match why.kind() {
                ErrorKind::StorageFull => Self::Full,
                ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
                ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::PermissionDenied => Self::Forbidden(error.to_string()),
                _ => Self::Away(error.to_string()),
            },
        }
    }
}
