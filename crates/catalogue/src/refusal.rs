//! Why a change is refused; messages say what to do.
//!
//! Not here: database errors (`tollgate-catalogue-sql`).

use core::fmt;

use tollgate_contract::ContractErrors;

use crate::change::Kind;

/// Why a change was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The document is invalid; each error has its place.
    Invalid(ContractErrors),
    /// The document is valid, but the request is not.
    Wrong(String),
    /// Objects that follow it would become invalid.
    Breaks {
        count: u64,
        /// With what would be wrong.
        first: Vec<String>,
    },
    /// Other objects use it.
    InUse {
        count: u64,
        first: Vec<String>,
    },
    NotFound(Kind, String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(errors) => write!(f, "{errors}"),
            Self::Wrong(why) => f.write_str(why),
            Self::Breaks { count, first } => write!(
                f,
                "{} would not make sense any more; change that first: {}",
                things(*count),
                first.join("; ")
            ),
            Self::InUse { count, first } => write!(
                f,
                "still used by {}; change that first: {}",
                things(*count),
                first.join("; ")
            ),
            Self::NotFound(kind, id) => write!(f, "there is no {} `{id}`", kind.name()),
        }
    }
}

impl core::error::Error for Refusal {}

fn things(count: u64) -> String {
    match count {
        1 => "1 thing".into(),
        _ => format!("{count} things"),
    }
}

/// Objects that a refusal names.
pub(crate) const SHOWN_MAX: usize = 5;
