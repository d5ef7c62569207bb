//! Refusals by the listener itself, in words that clients know. The connection stays open unless stated otherwise.

use std::fmt;

use crate::engine::EngineError;
use crate::settings::TokenScope;

/// Why a command is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NotAuthenticated,
    /// A wrong password or token.
    WrongPassword,
    /// Too many wrong ones; the connection is closed.
    TooManyFailures,
    /// The client's token expired or was removed; the connection is closed.
    Ended,
    /// The client's token lacks this scope.
    NotInScope(TokenScope),
    /// A password was sent to a server without tokens.
    NoPasswordSet,
    KeyTooLong(usize),
    NameTooLong(usize),
    /// Names, values and ids that contracts see must be UTF-8.
    NotText,
    /// `MULTI` within a transaction.
    NestedMulti,
    /// `EXEC` or `DISCARD` without one.
    WithoutMulti(&'static str),
    /// `EXEC` after a queued command was refused.
    Aborted,
    /// `WATCH` within a transaction.
    WatchInside,
    /// `WATCH`: keys have no values here.
    NoWatch,
    /// The command is not for transactions.
    NotQueued,
    /// A transaction has more commands than this.
    QueueTooLong(usize),
    /// There is no room for the commands of a transaction.
    QueueFull,
    Engine(EngineError),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAuthenticated => f.write_str("NOAUTH Authentication required."),
            Self::WrongPassword => {
                f.write_str("WRONGPASS invalid username-password pair or user is disabled.")
            }
            Self::TooManyFailures => f.write_str("ERR too many wrong passwords"),
            Self::Ended => f.write_str(
                "NOAUTH the token's time is up, or it was replaced; connect again with another.",
            ),
            Self::NotInScope(scope) => write!(
                f,
                "NOPERM this token is not for that: it lacks the scope '{}'.",
                scope.name()
            ),
            Self::NoPasswordSet => f.write_str(
                "ERR AUTH <password> called without any password configured for the default user",
            ),
            Self::KeyTooLong(most) => write!(f, "ERR a key must have at most {most} bytes"),
            Self::NameTooLong(most) => write!(f, "ERR a name must have at most {most} bytes"),
            Self::NotText => f.write_str("ERR names, values and ids must be UTF-8"),
            Self::NestedMulti => f.write_str("ERR MULTI calls can not be nested"),
            Self::WithoutMulti(command) => write!(f, "ERR {command} without MULTI"),
            Self::Aborted => {
                f.write_str("EXECABORT Transaction discarded because of previous errors.")
            }
            Self::WatchInside => f.write_str("ERR WATCH inside MULTI is not allowed"),
            Self::NoWatch => {
                f.write_str("ERR WATCH is not supported: keys have no values to watch")
            }
            Self::NotQueued => f.write_str("ERR Command not allowed inside a transaction"),
            Self::QueueTooLong(most) => {
                write!(f, "ERR a transaction must have at most {most} commands")
            }
            Self::QueueFull => f.write_str("ERR no room for the commands of this transaction"),
            Self::Engine(error) => write!(f, "ERR {error}"),
        }
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}
