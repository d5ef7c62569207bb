//! A change: what was asked for, and what is remembered of it for ever.
//!
//! Not here: whether it is allowed (`catalogue`), nor the keeping (`tollgate-catalogue-sql`).

use serde::Serialize;

use crate::refusal::Refusal;
use crate::{DOCUMENT_BYTES_MAX, Document, REASON_BYTES_MAX};

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A contract.
    Contract,
    /// A plan.
    Plan,
    /// An assignment.
    Assignment,
    /// Many assignments at once; the document says how many.
    Import,
    /// A ban.
    Ban,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Contract,
        Self::Plan,
        Self::Assignment,
        Self::Import,
        Self::Ban,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Plan => "plan",
            Self::Assignment => "assignment",
            Self::Import => "import",
            Self::Ban => "ban",
        }
    }

    /// The kind with that word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What whoever asks for a change last saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: there must be none.
    Nothing,
    /// This version.
    Version(u64),
}

/// A change that somebody asks for.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What it is about.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// What was seen of it.
    pub seen: Seen,
    /// Who asks.
    pub author: String,
    /// From where: an address, for example; may be empty.
    pub origin: String,
    /// Why.
    pub reason: String,
}

impl Edit {
    /// Whether what is said about the change can be kept.
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

/// A change that was made. Nothing of it is ever overwritten.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its number among all changes.
    pub revision: u64,
    /// What it is about.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// Its version since this change; one that was deleted and made again counts on.
    pub version: u64,
    /// Who made it.
    pub author: String,
    /// When: nanoseconds since the UNIX epoch.
    pub at_ns: u64,
    /// Why.
    pub reason: String,
    /// The document before; `None` where there was none.
    pub before: Option<Document>,
    /// The document since; `None` where it was deleted.
    pub after: Option<Document>,
}

/// Whether a document may be read at all.
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
