//! The mistakes found while a file is checked, collected up to a bound.

use crate::ERRORS_MAX;
use crate::error::{ContractError, ContractErrors, ErrorKind};
use crate::snippet::{Place, Snippet};

/// A mistake before its source line is cut out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of mistake.
    pub kind: ErrorKind,
    /// Where.
    pub place: Place,
    /// What is wrong and, where that is known, what to write.
    pub what: String,
}

impl Problem {
    /// A mistake at a place.
    pub fn new(kind: ErrorKind, place: Place, what: impl Into<String>) -> Self {
        Self {
            kind,
            place,
            what: what.into(),
        }
    }

    /// The whole answer, where nothing else can be said about the text.
    pub fn alone(self, text: &str) -> ContractErrors {
        let mut problems = Problems::default();
        problems.add(self);
        problems.into_errors(text)
    }
}

/// Mistakes so far. The same mistake found twice, as in a plan that many follow, counts once.
#[derive(Debug, Default)]
pub struct Problems {
    found: Vec<Problem>,
    unreported: usize,
}

impl Problems {
    /// Adds a mistake.
    pub fn add(&mut self, problem: Problem) {
        if self.found.contains(&problem) {
            return;
        }
        if self.found.len() < ERRORS_MAX {
            self.found.push(problem);
        } else {
            self.unreported += 1;
        }
    }

    /// Adds a mistake and goes on without the value.
    pub fn keep<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    /// Whether so much is wrong that looking further only costs time.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.found.len() + self.unreported >= COUNTED_MAX
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// What is wrong, in the order found.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.found.iter().map(|problem| &*problem.what)
    }

    /// The errors in the order of the text they are about.
    pub fn into_errors(mut self, text: &str) -> ContractErrors {
        self.found.sort_by_key(|problem| problem.place);
        let errors = self.found.into_iter().map(|problem| ContractError {
            kind: problem.kind,
            snippet: Snippet::of(text, problem.place),
            what: problem.what.into(),
            file: None,
        });
        ContractErrors {
            errors: errors.collect(),
            unreported: self.unreported,
        }
    }
}

/// Mistakes after which a file is read no further.
const COUNTED_MAX: usize = 1000;
