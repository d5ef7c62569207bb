//! How leases stand on one node, as `/v1/leases` shows it.

#![allow(clippy::cast_precision_loss)] // Shown, not decided by.

use serde::{Deserialize, Serialize};
use tollgate_node::PolicyLease;

use crate::shared::Shared;
use crate::supply::asked_spot;

/// How leases stand on this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeaseView {
    /// Clients that are connected to this node and have spoken of leases.
    pub clients: u64,
    /// Hints that found nobody.
    pub nudges_lost: u64,
    /// The policies.
    pub policies: Vec<LeasePolicyView>,
}

/// A policy that is lent. Rates are tokens per second, amounts are tokens; of the key that was asked for, or of all that this
/// node keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeasePolicyView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// For how long leases are given, in milliseconds.
    pub term_ms: u64,
    /// Keys that this node keeps.
    pub keys: u64,
    /// Keys of which a predecessor's leases may be out: nothing new is lent of them yet.
    pub learning: u64,
    /// Leases that are out.
    pub lessees: u64,
    /// Tokens in pools.
    pub pool: u64,
    /// Depth that is reserved: no more tokens than that are with clients.
    pub reserved_depth: u64,
    /// Rate that is reserved.
    pub reserved_rate: f64,
    /// What clients with a lease say they use.
    pub demand: f64,
    /// What those without one use.
    pub asked: f64,
    /// What is admitted too much at most, each time that a node begins to grant.
    pub over_admission_bound: u64,
    /// What happened since the start.
    pub counts: LeaseCountsView,
}

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseCountsView {
    /// Messages of clients.
    pub questions: u64,
    /// Requests that this node decided.
    pub served: u64,
    /// Of those, the ones that pass after a wait.
    pub promised: u64,
    /// Leases whose term ended with nothing said.
    pub ended: u64,
    /// Messages that came too late.
    pub stale: u64,
    /// Messages that came again.
    pub repeated: u64,
    /// Returns that were cut to what was lent.
    pub clamped: u64,
    /// Clients that were asked to speak.
    pub nudges: u64,
    /// Times that this node began anew after a pause.
    pub pauses: u64,
}

/// How all leases stand.
pub fn view(shared: &Shared) -> LeaseView {
    let now = shared.engine.now();
    whole(shared, &shared.engine.node().lease_status(None, now))
}

/// How a contract's leases stand, of a key or all; what is wrong with the question otherwise.
pub(crate) fn asked(
    shared: &Shared,
    contract: &str,
    entries: &[(&str, &str)],
) -> Result<LeaseView, String> {
    let of = asked_spot(shared, contract, entries)?;
    let now = shared.engine.now();
    let mut policies = shared.engine.node().lease_status(of, now);
    policies.retain(|policy| policy.contract == contract);
    Ok(whole(shared, &policies))
}

fn whole(shared: &Shared, policies: &[PolicyLease]) -> LeaseView {
    LeaseView {
        clients: shared.lend.clients() as u64,
        nudges_lost: shared.lend.lost(),
        policies: policies.iter().map(policy).collect(),
    }
}

fn policy(of: &PolicyLease) -> LeasePolicyView {
    let (stand, figures) = (&of.stand, &of.stand.figures);
    let per_second = |thousandths: u64| thousandths as f64 / 1e3;
    LeasePolicyView {
        contract: of.contract.clone(),
        policy: of.policy.clone(),
        term_ms: u64::try_from(of.term.as_nanos() / 1_000_000).unwrap_or(u64::MAX),
        keys: stand.keys,
        learning: stand.learning,
        lessees: stand.lessees,
        pool: stand.level,
        reserved_depth: stand.depth,
        reserved_rate: per_second(stand.rate),
        demand: per_second(stand.want),
        asked: per_second(stand.asked),
        over_admission_bound: of.over_max,
        counts: LeaseCountsView {
            questions: stand.questions,
            served: figures.served,
            promised: figures.promised,
            ended: figures.ended,
            stale: figures.stale,
            repeated: figures.repeated,
            clamped: figures.clamped,
            nudges: figures.nudges,
            pauses: stand.pauses,
        },
    }
}
