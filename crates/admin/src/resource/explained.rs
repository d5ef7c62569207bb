//! Adds to the engine's explanation: the assignment in effect, the policies, and bans.

use std::borrow::Cow;

use serde_json::{Value, json};
use tollgate_catalogue::{Assignment, Ban, Catalogue, candidates};
use tollgate_catalogue_sql::Database;
use tollgate_contract::{Contract, NamedPolicy};
use tollgate_limit::{Instant, Period};

use crate::admin::Books;
use crate::call::Call;
use crate::fault::Fault;
use crate::time;

/// The entries of a key that is explained; a bare key has none.
pub(super) enum ExplainedEntries<'a> {
    Bare(&'a str),
    Named(&'a [(Cow<'a, str>, Cow<'a, str>)]),
}

impl ExplainedEntries<'_> {
    fn value(&self, contract: &Contract, name: &str) -> Option<&str> {
        match self {
            Self::Bare(value) => (contract.key.len() == 1).then_some(*value),
            Self::Named(entries) => {
                let found = entries.iter().find(|(is, _)| is == name);
                found.map(|(_, value)| &**value)
            }
        }
    }

    fn values(&self, contract: &Contract) -> Option<Vec<&str>> {
        let names = contract.key.iter();
        names.map(|name| self.value(contract, name)).collect()
    }
}

/// Adds the facts of the catalogue.
pub(super) async fn add(
    call: &Call,
    entries: &ExplainedEntries<'_>,
    told: &mut Value,
) -> Result<(), Fault> {
    let node = call.shared.engine.node();
    let all = node.contracts().as_slice().iter();
    let bound: Vec<&Contract> = all
        .filter(|contract| is_bound(told, &contract.id))
        .collect();
    for contract in &bound {
        describe(told, &contract.id, &contract.policies);
    }
    told["assignments"] = json!([]);
    told["bans"] = json!([]);
    if let Books::Database(database) = &call.office.books {
        told["assignments"] = assignments(database, &bound, entries, told).await?.into();
        // The engine knows bans too, but not their ids.
        let bans = bans(database, &bound, entries).await?;
        told["bans"] = bans.iter().map(shown).collect();
    }
    Ok(())
}

fn policies(told: &Value) -> impl Iterator<Item = &Value> {
    told["policies"].as_array().into_iter().flatten()
}

fn is_bound(told: &Value, contract: &str) -> bool {
    policies(told).any(|policy| policy["contract"] == contract)
}

/// Adds the period and the burst of each policy.
fn describe(told: &mut Value, contract: &str, are: &[NamedPolicy]) {
    let list = told["policies"].as_array_mut().into_iter().flatten();
    for policy in list.filter(|policy| policy["contract"] == contract) {
        let Some(is) = are.iter().find(|is| policy["policy"] == *is.name) else {
            continue;
        };
        let config = is.policy.config();
        policy["burst"] = json!(config.burst);
        match &config.period {
            Period::Fixed(nanos) => policy["per_ns"] = (*nanos).into(),
            Period::Calendar(calendar) => policy["per"] = calendar.name().into(),
        }
    }
}

/// The assignment in effect, for each contract that binds the key.
async fn assignments(
    database: &Database,
    bound: &[&Contract],
    entries: &ExplainedEntries<'_>,
    told: &mut Value,
) -> Result<Vec<Value>, Fault> {
    let snapshot = database.snapshot().await?;
    let mut found = Vec::new();
    let now = Instant::from_nanos(time::now_ns());
    let kept = bound
        .iter()
        .filter_map(|is| snapshot.catalogue.contract(&is.id));
    for contract in kept {
        let Some(values) = entries.values(contract) else {
            continue;
        };
        let about = database
            .lookup(Catalogue::identities(contract, &values))
            .await?;
        let ruling = snapshot.catalogue.ruling(contract, &values, &about, now);
        if let Some(terms) = &ruling.terms {
            describe(told, &contract.id, &terms.policies);
        }
        if let Some(by) = ruling.by {
            let until = ruling.until.map(|until| time::told(until.as_nanos()));
            let plan = about.iter().find(|is| is.id == by);
            let plan = plan.and_then(|is| plan_of(is, now));
            found.push(json!({ "contract": contract.id, "assignment": by, "plan": plan, "until": until, "failed": ruling.failed }));
        }
    }
    Ok(found)
}

fn plan_of(assignment: &Assignment, now: Instant) -> Option<String> {
    let (shape, then) = assignment.shapes();
    match assignment.until {
        Some(until) if now >= until => then.and_then(|then| then.plan),
        _ => shape.plan,
    }
}

/// Bans in force that cover the key.
async fn bans(
    database: &Database,
    bound: &[&Contract],
    entries: &ExplainedEntries<'_>,
) -> Result<Vec<Ban>, Fault> {
    let known: Vec<String> = match entries {
        ExplainedEntries::Named(entries) => {
            let each = entries.iter();
            each.flat_map(|(name, value)| candidates(name, value))
                .collect()
        }
        ExplainedEntries::Bare(value) => {
            let counted = bound.iter().filter(|contract| contract.key.len() == 1);
            let names = counted.filter_map(|contract| contract.key.first());
            names.flat_map(|name| candidates(name, value)).collect()
        }
    };
    let now = Instant::from_nanos(time::now_ns());
    let mut bans = database.bans().await?;
    bans.retain(|ban| {
        let is_there = |id: &String| bound.iter().any(|contract| contract.id == *id);
        ban.until.is_none_or(|until| now < until)
            && ban.contract.as_ref().is_none_or(is_there)
            && known.contains(&ban.identity.to_string())
    });
    Ok(bans)
}

fn shown(ban: &Ban) -> Value {
    json!({
        "id": ban.id,
        "identity": ban.identity.to_string(),
        "contract": ban.contract,
        "until": ban.until.map(|until| time::told(until.as_nanos())),
        "reason": ban.reason,
    })
}
