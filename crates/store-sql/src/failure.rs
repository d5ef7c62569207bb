//! Maps errors of a database to failures of the engine.

use sqlx::Error;
use tollgate_sqlite::{DatabaseFault, FileError, why};
use tollgate_store::Failure;

pub fn of(error: &Error) -> Failure {
    match DatabaseFault::of(error) {
        DatabaseFault::Starting => Failure::Starting,
        DatabaseFault::Late | DatabaseFault::Busy => Failure::Late,
        DatabaseFault::ReadOnly => Failure::ReadOnly,
        DatabaseFault::Full => Failure::Full,
        DatabaseFault::Forbidden => Failure::Forbidden(why(error)),
        DatabaseFault::Broken | DatabaseFault::Foreign => Failure::Broken(why(error)),
        DatabaseFault::Statement | DatabaseFault::Disk | DatabaseFault::Other => {
            Failure::Unreachable(why(error))
        }
    }
}

pub(crate) fn of_file(error: &FileError) -> Failure {
    match error {
        FileError::Sql(error) => of(error),
        error => Failure::Unreachable(error.to_string()),
    }
}

/// Whether an immediate retry may help: another transaction won.
pub(crate) fn is_worth_retrying(error: &Error) -> bool {
    code(error).is_some_and(|code| matches!(code.as_str(), "40001" | "40P01"))
}

/// Whether the connection is still usable.
pub(crate) fn is_of_a_statement(error: &Error) -> bool {
    code(error).is_some_and(|code| !code.starts_with("57P") && !code.starts_with("08"))
}

/// Whether tables or functions are missing.
pub(crate) fn is_of_the_schema(error: &Error) -> bool {
    code(error).is_some_and(|code| matches!(code.as_str(), "42P01" | "42883"))
}

fn code(error: &Error) -> Option<String> {
    let Error::Database(error) = error else {
        return None;
    };
    Some(error.code()?.into_owned())
}
