//! A change: the request, and its permanent record.
//!
//! Not here: whether it is allowed (`catalogue`), nor storage (`tollgate-catalogue-sql`).

use serde::Serialize;

use crate::refusal::Refusal;
use crate::{DOCUMENT_BYTES_MAX, Document, REASON_BYTES_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Contract,
    Plan,
    Assignment,
    /// Many assignments at once; the document has the number.
    Import,
    Ban,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Contract,
        Self::Plan,
        Self::Assignment,
        Self::Import,
        Self::Ban,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Plan => "plan",
            Self::Assignment => "assignment",
            Self::Import => "import",
            Self::Ban => "ban",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The state that the author of a change last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The object must not exist.
    Nothing,
    /// This version.
    Version(u64),
}

/// A requested change.
#[derive(Clone, Debug)]
pub struct Edit {
    pub kind: Kind,
    pub id: String,
    pub seen: Seen,
    pub author: String,
    /// Where the request came from, such as an address; may be empty.
    pub origin: String,
    pub reason: String,
}

impl Edit {
    /// Checks that the texts can be stored.
    pub fn check(&self) -> Result<(), Refusal> {
        let wrong = |what: &str| Err(Refusal::Wrong(what.to_owned()));
        if self.kind == Kind::Import {
            return wrong("an import is not edited; edit what it brought");
        }
        if self.author.is_empty() || self.author.len() > REASON_BYTES_MAX {
            return wrong("an author has 1 to 500 bytes");
        }
        if self.reason.len() > REASON_BYTES_MAX || self.origin.len() > REASON_BYTES_MAX {
            return wrong("a reason has at most 500 bytes");
        }
        let said = [&self.id, &self.author, &self.origin, &self.reason];
        if said.iter().any(|text| text.contains('\0')) {
            return wrong("no database keeps the character NUL");
        }
        Ok(())
    }
}

/// A change that was made. It is never overwritten.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Counts all changes.
    pub revision: u64,
    pub kind: Kind,
    pub id: String,
    /// Its version since this change; an object that is deleted and created again continues counting.
    pub version: u64,
    pub author: String,
    /// Nanoseconds since the UNIX epoch.
    pub at_ns: u64,
    pub reason: String,
    /// The document before; `None` if there was none.
    pub before: Option<Document>,
    /// The document after it; `None` for a deletion.
    pub after: Option<Document>,
}

/// Refuses a document that is too large to parse.
pub(crate) fn check_size(text: &str) -> Result<(), Refusal> {
    if text.len() > DOCUMENT_BYTES_MAX {
        let what = format!(
            "the document has {} bytes, more than {DOCUMENT_BYTES_MAX}",
            text.len()
        );
        return Err(Refusal::Wrong(what));
    }
    Ok(())
}
