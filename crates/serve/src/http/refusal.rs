//! The answers to questions that cannot be decided.

use http::StatusCode;
use tollgate_limit::Cost;
use tollgate_node::IdError;
use tollgate_wire::problem::Problem;

use super::Reply;
use super::request::{BodyRefusal, shown};
use crate::engine::{EngineError, SealError};

impl BodyRefusal {
    #[cold]
    pub(super) fn answer(&self, reply: &mut Reply) {
        let problem = self.problem();
        if problem.status == StatusCode::SERVICE_UNAVAILABLE.as_u16() {
            return reply.shed(&self.detail());
        }
        reply.problem(&problem);
    }

    /// Answers for a whole list, of which the check of this number is invalid.
    #[cold]
    pub(super) fn answer_nth(&self, number: usize, reply: &mut Reply) {
        let detail = format!("Check {number} of the list: {}", self.detail());
        reply.refuse(self.status(), &detail);
    }

    pub(super) fn problem(&self) -> Problem<'static> {
        let status = self.status();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            return Problem::reduced_capacity(self.detail());
        }
        let title = status.canonical_reason().unwrap_or("Refused");
        Problem::blank(status.as_u16(), title, self.detail())
    }

    const fn status(&self) -> StatusCode {
        match self {
            Self::KeyTooLong { .. } | Self::Cost(_) => StatusCode::BAD_REQUEST,
            Self::Engine(error) => match error {
                EngineError::UnknownContract(_)
                | EngineError::Id(IdError::Unknown)
                | EngineError::Receipt(SealError::Broken) => StatusCode::NOT_FOUND,
                EngineError::Receipt(SealError::Gone) => StatusCode::GONE,
                EngineError::BadId | EngineError::Policy(_) | EngineError::Malformed => {
                    StatusCode::BAD_REQUEST
                }
                EngineError::Id(IdError::SettledOtherwise { .. } | IdError::OtherKind) => {
                    StatusCode::CONFLICT
                }
                EngineError::Id(IdError::TooManyIds)
                | EngineError::TooManyPolicies
                | EngineError::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
            },
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::KeyTooLong { max } => format!("A key may have at most {max} bytes in all."),
            Self::Cost(tokens) => format!(
                "A cost is from 0 to {}, and not {tokens}.",
                Cost::MAX.tokens()
            ),
            Self::Engine(EngineError::UnknownContract(id)) => {
                format!("No contract has the id `{}`.", shown(id))
            }
            Self::Engine(error) => sentence(&error.to_string()),
        }
    }
}

/// Makes a sentence of an error text.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let mut sentence: String = first.into_iter().chain(letters).collect();
    sentence.push('.');
    sentence
}
