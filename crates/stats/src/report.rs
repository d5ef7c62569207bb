//! Results of statistics: plain structs for listeners and pages.

use serde::{Deserialize, Serialize};

use crate::counts::Counts;

/// Usage of an identity in a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// As `2026-11-16` in UTC.
    pub day: String,
    pub contract: String,
    /// Empty for all identities without a row of their own.
    pub identity: String,
    #[serde(flatten)]
    pub counts: Counts,
    pub net_cost: i64,
}

/// A query for usage: whole days in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Days since the epoch.
    pub from_day: u64,
    /// Exclusive.
    pub until_day: u64,
    /// Filter.
    pub contract: Option<String>,
    /// Filter.
    pub identity: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsagePage {
    /// By day, contract and identity.
    pub rows: Vec<UsageRow>,
    /// Where the next page begins: day, contract and identity of the last row; `None` at the end.
    pub next: Option<(u64, String, String)>,
}

/// One step of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Start, in seconds since the epoch.
    pub at: u64,
    #[serde(flatten)]
    pub counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    Asked,
    Denied,
    /// By tokens taken.
    Cost,
}

/// A query for a ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    pub by: By,
    /// Empty for all.
    pub contract: String,
    /// Prefix of identities; empty for all.
    pub prefix: String,
    pub rows_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopRow {
    pub contract: String,
    pub identity: String,
    #[serde(flatten)]
    pub counts: Counts,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeLoad {
    pub node: String,
    pub at_ms: u64,
    pub all: LoadOf,
    /// This node by contract, over the last ten seconds; other nodes over the last whole minute that they stored.
    pub contracts: Vec<LoadOf>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadOf {
    pub node: String,
    pub contract: String,
    /// Per second.
    pub rate: f64,
    /// Tokens per second.
    pub cost_rate: f64,
    /// Share of refused requests, 0 to 1.
    pub denied: f64,
    /// Load, 0 to 1: for a contract that counts all keys together the used share of its tightest policy, else
    /// the share of refused requests.
    pub saturation: f64,
    /// Seconds of the interval.
    pub over_s: f64,
}

impl LoadOf {
    /// From the counts of an interval.
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
