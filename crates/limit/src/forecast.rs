//! What each policy of a set would say to a request, for whoever must explain it.
//!
//! Nothing is charged, and nothing here is on the way of a decision.

use crate::cell::Cell;
use crate::decision::{Cost, Lot, Verdict};
use crate::set::PolicySet;
use crate::state::Fit;
use crate::time::{Instant, Span};

/// What one policy would say to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The policy's limit.
    pub limit: u64,
    /// The most tokens it can hold: its burst, or its limit.
    pub capacity: u64,
    /// Whole tokens left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// Whether it binds the key, or only watches.
    pub is_enforced: bool,
    /// What it says by itself.
    pub verdict: Verdict,
    /// Until it is as if the key had never been seen.
    pub reset_after: Span,
}

impl PolicySet {
    /// What each policy would say to a request, in order.
    pub fn foresee<const N: usize>(
        &self,
        cell: &Cell<N>,
        cost: Cost,
        now: Instant,
        lot: Lot,
    ) -> Vec<Forecast> {
        let now = now.max(cell.at());
        cell.view(self, |at, states| {
            let each = self.policies().iter().zip(states).map(|(policy, state)| {
                let probe = policy.probe(state, at, now, cost.tokens().max(1));
                Forecast {
                    limit: policy.config().limit,
                    capacity: policy.capacity(),
                    remaining: probe.remaining,
                    debt: probe.debt,
                    is_enforced: lot.is_within(policy.config().enforce_percent),
                    verdict: match probe.fit {
                        Fit::Now => Verdict::Allow,
                        Fit::After(wait) => Verdict::Delay { wait },
                        Fit::Retry(retry_after) => Verdict::Deny { retry_after },
                        Fit::Never => Verdict::Never,
                    },
                    reset_after: Span::between(now, policy.fresh_at_ns(state, at)),
                }
            });
            each.collect()
        })
    }
}
