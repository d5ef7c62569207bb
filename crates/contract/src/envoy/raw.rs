//! The descriptor file as typed.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::CONTRACTS_MAX;
use crate::text::{Few, Text, YamlNode};

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
    pub(super) rate_limit: Option<YamlNode<RawRateLimit>>,
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
    /// Handed back in answers; nothing else depends on it.
    #[serde(default)]
    pub(super) metadata: Option<Data>,
}

/// Data by name.
pub type Data = BTreeMap<String, Datum>;

/// What a file says beside its rules, for those who read answers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Datum {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Datum>),
    /// More by name.
    Map(Data),
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
