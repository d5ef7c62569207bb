//! The bodies of `explain`: why would this request pass or not?

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize as Read, Serialize as Write};

use super::key::optional_text;
use super::whole::whole;
use super::{WireKey, one};

/// Takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest<'a> {
    #[serde(borrow)]
    pub key: WireKey<'a>,
    /// Tokens it would take; one by default.
    #[serde(default = "one", deserialize_with = "whole")]
    pub cost: u64,
    /// The only contract to ask, instead of all that match the key.
    #[serde(borrow, default, deserialize_with = "optional_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<Cow<'a, str>>,
}

/// Why the request would pass or not.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct ExplainResponse<'a> {
    /// The result in one sentence.
    #[serde(borrow)]
    pub summary: Cow<'a, str>,
    /// The verdict of all policies together.
    #[serde(flatten)]
    pub verdict: ExplainVerdict,
    /// Whether a contract matches the key.
    pub matched: bool,
    /// The bans of the key: it is denied whatever its policies say.
    pub bans: Vec<BanExplained<'a>>,
    /// In the order of the contracts and of the policies in them.
    pub policies: Vec<PolicyExplained<'a>>,
    /// The contracts that nearly match the key, nearest first.
    pub misses: Vec<ExplainedMiss<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Read, Write)]
pub struct ExplainVerdict {
    /// Whether it would pass, after `wait_ms` if that is not zero.
    pub allowed: bool,
    /// Until it could pass; none if it would, or if waiting does not help.
    pub retry_after_ms: Option<u64>,
    /// How long it would have to wait.
    pub wait_ms: u64,
}

/// The answer of one policy.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct PolicyExplained<'a> {
    #[serde(borrow)]
    pub contract: Cow<'a, str>,
    #[serde(borrow)]
    pub policy: Cow<'a, str>,
    /// The result in one sentence.
    #[serde(borrow)]
    pub summary: Cow<'a, str>,
    /// Its verdict alone.
    #[serde(flatten)]
    pub verdict: ExplainVerdict,
    /// Whether the policy comes from an assignment instead of the contract.
    pub assigned: bool,
    /// False for a shadow policy.
    pub enforced: bool,
    pub limit: u64,
    /// The most tokens it can hold.
    pub capacity: u64,
    /// Whole tokens left.
    pub remaining: u64,
    /// Tokens below zero.
    pub debt: u64,
    /// Until it is full, as for a new key.
    pub reset_after_ms: u64,
}

/// A contract that does not match the key.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct ExplainedMiss<'a> {
    #[serde(borrow)]
    pub contract: Cow<'a, str>,
    /// What the key lacks.
    pub lacks: Vec<String>,
    /// Entries of the key that resemble missing ones, and the missing names.
    pub did_you_mean: BTreeMap<String, String>,
}

/// A ban of the key.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct BanExplained<'a> {
    /// An entry with its value, or a range of addresses.
    pub identity: String,
    /// The only contract in which it holds.
    #[serde(borrow)]
    pub contract: Option<Cow<'a, str>>,
    /// Milliseconds since 1970 at which it ends; none if it does not.
    pub until_ms: Option<u64>,
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
}
