//! How much is kept of requests.
//!
//! Not here: where (`catalogue`), nor how (`crate::statistics`).

use std::time::Duration;

/// How much is kept of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsSettings {
    /// Whether they are counted; where nothing is said, where there is a database to keep them in.
    pub on: Option<bool>,
    /// Identities with rows of their own, in a minute and in an hour.
    pub identities: usize,
    /// How often they are written: what is lost when the process is killed.
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
