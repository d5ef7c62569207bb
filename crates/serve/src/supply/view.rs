//! How divided rates stand on one node, as `/v1/cluster/supply` and `tollgate cluster supply` show it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// How divided rates stand on this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SupplyView {
    /// Whether this server divides rates: it is in a cluster that has a roster.
    pub on: bool,
    /// This node's name.
    pub name: String,
    /// Who has homes, and how much.
    pub roster: Vec<RosterView>,
    /// Names that more than one live node bears.
    pub doubled: Vec<String>,
    /// The policies.
    pub policies: Vec<SupplyPolicyView>,
    /// Policies that are too small to be divided, so that owners decide.
    pub by_owner: Vec<ByOwnerView>,
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

/// A policy whose rate is divided. Rates are requests per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SupplyPolicyView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// The rate that is divided.
    pub rate: f64,
    /// The burst.
    pub burst: u64,
    /// How this node stands.
    #[serde(flatten)]
    pub stands: StandsView,
    /// Keys that are known.
    pub keys: u64,
    /// How many keys the figures are of.
    pub of_keys: u64,
    /// What was counted since the start, and ratios of others, by name.
    pub counts: BTreeMap<String, Number>,
}

impl SupplyPolicyView {
    /// What was counted under that name; nothing where there is no such figure.
    pub fn count(&self, name: &str) -> f64 {
        let number = self.counts.get(name).and_then(Number::as_f64);
        number.unwrap_or(0.0)
    }
}

/// How a node stands in a policy. Rates are requests per second; of several keys they are sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StandsView {
    /// What this node has by right.
    pub home: f64,
    /// What of it is lent.
    pub lent: f64,
    /// What it has from others.
    pub borrowed: f64,
    /// What it may use.
    pub usable: f64,
    /// What it has asked for.
    pub asked: f64,
    /// What is asked of it.
    pub demand: f64,
    /// What it may use over what is asked of it, at most 1000.
    pub fill_ratio: f64,
    /// Tokens it has.
    pub tokens: f64,
    /// Tokens it can have.
    pub depth: f64,
    /// Loans given and taken.
    pub loans: u32,
    /// The number of this start, as a text: it is larger than every reader of JSON can hold.
    #[serde(with = "text")]
    pub boot: u64,
    /// How long nothing of the home is used after a restart.
    pub quarantine_ms: u64,
    /// Whether every node stands on the same limits and shares.
    pub settled: bool,
}

/// Numbers as texts.
mod text {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}
