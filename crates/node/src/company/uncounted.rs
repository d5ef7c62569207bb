//! Policies that no machine can count together with other nodes, found before contracts are loaded.
//!
//! Contracts allow larger limits and longer periods than some machines do. Not here: which settings machines work with.

use core::fmt;

use tollgate_contract::{Contract, Contracts, Coordination, NamedPolicy};

use super::build;
use super::cut::split_limits;
use super::lend::{bucket_limits, lease_limits};
use super::union::supply_limits;

/// A policy that cannot be counted as its contract says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncountable {
    /// The contract's id.
    pub contract: String,
    /// The policy's name.
    pub policy: String,
    /// How nodes were to agree about it.
    pub coordination: &'static str,
    /// Why they cannot.
    pub why: String,
}

impl fmt::Display for Uncountable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            contract,
            policy,
            coordination,
            why,
        } = self;
        write!(
            f,
            "contract `{contract}`, policy `{policy}`: it cannot be counted under `coordination: {coordination}`: {why}; \
             make the limit smaller or the period shorter, or take `coordination: owner`"
        )
    }
}

impl core::error::Error for Uncountable {}

/// Whether every policy can be counted as its contract says: by a node of a cluster, or by one that is alone.
pub fn countable(contracts: &Contracts, is_alone: bool) -> Result<(), Uncountable> {
    for contract in contracts.as_slice() {
        for named in &contract.policies {
            wrong(contract, named, is_alone).map_err(|why| Uncountable {
                contract: contract.id.clone(),
                policy: named.name.clone(),
                coordination: named.coordination.name(),
                why,
            })?;
        }
    }
    Ok(())
}

/// Why the machine of a policy cannot be built; a node that is alone needs one only to lend.
fn wrong(contract: &Contract, named: &NamedPolicy, is_alone: bool) -> Result<(), String> {
    let config = named.policy.config();
    let said = |error: &dyn fmt::Display| error.to_string();
    match named.coordination {
        Coordination::Lease if contract.is_lent() => lease_limits(&named.policy)
            .map(drop)
            .map_err(|error| said(&error)),
        _ if is_alone => Ok(()),
        Coordination::Gossip => build::limits(config).map(drop),
        Coordination::Sync => bucket_limits(config).map(drop).map_err(|e| said(&e)),
        Coordination::Supply => supply_limits(config).map(drop).map_err(|e| said(&e)),
        Coordination::Split => split_limits(config).map(drop).map_err(|e| said(&e)),
        Coordination::Lease | Coordination::Local | Coordination::Owner | Coordination::Store => {
            Ok(())
        }
    }
}
