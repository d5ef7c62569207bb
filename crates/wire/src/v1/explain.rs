//! Why would this request pass or not? The bodies of `explain`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize as Read, Serialize as Write};

use super::key::optional_text;
use super::whole::whole;
use super::{WireKey, one};

/// Why would this request pass or not? Nothing is taken.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest<'a> {
    /// Who is counted.
    #[serde(borrow)]
    pub key: WireKey<'a>,
    /// Tokens it would take; one unless given.
    #[serde(default = "one", deserialize_with = "whole")]
    pub cost: u64,
    /// The only contract to ask, instead of all that bind the key.
    #[serde(borrow, default, deserialize_with = "optional_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<Cow<'a, str>>,
}

/// Why the request would pass or not.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct ExplainResponse<'a> {
    /// The whole in one sentence.
    #[serde(borrow)]
    pub summary: Cow<'a, str>,
    /// What all policies together would say.
    #[serde(flatten)]
    pub verdict: ExplainVerdict,
    /// Whether a contract binds the key.
    pub matched: bool,
    /// The bans that hold for the key: it is denied whatever its policies say.
    pub bans: Vec<BanExplained<'a>>,
    /// What each policy would say, in the order of the contracts and of the policies in them.
    pub policies: Vec<PolicyExplained<'a>>,
    /// The contracts that come closest to binding the key but do not, closest first.
    pub misses: Vec<ExplainedMiss<'a>>,
}

/// May it pass?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Read, Write)]
pub struct ExplainVerdict {
    /// Whether it would pass, after `wait_ms` if that is not zero.
    pub allowed: bool,
    /// Until it could pass; none if it would, or if no wait will help.
    pub retry_after_ms: Option<u64>,
    /// How long it would have to wait.
    pub wait_ms: u64,
}

/// What one policy would say.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct PolicyExplained<'a> {
    /// The contract's id.
    #[serde(borrow)]
    pub contract: Cow<'a, str>,
    /// The policy's name.
    #[serde(borrow)]
    pub policy: Cow<'a, str>,
    /// That in one sentence.
    #[serde(borrow)]
    pub summary: Cow<'a, str>,
    /// What it would say by itself.
    #[serde(flatten)]
    pub verdict: ExplainVerdict,
    /// Whether an assignment gives the key this policy, and not the contract.
    pub assigned: bool,
    /// Whether it refuses, or only watches.
    pub enforced: bool,
    /// Its limit.
    pub limit: u64,
    /// The most tokens it can hold.
    pub capacity: u64,
    /// Whole tokens left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// Until it is as if the key had never been seen.
    pub reset_after_ms: u64,
}

/// A contract that does not bind the key.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct ExplainedMiss<'a> {
    /// The contract's id.
    #[serde(borrow)]
    pub contract: Cow<'a, str>,
    /// What the key lacks.
    pub lacks: Vec<String>,
    /// Entries of the key that are nearly one that it lacks, and what that is called.
    pub did_you_mean: BTreeMap<String, String>,
}

/// A ban that holds for the key.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct BanExplained<'a> {
    /// Who: an entry with its value, or a range of addresses.
    pub identity: String,
    /// The only contract in which it holds.
    #[serde(borrow)]
    pub contract: Option<Cow<'a, str>>,
    /// Milliseconds since 1970 at which it ends; none where it does not.
    pub until_ms: Option<u64>,
    /// Why.
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
}
