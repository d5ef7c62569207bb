//! The state on this node of policies that nodes count together, in any mode; and warnings about them.
//!
//! Not here: a mode's figures (`tollgate-mode`), and how HTTP and metrics write them.

pub mod view;

use tollgate_contract::{Contracts, Coordination};
use tollgate_node::{Adapt, Figure, FigureValue, Key, PolicyStatus, Scope};
use tollgate_table::Print;

use crate::shared::Shared;
use view::{DividedView, ModePolicyView, ModeView, RosterView};

pub fn view(shared: &Shared, by: Coordination) -> ModeView {
    let now = shared.engine.now();
    whole(shared, by, shared.engine.node().mode_status(by, None, now))
}

/// The state of a contract's policies, for a key or all; the error says what is wrong with the question.
pub(crate) fn asked(
    shared: &Shared,
    by: Coordination,
    contract: &str,
    entries: &[(&str, &str)],
) -> Result<ModeView, String> {
    let of = asked_spot(shared, contract, entries)?;
    let now = shared.engine.now();
    let mut policies = shared.engine.node().mode_status(by, of, now);
    policies.retain(|policy| policy.contract == contract);
    let mut view = whole(shared, by, policies);
    if let Some(divided) = &mut view.divided {
        divided.by_owner.retain(|small| small.contract == contract);
    }
    Ok(view)
}

fn whole(shared: &Shared, by: Coordination, policies: Vec<PolicyStatus>) -> ModeView {
    let cluster = shared.settings.cluster.as_ref();
    let split = cluster.map_or_else(Default::default, |cluster| cluster.split);
    let is = |mode: Coordination| by == mode;
    ModeView {
        divided: by.is_divided().then(|| divided(shared)),
        lends: is(Coordination::Split).then_some(cluster.is_some() && split.borrow),
        adapts: is(Coordination::Split).then_some(cluster.is_some() && split.adapt != Adapt::Off),
        clients: is(Coordination::Lease).then(|| shared.lend.clients() as u64),
        nudges_lost: is(Coordination::Lease).then(|| shared.lend.lost()),
        policies: policies.into_iter().map(policy).collect(),
    }
}

fn policy(of: PolicyStatus) -> ModePolicyView {
    let mut view = ModePolicyView {
        contract: of.contract,
        policy: of.policy,
        ..ModePolicyView::default()
    };
    for Figure { name, value, .. } in of.figures {
        view.set(
            name,
            match value {
                FigureValue::Count(count) => count.into(),
                FigureValue::Real(real) => real.into(),
                FigureValue::Text(text) => text.into(),
                FigureValue::Flag(flag) => flag.into(),
                FigureValue::Unknown => serde_json::Value::Null,
            },
        );
    }
    view
}

/// The place of a contract and of a key in it; without a spot, all its keys are meant.
fn asked_spot(
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
    // A question that names the contract may leave out entries that the contract matches on.
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

/// Warnings for an operator, one sentence each.
pub(crate) fn troubles(shared: &Shared) -> Vec<String> {
    let node = shared.engine.node();
    let (doubled, _) = node.doubled_names();
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
    let policies = view(shared, Coordination::Supply).policies;
    let drift: u64 = policies.iter().map(|of| of.count("counts.drift")).sum();
    if drift > 0 {
        said.push(format!("{drift} asks came from nodes whose clock ran wrong by more than a thousandth, who were not lent to: see to the clocks of the nodes"));
    }
    said
}

/// The nodes that limits are divided among.
pub(crate) fn divided(shared: &Shared) -> DividedView {
    let node = shared.engine.node();
    let roster = node.roster();
    let cluster = shared.cluster.get();
    let company = cluster.map(crate::cluster::Handle::members);
    let me = company.as_ref().and_then(|company| {
        let me = company.me?;
        company.members.iter().find(|member| member.node == me)
    });
    let nodes = roster.iter().flat_map(|roster| roster.nodes());
    DividedView {
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
    }
}

/// Warns of policies that cannot admit their whole limit because nodes synchronise too rarely.
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
