//! Errors, counted by kind, with one example of each.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    Connect,
    /// The server closed a connection; every request under way on it counts.
    Closed,
    /// The input violates the protocol; every request under way counts.
    Malformed,
    Refused,
    /// The reply had no verdict.
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorCount {
    pub kind: ErrorKind,
    pub count: u64,
    /// The text of the first one.
    pub example: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Errors(Vec<ErrorCount>);

impl Errors {
    /// `example` is called once per kind.
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
