//! Staged roll-out: a policy is in shadow mode, then binds a share of keys, then all of them. Each step is a change
//! like any
//! other.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::{Map, Value, json};
use tollgate_catalogue::Document;
use tollgate_contract::Contract;

use super::objects::{missing, write};
use crate::answer::Reply;
use crate::call::Call;
use crate::fault::Fault;

/// `POST /contracts/{id}/rollout`.
pub(crate) async fn rollout(call: &Call) -> Result<Reply, Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        policy: Option<String>,
        to: Step,
    }
    let database = call.database()?;
    let Body { policy, to } = call.json()?;
    let item = database.get(call.kind, call.name()).await?;
    let mut item = item.ok_or_else(|| missing(call))?;
    let snapshot = database.snapshot().await?;
    let contract = snapshot.catalogue.contract(call.name());
    let contract = contract.ok_or_else(|| missing(call))?;
    for name in names(contract, policy.as_deref())? {
        to.write(&mut item.document, name);
    }
    let text = item.document.to_string();
    write(call, database, &text, call.reason()?).await
}

/// One policy, or all.
fn names<'a>(contract: &'a Contract, wanted: Option<&str>) -> Result<Vec<&'a str>, Fault> {
    let all = || contract.policies.iter().map(|policy| policy.name.as_str());
    match wanted {
        None => Ok(all().collect()),
        Some(wanted) => match all().find(|name| *name == wanted) {
            Some(name) => Ok(vec![name]),
            None => Err(Fault::unknown("policy", wanted, all())),
        },
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It only counts.
    Shadow,
    /// It binds this share of keys, in percent.
    Percent(u64),
}

impl Step {
    /// Changes a policy of a contract; one that comes from its plan is overridden.
    fn write(self, document: &mut Document, name: &str) {
        let Some(contract) = document.as_object_mut() else {
            return;
        };
        let policies = contract.entry("policies").or_insert_with(|| json!([]));
        let Some(policies) = policies.as_array_mut() else {
            return;
        };
        let is_it = |policy: &&mut Value| policy.get("name").and_then(Value::as_str) == Some(name);
        if let Some(policy) = policies.iter_mut().find(is_it) {
            if let Some(policy) = policy.as_object_mut() {
                self.set(policy);
            }
            return;
        }
        let mut policy = Map::new();
        policy.insert("name".to_owned(), name.into());
        self.set(&mut policy);
        policies.push(policy.into());
    }

    fn set(self, policy: &mut Map<String, Value>) {
        let mode = match self {
            Self::Shadow => {
                policy.remove("enforce_percent");
                "shadow"
            }
            Self::Percent(percent) => {
                policy.insert("enforce_percent".to_owned(), percent.into());
                "enforce"
            }
        };
        policy.insert("mode".to_owned(), mode.into());
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (value.as_str(), value.as_u64()) {
            (Some("shadow"), _) | (_, Some(0)) => Ok(Self::Shadow),
            (Some("all"), _) => Ok(Self::Percent(100)),
            (_, Some(percent @ 1..=100)) => Ok(Self::Percent(percent)),
            _ => Err(D::Error::custom(
                "`to` is \"shadow\", a share of keys from 0 to 100, or \"all\"",
            )),
        }
    }
}
