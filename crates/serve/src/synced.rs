//! How policies that are synchronised now and then stand on one node, as `/v1/cluster/sync` shows it; and who is warned of them.
//!
//! Not here: synchronising (`tollgate-lease`).

use serde::{Deserialize, Serialize};
use tollgate_contract::Contracts;
use tollgate_node::{PolicySync, SyncKeep};

use crate::shared::Shared;
use crate::supply::asked_spot;

/// How policies that are synchronised stand on this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncView {
    /// The policies.
    pub policies: Vec<SyncPolicyView>,
}

/// A policy that is synchronised. Amounts are tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncPolicyView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// How often nodes tell what they spent, in milliseconds.
    pub interval_ms: u64,
    /// What becomes of debts: `keep` or `forget`.
    pub debts: String,
    /// Live nodes, this one included.
    pub nodes: u64,
    /// What all of them together may admit too much of a key at once.
    pub over_admission_bound: u64,
    /// The most that a key whose centre this is was below zero.
    pub debt_max: u64,
    /// What keys whose centre this is owe now, all together.
    pub debt: u64,
    /// What was spent while the bucket of the centre had nothing.
    pub over: u64,
    /// Keys that are known.
    pub keys: u64,
    /// Those among them whose centre this is.
    pub centred: u64,
    /// Keys of which the centre has not confirmed everything.
    pub untold: u64,
    /// What happened since the start.
    pub counts: SyncCountsView,
    /// The key that was asked for.
    pub key: Option<SyncKeyView>,
}

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncCountsView {
    /// Times that a key was told to its centre.
    pub told: u64,
    /// Times that a centre answered.
    pub answered: u64,
    /// Times that this centre was told of a key.
    pub heard: u64,
    /// Of those, what came too late, or for another centre, or from nobody that lives, or found no room.
    pub ignored: u64,
}

/// How a key stands on this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncKeyView {
    /// The number of the node that is its centre.
    pub centre: u16,
    /// What is left, as far as this node knows.
    pub remaining: u64,
    /// What is owed, likewise.
    pub debt: u64,
    /// What was spent here since the key is known.
    pub spent: u64,
    /// Of that, what the centre has not confirmed.
    pub untold: u64,
    /// What all nodes spent that this centre heard of; zero elsewhere.
    pub heard: u64,
}

/// How all of them stand.
pub fn view(shared: &Shared) -> SyncView {
    let now = shared.engine.now();
    let policies = shared.engine.node().sync_status(None, now);
    SyncView {
        policies: policies.iter().map(policy).collect(),
    }
}

/// How a contract's stand, with a key or without; what is wrong with the question otherwise.
pub(crate) fn asked(
    shared: &Shared,
    contract: &str,
    entries: &[(&str, &str)],
) -> Result<SyncView, String> {
    let of = asked_spot(shared, contract, entries)?;
    let policies = shared.engine.node().sync_status(of, shared.engine.now());
    let policies = policies.iter().filter(|policy| policy.contract == contract);
    Ok(SyncView {
        policies: policies.map(policy).collect(),
    })
}

fn policy(of: &PolicySync) -> SyncPolicyView {
    let (stand, counts) = (&of.stand, &of.stand.counts);
    let debts = match of.config.keep {
        SyncKeep::Debt => "keep",
        SyncKeep::Nothing => "forget",
    };
    SyncPolicyView {
        contract: of.contract.clone(),
        policy: of.policy.clone(),
        interval_ms: of.config.interval_ns / 1_000_000,
        debts: debts.to_owned(),
        nodes: of.nodes,
        over_admission_bound: stand.over_max,
        debt_max: counts.debt_max,
        debt: stand.debt,
        over: counts.over,
        keys: stand.keys,
        centred: stand.centred,
        untold: stand.untold,
        counts: SyncCountsView {
            told: counts.told,
            answered: counts.answered,
            heard: counts.heard,
            ignored: counts.ignored,
        },
        key: of.key.map(|key| SyncKeyView {
            centre: key.centre.0,
            remaining: key.remaining,
            debt: key.debt,
            spent: key.spent,
            untold: key.untold,
            heard: key.heard,
        }),
    }
}

/// Tells of policies whose limits are not reached, as nodes synchronise them too seldom.
pub(crate) fn warn_of_shallow(contracts: &Contracts) {
    for contract in contracts.as_slice() {
        let policies = contract.policies.iter();
        for named in policies.filter(|named| named.is_shallow()) {
            let (contract, policy) = (&contract.id, &named.name);
            tracing::warn!(
                contract,
                policy,
                "more comes back in an `interval` than the `burst` holds, so that the limit is not reached"
            );
        }
    }
}
