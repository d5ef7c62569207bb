//! The state of policies that nodes count together on one node, as in `/v1/cluster/{supply,split,sync}` and
//! `/v1/leases`.
//!
//! The figures of a policy are those that its mode names. Not here: how they are computed (`tollgate-mode`).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModeView {
    /// The roster, if limits are divided by one.
    #[serde(flatten)]
    pub divided: Option<DividedView>,
    /// Whether nodes lend each other tokens; under `split` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lends: Option<bool>,
    /// Whether shares follow traffic; under `split` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapts: Option<bool>,
    /// Connected clients that have used leases; under `lease` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u64>,
    /// Hints that found no client; under `lease` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudges_lost: Option<u64>,
    pub policies: Vec<ModePolicyView>,
}

impl ModeView {
    pub fn name(&self) -> &str {
        self.divided.as_ref().map_or("", |divided| &divided.name)
    }
}

/// The nodes that limits are divided among.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DividedView {
    /// Whether this server divides limits: it is in a cluster that has a roster.
    pub on: bool,
    pub name: String,
    /// Nodes and their weights.
    pub roster: Vec<RosterView>,
    /// Names shared by more than one live node.
    pub doubled: Vec<String>,
    /// Policies too small to be divided; their owners decide.
    pub by_owner: Vec<ByOwnerView>,
}

/// A policy and its figures, by name. A figure whose name has a dot is in an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModePolicyView {
    pub contract: String,
    pub policy: String,
    /// The mode's figures.
    #[serde(flatten)]
    pub figures: Map<String, Value>,
}

impl ModePolicyView {
    /// The figure of that name; zero if absent.
    pub fn number(&self, name: &str) -> f64 {
        self.figure(name).and_then(Value::as_f64).unwrap_or(0.0)
    }

    /// The same for a whole number.
    pub fn count(&self, name: &str) -> u64 {
        self.figure(name).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The same for a boolean.
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterView {
    pub name: String,
    pub weight: u32,
}

/// A policy too small to be divided. Displayed as a sentence: which, by what rule, and what to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByOwnerView {
    pub contract: String,
    pub policy: String,
    /// The smaller of its limit and its burst.
    pub tokens: u64,
    /// Nodes of the roster with a weight above zero.
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
