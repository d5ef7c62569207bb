//! Puts together how divided rates stand on this node.

#![allow(clippy::cast_precision_loss)] // Shown, not decided by.

use tollgate_node::{Key, PolicySupply, Scope};
use tollgate_table::Print;

use super::figures::FIGURES;
use super::view::{RosterView, StandsView, SupplyPolicyView, SupplyView};
use crate::shared::Shared;

/// How all divided rates stand.
pub fn view(shared: &Shared) -> SupplyView {
    let now = shared.engine.now();
    let node = shared.engine.node();
    let policies = node.supply_status(None, now);
    SupplyView {
        policies: policies.iter().map(policy).collect(),
        ..common(shared)
    }
}

/// How a contract's divided rates stand, for a key or all; what is wrong with the question otherwise.
pub(crate) fn asked(
    shared: &Shared,
    contract: &str,
    entries: &[(&str, &str)],
) -> Result<SupplyView, String> {
    let of = asked_spot(shared, contract, entries)?;
    let node = shared.engine.node();
    let now = shared.engine.now();
    let policies = node.supply_status(of, now);
    let policies = policies.iter().filter(|policy| policy.contract == contract);
    let mut view = SupplyView {
        policies: policies.map(policy).collect(),
        ..common(shared)
    };
    view.by_owner.retain(|small| small.contract == contract);
    Ok(view)
}

/// The place of a contract, and of a key in it; nothing where all its keys are meant.
pub(crate) fn asked_spot(
    shared: &Shared,
    contract: &str,
    entries: &[(&str, &str)],
) -> Result<Option<(usize, Print)>, String> {
    let node = shared.engine.node();
    let node = node.newest();
    let within = node.within(Scope::Contract(contract));
    let within = within.map_err(|_| format!("no contract has the id `{contract}`"))?;
    let asked = node.contracts().as_slice().iter();
    let asked = asked.enumerate().find(|(_, of)| of.id == contract);
    let Some((place, of)) = asked.filter(|(_, of)| !entries.is_empty() || of.key.is_empty()) else {
        return Ok(None);
    };
    // Whoever names the contract need not say what it asks for.
    let is_said = |name: &str| entries.iter().any(|(said, _)| *said == name);
    let matches = of.matches.iter().filter(|(name, _)| !is_said(name));
    let matches = matches.map(|(name, value)| (&**name, &**value));
    let entries: Vec<(&str, &str)> = entries.iter().copied().chain(matches).collect();
    let spots = within.spots(Key::Entries(&entries));
    let spot = spots.iter().find(|spot| spot.contract == place);
    let spot = spot.ok_or_else(|| {
        let key = of.key.join("`, `");
        format!("the contract does not bind a key with these entries: it counts by `{key}`")
    })?;
    Ok(Some((place, spot.print)))
}

/// What somebody should look at, one sentence each.
pub(crate) fn troubles(shared: &Shared) -> Vec<String> {
    let (doubled, _) = shared.engine.node().doubled_names();
    let mut said: Vec<String> = doubled
        .iter()
        .map(|name| {
            format!("more than one live node is called `{name}`: only the one that started first has the home; give every node a name of its own")
        })
        .collect();
    said.extend(shared.supply.small().iter().map(ToString::to_string));
    if shared.supply.is_unkept() {
        said.push("what must be kept of divided rates cannot be written to the data directory: make room there; until then nobody takes what this node gave up".into());
    }
    let node = shared.engine.node();
    let policies = node.supply_status(None, shared.engine.now());
    let drift: u64 = policies
        .iter()
        .map(|policy| policy.figures.ignored.drift)
        .sum();
    if drift > 0 {
        said.push(format!("{drift} asks came from nodes whose clock ran wrong by more than a thousandth, who were not lent to: see to the clocks of the nodes"));
    }
    said
}

pub(super) fn common(shared: &Shared) -> SupplyView {
    let node = shared.engine.node();
    let roster = node.roster();
    let cluster = shared.cluster.get();
    let company = cluster.map(crate::cluster::Handle::members);
    let me = company.as_ref().and_then(|company| {
        let me = company.me?;
        company.members.iter().find(|member| member.node == me)
    });
    let nodes = roster.iter().flat_map(|roster| roster.nodes());
    SupplyView {
        on: roster.is_some(),
        name: me.map(|me| me.about.name.clone()).unwrap_or_default(),
        roster: nodes
            .map(|(name, weight)| RosterView {
                name: name.clone(),
                weight: *weight,
            })
            .collect(),
        doubled: node.doubled_names().0,
        by_owner: shared.supply.small(),
        policies: Vec::new(),
    }
}

fn policy(of: &PolicySupply) -> SupplyPolicyView {
    let stands = &of.key.stands;
    let until = stands.quarantine_until;
    SupplyPolicyView {
        contract: of.contract.clone(),
        policy: of.policy.clone(),
        rate: rate(of.limit.0),
        burst: of.limit.1,
        stands: StandsView {
            home: rate(stands.home),
            lent: rate(stands.lent),
            borrowed: rate(stands.borrowed),
            usable: rate(stands.usable),
            asked: rate(stands.asked),
            demand: rate(stands.demand),
            fill_ratio: ratio(stands.fill_milli),
            tokens: stands.tokens as f64 / TOKEN,
            depth: stands.depth as f64 / TOKEN,
            loans: stands.loans,
            boot: stands.boot.0,
            quarantine_ms: until.map_or(0, |until| until.nanos_since(of.now) / 1_000_000),
            settled: stands.is_settled,
        },
        keys: of.keys,
        of_keys: of.key.count,
        counts: FIGURES
            .iter()
            .map(|figure| (figure.name.to_owned(), (figure.of)(&of.figures)))
            .collect(),
    }
}

fn rate(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

pub(super) fn ratio(milli: u64) -> f64 {
    milli.min(RATIO_MAX_MILLI) as f64 / 1000.0
}

const TOKEN: f64 = 1e18;
/// A node that nobody asks anything of is filled without end.
const RATIO_MAX_MILLI: u64 = 1_000_000;
