//! What a mode answers about a request and about a key.
//!
//! Not here: what a node makes of the answers of several policies.

use tollgate_limit::Span;

/// What a mode answers to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ModeVerdict {
    /// It passes, after `wait`; that much is left.
    Allow {
        /// Whole tokens left, as known here.
        remaining: u64,
        /// How long the request must be held back first; zero unless the bucket delays.
        wait: Span,
    },
    /// Nothing was taken; the same request could pass after `retry_after`, as known here.
    Deny {
        /// How long until then.
        retry_after: Span,
    },
    /// Nothing was taken: the cost exceeds the burst, so waiting will not help.
    Never,
}

impl ModeVerdict {
    /// Whether the request passes.
    pub const fn is_allowed(self) -> bool {
        matches!(self, Self::Allow { .. })
    }
}

/// What a mode would answer, and what is left before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ModeProbe {
    /// The answer.
    pub verdict: ModeVerdict,
    /// Whole tokens left before the request, as known here.
    pub remaining: u64,
    /// Whole tokens that more was admitted than there were, as known here.
    pub over: u64,
}

/// How a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whole tokens left, as known here.
    pub remaining: u64,
    /// Until the key is full again, as known here.
    pub reset_after: Span,
}
