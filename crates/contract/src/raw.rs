//! The contract file as typed: what serde reads, and what the JSON schema describes.
//!
//! Not here: whether it makes sense (`check`).

use core::fmt;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use tollgate_limit::POLICIES_MAX;

use crate::fields::{FieldShape, PolicyField};
use crate::schema;
use crate::text::{Few, Pairs, TOO_MANY, Text, YamlNode, given};
use crate::{CONTRACTS_MAX, ENTRIES_MAX, PLANS_MAX};

/// Contracts of Tollgate: which limits bind which requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContractFile", extend("required" = ["contracts"]))]
pub(crate) struct RawFile {
    /// The contracts. Every one that applies to a request binds it.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Vec<RawContract>", length(min = 1, max = 100_000))]
    pub(crate) contracts: Option<YamlNode<Few<YamlNode<RawContract>, CONTRACTS_MAX>>>,
    /// Named sets of policies that contracts follow.
    #[serde(default)]
    #[schemars(with = "PlansSchema")]
    pub(crate) plans: RawPlans,
    /// What becomes of a key that no contract binds; what the server says where absent.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "schema::unmatched")]
    pub(crate) unmatched: Option<Text>,
}

/// The part of a larger file that a contract file would have.
#[derive(Debug, Deserialize)]
pub(crate) struct RawPart {
    #[serde(default, deserialize_with = "given")]
    pub(crate) contracts: Option<YamlNode<Few<YamlNode<RawContract>, CONTRACTS_MAX>>>,
    #[serde(default)]
    pub(crate) plans: RawPlans,
}

impl From<RawPart> for RawFile {
    fn from(RawPart { contracts, plans }: RawPart) -> Self {
        Self {
            contracts,
            plans,
            unmatched: None,
        }
    }
}

/// The policies that bind one kind of key; all must admit.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Contract")]
pub struct RawContract {
    /// Names the contract.
    #[schemars(with = "String", length(min = 1, max = 256))]
    pub(crate) id: Text,
    /// Entries that must be present with these values; `*` is any value.
    #[serde(default, rename = "match", skip_serializing_if = "Pairs::is_empty")]
    #[schemars(with = "BTreeMap<String, EntryValue>", extend("maxProperties" = 64))]
    pub(crate) matches: Pairs<Text>,
    /// Entries whose values identify the counter, in this order. Without any there is one counter for everybody.
    #[serde(default, skip_serializing_if = "Few::is_empty")]
    #[schemars(with = "Vec<String>", length(max = 64))]
    pub(crate) key: Few<Text, ENTRIES_MAX>,
    /// How nodes agree about policies that do not say so themselves.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::coordination")]
    pub(crate) coordination: Option<Text>,
    /// Which header fields tell clients of their quota; the listener's where absent.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::headers")]
    pub(crate) headers: Option<Text>,
    /// The plan whose policies the contract has; its own policies override and add to them.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "String")]
    pub(crate) plan: Option<Text>,
    /// The contract's own policies. One with the name of a policy of the plan overrides the fields it gives.
    #[serde(default, skip_serializing_if = "Few::is_empty")]
    #[schemars(with = "Vec<RawPolicy>", length(max = 64))]
    pub(crate) policies: RawPolicies,
}

impl RawContract {
    /// The contract's name.
    pub fn id(&self) -> &str {
        &self.id.value
    }
}

/// The policies of a contract or a plan.
pub type RawPolicies = Few<YamlNode<RawPolicy>, POLICIES_MAX>;

/// A policy: names with values. Which names there are is in `fields`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct RawPolicy(pub(crate) Pairs<Text>);

impl Serialize for RawPolicy {
    /// As a program would write it: numbers and switches as what they are.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.0.len()))?;
        for (name, value) in &self.0.0 {
            let shape = PolicyField::named(&name.value).map(|field| field.shape);
            let text = &*value.value;
            match (shape, text.parse::<u64>(), text.parse::<bool>()) {
                (Some(FieldShape::Whole(..)), Ok(number), _) => {
                    map.serialize_entry(name, &number)?;
                }
                (Some(FieldShape::Switch), _, Ok(switch)) => map.serialize_entry(name, &switch)?,
                _ => map.serialize_entry(name, text)?,
            }
        }
        map.end()
    }
}

/// A named set of policies.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Plan")]
pub struct RawPlan {
    /// Names the plan.
    #[schemars(with = "String", length(min = 1, max = 256))]
    pub(crate) id: Text,
    /// The plan whose policies the plan has; its own policies override and add to them.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "String", length(min = 1, max = 256))]
    pub(crate) follows: Option<Text>,
    /// The plan's own policies. Needed unless it follows a plan.
    #[serde(default, skip_serializing_if = "Few::is_empty")]
    #[schemars(with = "Vec<RawPolicy>", length(max = 64))]
    pub(crate) policies: RawPolicies,
}

impl RawPlan {
    /// The plan's name.
    pub fn id(&self) -> &str {
        &self.id.value
    }

    /// The plan it follows.
    pub fn follows(&self) -> Option<&str> {
        self.follows.as_ref().map(|text| &*text.value)
    }
}

/// A plan whose name stands before it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlanBody")]
struct RawPlanBody {
    /// The plan whose policies the plan has; its own policies override and add to them.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String", length(min = 1, max = 256))]
    follows: Option<Text>,
    /// The plan's own policies. Needed unless it follows a plan.
    #[serde(default)]
    #[schemars(with = "Vec<RawPolicy>", length(max = 64))]
    policies: RawPolicies,
}

/// Plans as a list with ids, or as fields named after them.
#[derive(Debug, Default)]
pub(crate) struct RawPlans(pub(crate) Vec<RawPlan>);

impl<'de> Deserialize<'de> for RawPlans {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlansVisitor)
    }
}

struct PlansVisitor;

impl<'de> Visitor<'de> for PlansVisitor {
    type Value = RawPlans;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of plans, each with `id` and `policies`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut plans = Vec::new();
        while let Some(plan) = list.next_element()? {
            if plans.len() == PLANS_MAX {
                return Err(A::Error::custom(format_args!("{TOO_MANY}{PLANS_MAX}")));
            }
            plans.push(plan);
        }
        Ok(RawPlans(plans))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut plans = Vec::new();
        while let Some((id, RawPlanBody { follows, policies })) = map.next_entry()? {
            if plans.len() == PLANS_MAX {
                return Err(A::Error::custom(format_args!("{TOO_MANY}{PLANS_MAX}")));
            }
            plans.push(RawPlan {
                id,
                follows,
                policies,
            });
        }
        Ok(RawPlans(plans))
    }
}

/// A list of plans with ids, or plans under their names.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Plans")]
#[expect(dead_code, reason = "only describes what `RawPlans` reads")]
enum PlansSchema {
    /// A list of plans with ids.
    List(Vec<RawPlan>),
    /// Plans under their names.
    Named(BTreeMap<String, RawPlanBody>),
}

/// The value of an entry; numbers and switches count as what was typed.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only describes what `Text` reads")]
enum EntryValue {
    Text(String),
    Number(f64),
    Switch(bool),
}
