//! What happens now, as `/v1/top` and `tollgate top` show it.

use serde::{Deserialize, Serialize};

/// What happens now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Top {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// Seconds since the server was started.
    pub uptime_s: u64,
    /// Decisions per second in the last whole second.
    pub last_1s: Rates,
    /// Decisions per second in the last ten whole seconds.
    pub last_10s: Rates,
    /// Decisions per second in the last sixty whole seconds.
    pub last_60s: Rates,
    /// How long answers took in the last minute or so, all doors together.
    pub latency: Percentiles,
    /// Cells in the table.
    pub cells: u64,
    /// Bytes they take.
    pub bytes: u64,
    /// Bytes they may take.
    pub bytes_max: u64,
    /// Connections that are open.
    pub connections: u64,
    /// The keys that come most, the most first.
    pub keys: Vec<TopKey>,
    /// The keys that are refused most, the most first.
    pub denied: Vec<TopKey>,
}

/// Decisions per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// All of them.
    pub all: f64,
    /// Passed at once.
    pub allowed: f64,
    /// Passed after a wait.
    pub delayed: f64,
    /// Refused.
    pub denied: f64,
    /// Passed, though a policy that is not enforced would have refused.
    pub shadow_denied: f64,
    /// Without a decision.
    pub failed: f64,
}

/// How long answers took, in microseconds; the upper end of the bucket, at most a fifth too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the answers took at most this long.
    pub p50_us: f64,
    /// 99 of 100.
    pub p99_us: f64,
    /// 999 of 1,000.
    pub p999_us: f64,
}

/// A key that comes often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopKey {
    /// Its text, perhaps cut short; a number of the meter's own where texts are not shown.
    pub key: String,
    /// Requests per second, over the last ten seconds or so; in `denied`, refused ones.
    pub rate: f64,
    /// How far off the rate may be, either way.
    pub error: f64,
    /// The share of its requests that were refused, 0 to 1.
    pub denied: f64,
}
