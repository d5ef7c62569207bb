//! The descriptor file as typed.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::CONTRACTS_MAX;
use crate::text::{Few, Node, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDomain {
    pub(super) domain: Text,
    #[serde(default)]
    pub(super) descriptors: RawDescriptors,
}

pub(super) type RawDescriptors = Few<RawDescriptor, CONTRACTS_MAX>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the switches of somebody else's file"
)]
pub(super) struct RawDescriptor {
    pub(super) key: Text,
    #[serde(default)]
    pub(super) value: Option<Text>,
    #[serde(default)]
    pub(super) rate_limit: Option<Node<RawRateLimit>>,
    #[serde(default)]
    pub(super) descriptors: RawDescriptors,
    #[serde(default)]
    pub(super) shadow_mode: bool,
    #[serde(default)]
    pub(super) quota_mode: bool,
    #[serde(default)]
    pub(super) share_threshold: bool,
    /// Names of metrics only.
    #[serde(default, rename = "detailed_metric")]
    pub(super) _detailed_metric: bool,
    /// Names of metrics only.
    #[serde(default, rename = "value_to_metric")]
    pub(super) _value_to_metric: bool,
    /// Handed back in answers there; nothing here depends on it.
    #[serde(default, rename = "metadata")]
    pub(super) _metadata: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRateLimit {
    #[serde(default)]
    pub(super) unit: Option<Text>,
    #[serde(default)]
    pub(super) requests_per_unit: Option<Text>,
    #[serde(default)]
    pub(super) unlimited: bool,
    #[serde(default)]
    pub(super) name: Option<Text>,
    #[serde(default)]
    pub(super) replaces: Few<RawReplaced, 64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReplaced {
    pub(super) name: Text,
}
