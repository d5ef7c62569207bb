//! How policies that nodes count together stand on one node, as `/v1/cluster/{supply,split,sync}` and `/v1/leases` show
//! it.
//!
//! The figures of a policy are those that its mode names. Not here: how they come about (`tollgate-mode`).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How the policies under one coordination stand on this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModeView {
    /// The roster, where the limit is divided by one.
    #[serde(flatten)]
    pub divided: Option<DividedView>,
    /// Whether nodes lend each other tokens; under `split` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lends: Option<bool>,
    /// Whether parts follow traffic; under `split` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapts: Option<bool>,
    /// Clients that are connected to this node and have spoken of leases; under `lease` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u64>,
    /// Hints that found no client; under `lease` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudges_lost: Option<u64>,
    /// The policies.
    pub policies: Vec<ModePolicyView>,
}

impl ModeView {
    /// This node's name, where it has one here.
    pub fn name(&self) -> &str {
        self.divided.as_ref().map_or("", |divided| &divided.name)
    }
}

/// By whom a limit is divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DividedView {
    /// Whether this server divides limits: it is in a cluster that has a roster.
    pub on: bool,
    /// This node's name.
    pub name: String,
    /// Who has a part, and how much.
    pub roster: Vec<RosterView>,
    /// Names that more than one live node bears.
    pub doubled: Vec<String>,
    /// Policies that are too small to be divided, so that owners decide.
    pub by_owner: Vec<ByOwnerView>,
}

/// A policy and its figures, by name. A figure whose name has a dot is in an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModePolicyView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// What its mode says of it.
    #[serde(flatten)]
    pub figures: Map<String, Value>,
}

impl ModePolicyView {
    /// The figure of that name; zero where there is none.
    pub fn number(&self, name: &str) -> f64 {
        self.figure(name).and_then(Value::as_f64).unwrap_or(0.0)
    }

    /// The same, of a figure that is a whole number.
    pub fn count(&self, name: &str) -> u64 {
        self.figure(name).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The same, of a figure that says whether something is so.
    pub fn is(&self, name: &str) -> bool {
        self.figure(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The figure of that name.
    pub fn figure(&self, name: &str) -> Option<&Value> {
        match name.split_once('.') {
            Some((object, name)) => self.figures.get(object)?.get(name),
            None => self.figures.get(name),
        }
    }

    /// Adds a figure.
    pub fn set(&mut self, name: &str, value: Value) {
        let Some((object, name)) = name.split_once('.') else {
            self.figures.insert(name.to_owned(), value);
            return;
        };
        let object = self
            .figures
            .entry(object)
            .or_insert_with(|| Map::new().into());
        if let Value::Object(object) = object {
            object.insert(name.to_owned(), value);
        }
    }
}

/// A node of the roster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterView {
    /// Its name.
    pub name: String,
    /// Its part.
    pub weight: u32,
}

/// A policy that is too small to be divided. Shown as a sentence: which, by what rule, and what to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByOwnerView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// The smaller one of its limit and its burst.
    pub tokens: u64,
    /// Nodes of the roster that have a part.
    pub nodes: u64,
}

impl fmt::Display for ByOwnerView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            contract,
            policy,
            tokens,
            nodes,
        } = self;
        write!(
            f,
            "contract `{contract}`, policy `{policy}`: a limit or burst of {tokens} is below one token for each of the {nodes} nodes \
             of the roster, so the owner of each key decides; raise both to at least {nodes}, or write `coordination: owner`"
        )
    }
}
