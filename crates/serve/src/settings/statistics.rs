//! How much is kept of requests.
//!
//! Not here: where (`catalogue`), nor how (`crate::statistics`).

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_contract::file::{Text, given, switch};

use super::file::Check;

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

/// What is kept of requests.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Statistics")]
pub(crate) struct RawStatistics {
    /// `true` or `false`; where absent, they are on where there is a database to keep them in.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub(crate) on: Option<Text>,
    /// Identities with rows of their own, in a minute and in an hour; 10000 where absent, at most 1000000.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) identities: Option<Text>,
    /// How often they are written, which is what a crash loses; 1s where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) every: Option<Text>,
    /// Bytes for the last requests; 16MiB where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) record: Option<Text>,
}

impl Check<'_> {
    /// The section about statistics.
    pub(super) fn statistics(&mut self, raw: RawStatistics, settings: &mut StatisticsSettings) {
        if let Some(text) = raw.on {
            settings.on = self.problems.keep(switch(&text, "on"));
        }
        let identities = ("identities", (1, 1_000_000));
        self.count(raw.identities, identities, &mut settings.identities);
        self.duration(raw.every, &mut settings.every);
        let record = ("record", (1 << 16, 1 << 30));
        self.size(raw.record, record, &mut settings.record_bytes);
    }
}
