//! How keys are synchronised, and what a policy says of it.
//!
//! Not here: the scheme.

use tollgate_contract::NamedPolicy;

use crate::amount::{Limits, tokens};
use crate::config::bucket_limits;

/// What becomes of spending that the centre has no tokens for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdraft {
    /// It is owed.
    Debt,
    /// It is forgotten, as in the printed code: the level never goes below zero.
    Nothing,
}

/// How clients synchronise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncConfig {
    /// The bucket.
    pub limits: Limits,
    /// How often a client speaks.
    pub interval_ns: u64,
    /// What becomes of debts.
    pub keep: Overdraft,
}

impl SyncConfig {
    /// How a policy is synchronised.
    pub(super) fn of(policy: &NamedPolicy) -> Result<Self, String> {
        let limits = bucket_limits(policy.policy.config());
        Ok(Self {
            limits: limits.map_err(|error| error.to_string())?,
            interval_ns: policy.interval_ns(),
            keep: if policy.forgets_debts() {
                Overdraft::Nothing
            } else {
                Overdraft::Debt
            },
        })
    }

    /// Tokens that `clients` may admit too many in their first burst, if a round trip takes that long: each but one has
    /// the burst and what comes back until it is heard.
    pub fn over_max(&self, clients: u64, trip_ns: u64) -> u64 {
        let time = i128::from(self.interval_ns.saturating_add(trip_ns));
        let refill = self.limits.rate().saturating_add(1).saturating_mul(time);
        let each = self.limits.depth().saturating_add(refill);
        tokens(each.saturating_mul(i128::from(clients.saturating_sub(1)))).saturating_add(1)
    }

    /// Whether even one client loses, because the centre is full before it hears of what was spent.
    pub fn is_shallow(&self) -> bool {
        let refill = self
            .limits
            .rate()
            .saturating_mul(i128::from(self.interval_ns));
        self.limits.depth() < refill
    }
}
