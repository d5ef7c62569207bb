//! Clients that hold leases of this server, how they are reached when they should speak, and leases that it holds of
//! other nodes.
//!
//! Not here: lending (`tollgate-node`), and how what clients say gets here (`resp`).

mod hold;
mod hub;

use std::sync::Arc;

use tollgate_contract::{Contracts, Recovery};
use tollgate_node::{DivisionJournal, Lend};

use crate::supply::steady_now;

pub(crate) use hold::{HeldWaits, LeaseAsker, PendingHeld};
pub use hub::{Hub, Mailbox};

/// Tells of policies that begin with nothing at each start and take long to fill.
pub(crate) fn warn_of_slow(contracts: &Contracts) {
    let each = contracts.as_slice().iter();
    for contract in each.filter(|contract| contract.is_lent() && !contract.is_in_ledger()) {
        for named in &contract.policies {
            let config = named.policy.config();
            let burst = u128::from(config.burst.unwrap_or(config.limit));
            let nanos = burst * u128::from(config.period.nanos()) / u128::from(config.limit.max(1));
            if named.recovery() == Recovery::Restate && nanos > SLOW_NS {
                let (contract, policy, seconds) =
                    (&contract.id, &named.name, nanos / 1_000_000_000);
                tracing::warn!(
                    contract,
                    policy,
                    seconds,
                    "begins with nothing whenever a node begins to grant, and takes so long to fill; \
                    `recovery: fresh` begins with a full burst, `recovery: ledger` goes on by what a store keeps"
                );
            }
        }
    }
}

/// What takes longer to fill is told of.
const SLOW_NS: u128 = 60_000_000_000;

/// A server's part in lending: in a cluster others take over where it is silent.
pub(crate) fn lending(
    generation: u64,
    has_successors: bool,
    journal: Option<DivisionJournal>,
) -> Lend {
    Lend {
        generation,
        has_successors,
        steady: Some(Arc::new(steady_now)),
        // The engine's, which is set where this is.
        day: None,
        journal,
        quota: None,
        holder: None,
        is_first: Arc::default(),
    }
}
