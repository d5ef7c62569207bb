//! A server's figures. Missing ones are zero, so that this works with older and newer servers.

use serde::Deserialize;

/// The body of `GET /v1/top`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Snapshot {
    pub(super) uptime_s: u64,
    pub(super) last_1s: Rates,
    pub(super) last_10s: Rates,
    pub(super) last_60s: Rates,
    pub(super) latency: Percentiles,
    pub(super) cells: u64,
    pub(super) bytes: u64,
    pub(super) bytes_max: u64,
    pub(super) connections: u64,
    pub(super) keys: Vec<TopKey>,
    pub(super) denied: Vec<TopKey>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Rates {
    pub(super) all: f64,
    pub(super) allowed: f64,
    pub(super) delayed: f64,
    pub(super) denied: f64,
    pub(super) shadow_denied: f64,
    pub(super) failed: f64,
}

/// In microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names, reason = "as the server names them")]
pub(super) struct Percentiles {
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct TopKey {
    pub(super) key: String,
    /// Requests per second; in the denied list, refused ones.
    pub(super) rate: f64,
    /// How far off the rate may be.
    pub(super) error: f64,
    /// The share that is refused, 0 to 1.
    pub(super) denied: f64,
}
