//! Why a question has no answer.

use std::fmt;

use tollgate_limit::PolicyError;
use tollgate_node::IdError;

use super::SealError;

/// Why a question has no answer. Nothing was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// No contract has this id.
    UnknownContract(String),
    /// A caller's id is empty or too long.
    BadId,
    /// The operation cannot be done by this id.
    Id(IdError),
    /// The receipt was not written here, or was changed.
    Receipt(SealError),
    /// The policy that a request describes makes no sense.
    Policy(PolicyError),
    /// Requests describe more different policies than are kept.
    TooManyPolicies,
    /// Whoever would have to do it cannot be reached. It may have been done all the same.
    Unreachable,
    /// What a client says of its leases makes no sense.
    Malformed,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownContract(id) => write!(f, "no contract has the id `{id}`"),
            Self::BadId => f.write_str("an id must have 1 to 128 bytes"),
            Self::Id(error) => error.fmt(f),
            Self::Receipt(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::TooManyPolicies => f.write_str("too many different policies are in use"),
            Self::Unreachable => f.write_str("the node that counts this key cannot be reached"),
            Self::Malformed => {
                f.write_str("this is no statement of leases; the client may be of another version")
            }
        }
    }
}

impl std::error::Error for EngineError {}
