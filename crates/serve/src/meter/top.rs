//! The figures of `/v1/top` and `tollgate top`.

use serde::{Deserialize, Serialize};

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
    /// Latency of answers in the last minute or so, all protocols together.
    pub latency: Percentiles,
    /// Cells in the table.
    pub cells: u64,
    /// Bytes used by cells.
    pub bytes: u64,
    /// Limit on these bytes.
    pub bytes_max: u64,
    pub connections: u64,
    /// The busiest keys, busiest first.
    pub keys: Vec<TopKey>,
    /// The keys refused most, in that order.
    pub denied: Vec<TopKey>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    pub all: f64,
    pub allowed: f64,
    pub delayed: f64,
    pub denied: f64,
    /// Passed, though a shadow policy would have refused.
    pub shadow_denied: f64,
    /// Without a decision.
    pub failed: f64,
}

/// Latencies in microseconds; the upper end of the bucket, at most a fifth too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopKey {
    /// Its text, possibly cut; its hash if texts are not shown.
    pub key: String,
    /// Requests per second, over the last ten seconds or so; in `denied`, refused ones.
    pub rate: f64,
    /// How far off the rate may be, either way.
    pub error: f64,
    /// The share of its requests that were refused, 0 to 1.
    pub denied: f64,
}
