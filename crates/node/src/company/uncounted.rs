//! Policies that no machine can count together with other nodes, found before contracts are loaded.
//!
//! Contracts allow larger limits and longer periods than some machines do ([`countable`]), and a machine may not work
//! with the settings and the roster of a node ([`Node::countable`]). Not here: which those are.

use core::fmt;

use tollgate_contract::{Contract, Contracts, NamedPolicy};
use tollgate_limit::Instant;

use super::modes;
use super::roster::Roster;
use crate::node::Node;

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

impl Uncountable {
    pub(super) fn of(contract: &Contract, named: &NamedPolicy, why: String) -> Self {
        Self {
            contract: contract.id.clone(),
            policy: named.name.clone(),
            coordination: named.coordination.name(),
            why,
        }
    }
}

impl Node {
    /// Whether this node can count every policy as its contract says, by the roster in force or another: each machine
    /// is built and dropped.
    pub fn countable(
        &self,
        contracts: &Contracts,
        roster: Option<&Roster>,
        now: Instant,
    ) -> Result<(), Uncountable> {
        let Some(company) = self.company() else {
            return Ok(());
        };
        for contract in contracts.as_slice() {
            for named in &contract.policies {
                company.build(contract, named, roster, now).transpose()?;
            }
        }
        Ok(())
    }
}

/// Whether some node can count every policy as its contract says: one of a cluster, or one that is alone.
pub fn countable(contracts: &Contracts, is_alone: bool) -> Result<(), Uncountable> {
    let kinds = modes::usual(is_alone);
    for contract in contracts.as_slice() {
        for named in &contract.policies {
            let kind = kinds.iter().find(|kind| kind.counts(contract, named));
            let checked = kind.map_or(Ok(()), |kind| kind.check(contract, named));
            checked.map_err(|why| Uncountable::of(contract, named, why))?;
        }
    }
    Ok(())
}
