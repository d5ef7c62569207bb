//! How much is kept of requests.
//!
//! Not here: where (`catalogue`), nor how (`crate::statistics`).

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsSettings {
    /// Whether they are counted; by default if there is a database to keep them in.
    pub on: Option<bool>,
    /// Identities with rows of their own, per minute and per hour.
    pub identities: usize,
    /// Interval of writes, which is what a killed process loses.
    pub every: Duration,
    /// Bytes for the last requests.
    pub record_bytes: usize,
}

impl Default for StatisticsSettings {
    fn default() -> Self {
        Self {
            on: None,
            identities: 10_000,
            every: Duration::from_secs(1),
            record_bytes: 16 << 20,
        }
    }
}
