//! What an error of the database means to whoever asked.

use sqlx::Error;
use tollgate_store::Failure;

/// The failure that an error is.
pub fn of(error: &Error) -> Failure {
    if let Some(code) = code(error) {
        return of_code(&code, error);
    }
    match error {
        Error::Tls(why) | Error::Configuration(why) => Failure::Forbidden(why.to_string()),
        // A handshake that fails is a failure to read.
        Error::Io(why) if is_of_tls(why) => Failure::Forbidden(why.to_string()),
        Error::ColumnDecode { .. } | Error::Decode(_) => Failure::Broken(error.to_string()),
        _ => Failure::Unreachable(error.to_string()),
    }
}

fn is_of_tls(error: &std::io::Error) -> bool {
    matches!(error.get_ref(), Some(why) if why.is::<rustls::Error>())
}

fn of_code(code: &str, error: &Error) -> Failure {
    match code {
        // Starting up, recovering, shutting down.
        "57P01" | "57P02" | "57P03" => Failure::Starting,
        // A statement or a lock took too long; others went first.
        "57014" | "55P03" | "40001" | "40P01" => Failure::Late,
        // A hot standby, or a database that was made read-only.
        "25006" => Failure::ReadOnly,
        // Disk, memory, connections.
        _ if code.starts_with("53") => Failure::Full,
        // Who we are, which database, what we may.
        "3D000" | "42501" => Failure::Forbidden(error.to_string()),
        _ if code.starts_with("28") => Failure::Forbidden(error.to_string()),
        // Numbers that are none.
        _ if code.starts_with("22") => Failure::Broken(error.to_string()),
        _ => Failure::Unreachable(error.to_string()),
    }
}

/// Whether trying again may help at once: others went first.
pub(super) fn is_worth_retrying(error: &Error) -> bool {
    code(error).is_some_and(|code| matches!(code.as_str(), "40001" | "40P01"))
}

/// Whether the connection is as good as before.
pub(super) fn is_of_a_statement(error: &Error) -> bool {
    code(error).is_some_and(|code| !code.starts_with("57P") && !code.starts_with("08"))
}

/// Whether our tables or functions are not there.
pub(super) fn is_of_the_schema(error: &Error) -> bool {
    code(error).is_some_and(|code| matches!(code.as_str(), "42P01" | "42883"))
}

fn code(error: &Error) -> Option<String> {
    let Error::Database(error) = error else {
        return None;
    };
    Some(error.code()?.into_owned())
}
