//! Rates that are divided among nodes: which policies those are, their clock, and their stored and shown state.
//!
//! Not here: the protocol (`tollgate-supply`), membership (`cluster`), and deciding.

mod clock;
mod keep;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_contract::{Contracts, Coordination, NamedPolicy};
use tollgate_node::{
    BadLimits, DivisionJournal, RateDivision, Roster, SupplyConfig, supply_limits,
};

use crate::cluster::ClusterError;
use crate::settings::ClusterSettings;

use crate::modes::view::ByOwnerView;
pub(crate) use clock::boot;
pub use clock::steady_now;
pub(crate) use keep::SupplyWriter;

/// What the server knows of divided rates, besides what the node does.
#[derive(Debug, Default)]
pub struct Supply {
    /// Policies too small to be divided.
    small: Mutex<Vec<ByOwnerView>>,
    /// Failed writes of the state.
    unkept: AtomicU64,
    /// Whether the last write failed.
    is_unkept: AtomicBool,
}

impl Supply {
    pub(crate) fn set_small(&self, small: Vec<ByOwnerView>) {
        for policy in &small {
            tracing::warn!("{policy}");
        }
        *self.small.lock() = small;
    }

    /// Policies too small to be divided; their owners decide.
    pub fn small(&self) -> Vec<ByOwnerView> {
        self.small.lock().clone()
    }

    /// Records whether the state was written; returns whether that changed.
    fn note_kept(&self, is_kept: bool) -> bool {
        self.unkept.fetch_add(u64::from(!is_kept), Relaxed);
        self.is_unkept.swap(!is_kept, Relaxed) == is_kept
    }

    /// Whether the state still waits to be written.
    pub(crate) fn is_unkept(&self) -> bool {
        self.is_unkept.load(Relaxed)
    }

    /// Failed writes of the state.
    pub fn unkept(&self) -> u64 {
        self.unkept.load(Relaxed)
    }
}

/// Contracts as a node of a cluster counts them, and the policies too small to be divided, whose owners decide.
pub(crate) fn divided(
    mut contracts: Contracts,
    roster: Option<&Roster>,
) -> Result<(Contracts, Vec<ByOwnerView>), String> {
    let mut small = Vec::new();
    let mut places = Vec::new();
    for (at, contract) in contracts.as_slice().iter().enumerate() {
        for (place, named) in contract.policies.iter().enumerate() {
            if !named.coordination.is_divided() {
                continue;
            }
            let who = format!("contract `{}`, policy `{}`", contract.id, named.name);
            let roster = roster.ok_or_else(|| no_roster(&who, named.coordination))?;
            let tokens = nodes_max(named).map_err(|error| format!("{who}: {error}"))?;
            if tokens < nodes(roster) {
                places.push((at, place));
                small.push(ByOwnerView {
                    contract: contract.id.clone(),
                    policy: named.name.clone(),
                    tokens,
                    nodes: nodes(roster),
                });
            }
        }
    }
    for (at, place) in places {
        contracts.set_coordination(at, place, Coordination::Owner);
    }
    Ok((contracts, small))
}

/// Among how many nodes a limit can be divided: each needs one token of the limit, and one of the burst.
pub fn nodes_max(named: &NamedPolicy) -> Result<u64, BadLimits> {
    let config = named.policy.config();
    supply_limits(config)?;
    Ok(config.limit.min(config.burst.unwrap_or(config.limit)))
}

fn no_roster(who: &str, coordination: Coordination) -> String {
    let name = coordination.name();
    format!(
        "{who}: `coordination: {name}` divides the limit among nodes that are known by name. \
        Write who they are, the same on every node: `cluster: {{ roster: [a, b, c] }}` in the server's file, \
        `--roster a,b,c`, or TOLLGATE_CLUSTER_ROSTER; a node's name is `cluster.name` or `--name`."
    )
}

/// Nodes with a weight above zero.
fn nodes(roster: &Roster) -> u64 {
    let with_weight = roster.nodes().iter().filter(|(_, weight)| *weight > 0);
    with_weight.count() as u64
}

/// A node's part in dividing rates, and the writer of its state; `None` without a roster.
pub(crate) fn share(
    settings: &ClusterSettings,
    name: &str,
    mut keep: Option<SupplyWriter>,
) -> Result<Option<(RateDivision, Option<SupplyWriter>)>, ClusterError> {
    let Some(roster) = &settings.roster else {
        return Ok(None);
    };
    if !roster.has(name) {
        tracing::warn!(name, "not in the roster: this node has no home and borrows");
    }
    let boot = keep.as_mut().map_or_else(clock::boot, SupplyWriter::begin);
    let journal = journal(settings, name, boot)?;
    let share = RateDivision {
        kept: keep.as_ref().map(SupplyWriter::kept).unwrap_or_default(),
        config: SupplyConfig {
            keeps: keep.is_some(),
            ..SupplyConfig::default()
        },
        steady: Some(Arc::new(steady_now)),
        journal,
        split: settings.split,
        ..RateDivision::new(roster.clone(), boot)
    };
    Ok(Some((share, keep)))
}

/// The log of admissions, if configured.
pub(crate) fn journal(
    settings: &ClusterSettings,
    name: &str,
    boot: u64,
) -> Result<Option<DivisionJournal>, ClusterError> {
    let folder = settings.admission_log.as_deref();
    let journal = folder.map(|folder| clock::journal(folder, name, boot));
    journal.transpose().map_err(ClusterError::Thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(names: &[(&str, u32)]) -> Roster {
        Roster::new(names.iter().map(|(name, weight)| ((*name).into(), *weight))).unwrap()
    }

    fn contracts(policy: &str) -> Contracts {
        let text = format!("contracts: [{{ id: a, policies: [{policy}] }}]");
        Contracts::parse(&text).unwrap()
    }

    #[test]
    fn limits_below_one_token_for_each_node_are_decided_by_owners() {
        let three = roster(&[("x", 1), ("y", 1), ("z", 5), ("idle", 0)]);
        for (policy, falls) in [
            ("{ name: p, limit: 2, per: 1s, coordination: supply }", true),
            (
                "{ name: p, limit: 3, per: 1s, coordination: supply }",
                false,
            ),
            (
                "{ name: p, limit: 3, per: 1h, burst: 2, coordination: supply }",
                true,
            ),
            (
                "{ name: p, limit: 2, per: 1s, coordination: gossip }",
                false,
            ),
        ] {
            let (made, small) = divided(contracts(policy), Some(&three)).unwrap();
            assert_eq!(!small.is_empty(), falls, "{policy}");
            for said in small {
                assert_eq!((said.tokens, said.nodes), (2, 3), "{policy}");
                let said = said.to_string();
                assert!(said.contains("contract `a`, policy `p`"), "{said}");
                assert!(said.contains("raise both to at least 3"), "{said}");
            }
            let is_owned = made.as_slice()[0].policies[0].coordination == Coordination::Owner;
            assert_eq!(is_owned, falls, "{policy}");
        }
    }

    #[test]
    fn a_supply_contract_without_a_roster_is_refused_with_what_to_write() {
        let supply = contracts("{ name: p, limit: 9, per: 1s, coordination: supply }");
        let error = divided(supply, None).unwrap_err();
        assert!(error.contains("--roster a,b,c"), "{error}");
        let local = contracts("{ name: p, limit: 9, per: 1s }");
        assert!(divided(local, None).is_ok());
    }
}
