//! A contract with the fields of its plan and the defaults.

use serde_json::{Map, Value, json};
use tollgate_contract::{Contract, FieldShape, NamedPolicy};
use tollgate_limit::{OnLimit, Period};

pub(super) fn contract(contract: &Contract) -> Value {
    let policies: Vec<Value> = contract.policies.iter().map(policy).collect();
    let matches = contract.matches.iter();
    let matches: Map<String, Value> = matches
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    json!({
        "id": contract.id,
        "match": matches,
        "key": contract.key,
        "plan": contract.plan,
        "policies": policies,
    })
}

fn policy(policy: &NamedPolicy) -> Value {
    let config = policy.policy.config();
    let (on_limit, max_wait_ns) = match config.on_limit {
        OnLimit::Delay { max_wait_ns } => ("delay", max_wait_ns),
        OnLimit::Deny => ("deny", None),
    };
    let mut told = json!({
        "name": policy.name,
        "limit": config.limit,
        "algorithm": config.algorithm.name(),
        "burst": config.burst,
        "on_limit": on_limit,
        "max_wait_ns": max_wait_ns,
        "enforce_percent": config.enforce_percent,
        "coordination": policy.coordination.name(),
        "durable": policy.durable,
    });
    match &config.period {
        Period::Fixed(nanos) => told["per_ns"] = (*nanos).into(),
        Period::Calendar(calendar) => told["per"] = calendar.name().into(),
    }
    for field in policy.coordination.row().fields {
        let Some(value) = policy.fields.get(field.name).or_else(|| field.default()) else {
            continue;
        };
        match field.shape {
            FieldShape::Choice(names) => {
                told[field.name] = names[policy.fields.choice(field.name)].into();
            }
            FieldShape::Within(..) => told[format!("{}_ns", field.name)] = value.into(),
            _ => told[field.name] = value.into(),
        }
    }
    told
}
