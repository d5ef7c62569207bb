//! Why a change is not made, in words that say what to do.
//!
//! Not here: what a database may say (`tollgate-catalogue-sql`).

use core::fmt;

use tollgate_contract::ContractErrors;

use crate::change::Kind;

/// Why a change was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The document is wrong; each mistake has its place.
    Invalid(ContractErrors),
    /// The document would be right, but something about the request is not.
    Wrong(String),
    /// Something that follows it would not make sense any more: how many, and the first few with what would be wrong.
    Breaks {
        /// How many.
        count: u64,
        /// The first few.
        first: Vec<String>,
    },
    /// Others use it: how many, and the first few.
    InUse {
        /// How many.
        count: u64,
        /// The first few.
        first: Vec<String>,
    },
    /// There is no such thing.
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

/// Things that a refusal names.
pub(crate) const SHOWN_MAX: usize = 5;
