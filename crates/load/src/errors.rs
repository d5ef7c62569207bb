//! What went wrong, counted by kind, with one example of each.

use serde::Serialize;

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No connection could be opened.
    Connect,
    /// The server closed a connection; every request under way on it counts.
    Closed,
    /// Bytes came that the protocol does not allow; every request under way counts.
    Malformed,
    /// The server answered with an error.
    Refused,
    /// The reply had no verdict in it.
    NoVerdict,
    /// No reply came before the run ended.
    Unanswered,
    /// The request was due, but the server left no room to send it.
    Unsent,
}

impl ErrorKind {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Refused => "refused",
            Self::NoVerdict => "no verdict",
            Self::Unanswered => "unanswered",
            Self::Unsent => "unsent",
        }
    }
}

/// How often a kind of trouble came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorCount {
    /// What kind.
    pub kind: ErrorKind,
    /// How often.
    pub count: u64,
    /// What the first one said.
    pub example: String,
}

/// Counts trouble.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors(Vec<ErrorCount>);

impl Errors {
    /// Counts `count` of a kind; `example` is asked once per kind.
    pub(crate) fn add(&mut self, kind: ErrorKind, count: u64, example: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().find(|known| known.kind == kind) {
            Some(known) => known.count += count,
            None => self.0.push(ErrorCount {
                kind,
                count,
                example: example().chars().take(EXAMPLE_MAX).collect(),
            }),
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for ErrorCount {
            kind,
            count,
            example,
        } in other.0
        {
            self.add(kind, count, || example);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|error| error.count).sum()
    }

    pub(crate) fn into_list(mut self) -> Vec<ErrorCount> {
        self.0.sort_by_key(|error| error.kind);
        self.0
    }
}

const EXAMPLE_MAX: usize = 200;
