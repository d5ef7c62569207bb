//! What is told of statistics: plain structs for doors and pages.

use serde::{Deserialize, Serialize};

use crate::counts::Counts;

/// What an identity used in a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// The day, as `2026-11-16` in UTC.
    pub day: String,
    /// The contract.
    pub contract: String,
    /// Whom it counted; empty for everybody who had no row of their own.
    pub identity: String,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// Tokens that were taken and not given back.
    pub net_cost: i64,
}

/// Which usage is asked for: whole days in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The first day, since the epoch.
    pub from_day: u64,
    /// The first day no longer asked for.
    pub until_day: u64,
    /// One contract alone.
    pub contract: Option<String>,
    /// One identity alone.
    pub identity: Option<String>,
}

/// A page of usage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsagePage {
    /// By day, contract and identity.
    pub rows: Vec<UsageRow>,
    /// Where the next page begins: day, contract and identity of the last row; `None` at the end.
    pub next: Option<(u64, String, String)>,
}

/// What was counted in a part of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// When it began, in seconds since the epoch.
    pub at: u64,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What identities are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// How often they asked.
    Asked,
    /// How often they were refused.
    Denied,
    /// How much they took.
    Cost,
}

/// Which rank is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// What identities are ranked by.
    pub by: By,
    /// One contract alone; empty for all.
    pub contract: String,
    /// How their names begin; empty for all.
    pub prefix: String,
    /// The most rows.
    pub rows_max: usize,
}

/// Somebody who is among the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopRow {
    /// The contract.
    pub contract: String,
    /// Whom it counted.
    pub identity: String,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
}

/// How busy nodes are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeLoad {
    /// The node that answers.
    pub node: String,
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// All contracts of this node together.
    pub all: LoadOf,
    /// This node by contract, over the last ten seconds; and other nodes, over the last whole minute that they kept.
    pub contracts: Vec<LoadOf>,
}

/// How busy a node is with a contract.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadOf {
    /// The node.
    pub node: String,
    /// The contract; empty for all.
    pub contract: String,
    /// Requests per second.
    pub rate: f64,
    /// Tokens per second that requests took.
    pub cost_rate: f64,
    /// The share of requests that were refused, 0 to 1.
    pub denied: f64,
    /// How full it is, 0 to 1: of a contract that counts everybody together the used share of its tightest policy, else
    /// the share of requests that were refused.
    pub saturation: f64,
    /// Seconds that this is about.
    pub over_s: f64,
}

impl LoadOf {
    /// What came in a stretch of time.
    #[allow(clippy::cast_precision_loss)] // Rates for people and balancers.
    pub fn of(node: &str, contract: &str, counts: &Counts, over_ms: u64) -> Self {
        let seconds = over_ms as f64 / 1e3;
        let per_second = |number: u64| {
            if over_ms == 0 {
                0.0
            } else {
                number as f64 / seconds
            }
        };
        let asked = counts.asked();
        let denied = if asked == 0 {
            0.0
        } else {
            counts.denied as f64 / asked as f64
        };
        Self {
            node: node.to_owned(),
            contract: contract.to_owned(),
            rate: per_second(asked),
            cost_rate: per_second(counts.cost),
            denied,
            saturation: denied,
            over_s: seconds,
        }
    }
}
