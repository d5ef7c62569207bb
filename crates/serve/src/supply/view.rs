//! How divided rates stand on one node, as `/v1/cluster/supply` and `tollgate cluster supply` show it.

use serde::{Deserialize, Serialize};

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

/// A policy that is too small to be divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByOwnerView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
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
    /// What was counted since the start.
    pub counts: SupplyCounts,
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
    /// How long nothing of the home is used after a restart.
    pub quarantine_ms: u64,
    /// Whether every node stands on the same limits and shares.
    pub settled: bool,
}

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SupplyCounts {
    /// What requests met.
    #[serde(flatten)]
    pub requests: RequestCounts,
    /// What moved.
    #[serde(flatten)]
    pub loans: LoanCounts,
    /// What was not heeded.
    #[serde(flatten)]
    pub ignored: IgnoredCounts,
    /// Frames sent.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The number of this start.
    pub boot: u64,
    /// Fill ratios of the peers that were looked at last: the least.
    pub peers_fill_min: f64,
    /// And the greatest.
    pub peers_fill_max: f64,
}

/// What requests met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests asked for.
    pub offered: u64,
    /// Requests that passed.
    pub admitted: u64,
    /// Requests that did not.
    pub refused: u64,
    /// Those refused while another node was seen to have more.
    pub refused_while_rich: u64,
}

/// What moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoanCounts {
    /// Asks sent.
    pub asks: u64,
    /// Loans taken.
    pub taken: u64,
    /// Loans given.
    pub given: u64,
    /// Loans renewed.
    pub renewals: u64,
    /// Recalls sent.
    pub recalls: u64,
    /// Loans that ended without an answer.
    pub expired: u64,
    /// Loans given that ended without being reported.
    pub lapsed: u64,
    /// Seconds from asks to their answers, together.
    pub answer_seconds: f64,
    /// Answers.
    pub answers: u64,
    /// Seconds that loans lasted, together.
    pub loan_seconds: f64,
    /// Loans that ended in any way.
    pub ended: u64,
}

/// What was not heeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IgnoredCounts {
    /// Grants that came too late.
    pub late: u64,
    /// Grants that came twice.
    pub duplicates: u64,
    /// Reports and grants that could not be true.
    pub lies: u64,
    /// Messages of boots that are over.
    pub old_boots: u64,
    /// Asks from nodes whose clock runs wrong.
    pub drift: u64,
    /// Asks from nodes that stand on other limits or shares.
    pub elsewhere: u64,
    /// Signs that another process runs under this name.
    pub duplicate_identities: u64,
    /// Messages for which there was no room.
    pub full: u64,
    /// Messages from those who have no business here.
    pub strangers: u64,
    /// Frames that make no sense.
    pub malformed: u64,
}
