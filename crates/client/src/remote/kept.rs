//! A node's refusal, given again for a while.
//!
//! All of it is the node's, as it would say it by then. Not here: for how long that is (`tollgate-lease`).

use tollgate_limit::{Instant, Span};

use super::{NodeAnswer, Outcome, Path};

/// A refusal of a node.
pub(super) struct KeptRefusal {
    /// What the request cost.
    pub(super) cost: u64,
    /// When it came.
    pub(super) at: Instant,
    /// Until when it said that the same does not pass.
    pub(super) until: Instant,
    /// The rest.
    pub(super) answer: NodeAnswer,
}

impl KeptRefusal {
    /// The refusal as the node would say it now.
    pub(super) fn outcome(&self, now: Instant) -> Outcome {
        let gone = u128::from(now.nanos_since(self.at));
        let less = |span: Span| Span::from_nanos(span.as_nanos().saturating_sub(gone));
        let mut answer = self.answer.clone();
        answer.reset_after = less(answer.reset_after);
        for one in &mut answer.violated {
            one.retry_after = one.retry_after.map(less);
        }
        let left = Span::from_nanos(u128::from(self.until.nanos_since(now)));
        Outcome {
            node: Some(Box::new(answer)),
            ..Outcome::denied(Path::Denied, Some(left))
        }
    }
}
