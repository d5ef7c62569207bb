//! What may go wrong with a database, in words that say who has to do something.

use core::fmt;
use std::io::ErrorKind;

use tollgate_catalogue::{Kind, Refusal};
use tollgate_sqlite::{DatabaseFault, FileError, MigrateError, why};

/// Why there is no answer. Unless said otherwise nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// What was asked for is not allowed.
    Refused(Refusal),
    /// Somebody else was there first: the version now, or none where there is nothing.
    Conflict {
        /// The present version.
        present: Option<u64>,
    },
    /// Not in time. A write may have been made.
    Late,
    /// Others hold the database for longer than may be waited.
    Locked,
    /// There is no room for more.
    Full,
    /// The database takes no writes.
    ReadOnly,
    /// It cannot be reached, or went away. A write may have been made.
    Away(String),
    /// It does not accept who we say we are, or we do not accept who it says it is.
    Forbidden(String),
    /// What is in it makes no sense to this program.
    Broken(String),
}

impl Error {
    /// One word for it, for metrics and answers.
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

    /// Whether the database answered, so that its connection is as good as before.
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
            // Our tables are not as they should be.
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
