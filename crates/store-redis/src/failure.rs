//! What an error of Redis, or of the connection, means for a request.

use redis::{ErrorKind, RedisError, ServerErrorKind};
use tollgate_store::Failure;

pub(crate) fn of(error: &RedisError) -> Failure {
    if let Some(failure) = by_code(error.code().unwrap_or_default(), error) {
        return failure;
    }
    match error.kind() {
        _ if error.is_timeout() => Failure::Late,
        ErrorKind::AuthenticationFailed => Failure::Forbidden("wrong user or password".into()),
        ErrorKind::ClusterConnectionNotFound
        | ErrorKind::MasterNameNotFoundBySentinel
        | ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask
            | ServerErrorKind::TryAgain,
        ) => Failure::Starting,
        ErrorKind::Server(ServerErrorKind::ReadOnly) => Failure::ReadOnly,
        ErrorKind::Server(ServerErrorKind::NoPerm) => Failure::Forbidden(text(error)),
        ErrorKind::Server(_) | ErrorKind::Extension => Failure::Broken(text(error)),
        _ if is_about_us(error) => Failure::Forbidden(text(error)),
        _ => Failure::Unreachable(text(error)),
    }
}

/// Whether an error means that the connection is unusable.
pub(crate) fn ends_connection(error: &RedisError) -> bool {
    error.is_unrecoverable_error() && !error.is_timeout()
}

/// Codes that redis-rs has no name for, and those that a script's error hides.
fn by_code(code: &str, error: &RedisError) -> Option<Failure> {
    match code {
        "OOM" | "MISCONF" => Some(Failure::Full),
        "NOAUTH" | "WRONGPASS" | "NOPERM" | "DENIED" => Some(Failure::Forbidden(text(error))),
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "MOVED" | "ASK" | "BUSY" => {
            Some(Failure::Starting)
        }
        "READONLY" | "NOREPLICAS" => Some(Failure::ReadOnly),
        _ => None,
    }
}

/// Whether it is about authentication. In a Cluster, only the text is left of why no node was
/// reached.
fn is_about_us(error: &RedisError) -> bool {
    let text = error.to_string().to_lowercase();
    ["certificate", "tls", "authentication failed", "noperm"]
        .iter()
        .any(|word| text.contains(word))
}

/// The first line of the message; Redis names commands and codes in it, never secrets.
fn text(error: &RedisError) -> String {
    const CHARS_MAX: usize = 200;
    error
        .to_string()
        .chars()
        .take_while(|c| *c != '\n')
        .take(CHARS_MAX)
        .collect()
}
