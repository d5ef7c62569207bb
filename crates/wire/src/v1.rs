//! The bodies of Tollgate's own HTTP interface, `/v1`.
//!
//! What is read borrows from the body and refuses members it does not know, so that a misspelt
//! `cost` is an error and not a cost of one. What is written always has all its members. Spans are
//! whole milliseconds, rounded up.
//!
//! | path | takes | gives |
//! |---|---|---|
//! | `check` | [`JsonCheckRequest`], or a list of them | [`JsonCheckResponse`], or as many |
//! | `reserve` | [`ReserveRequest`] | [`JsonCheckResponse`] |
//! | `commit` | [`CommitRequest`] | [`Done`] |
//! | `cancel` | [`CancelRequest`] | [`Done`] |
//! | `settle` | [`SettleRequest`] | [`Done`] |
//! | `charge`, `refund` | [`ChargeRequest`] | [`Done`] |
//! | `peek` | [`PeekRequest`] | [`PeekResponse`] |
//! | `explain` | [`ExplainRequest`] | [`ExplainResponse`] |

mod explain;
mod key;
pub(crate) mod whole;

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize as Read, Serialize as Write};

pub use explain::{
    BanExplained, ExplainRequest, ExplainResponse, ExplainVerdict, ExplainedMiss, PolicyExplained,
};
pub use key::WireKey;
use key::optional_text;
pub use whole::NUMBER_MAX;
use whole::{optional_whole, whole};

/// Limit on checks of one batch.
pub const CHECKS_MAX: usize = 1_000;

/// Limit on entries of one key.
pub const ENTRIES_MAX: usize = 64;

pub fn decode<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, BodyError> {
    serde_json::from_slice(body).map_err(BodyError)
}

/// Writes a body, behind the content of `out`. No number in it is beyond [`NUMBER_MAX`].
pub fn encode(body: &impl serde::Serialize, out: &mut Vec<u8>) -> Result<(), BodyError> {
    let mut writer = serde_json::Serializer::with_formatter(out, whole::Exact);
    body.serialize(&mut writer).map_err(BodyError)
}

/// Why a body could not be read. Its text names the member, the line and the column.
#[derive(Debug)]
pub struct BodyError(serde_json::Error);

impl BodyError {
    /// Whether the body is not JSON at all, rather than JSON of another shape.
    pub fn is_syntax(&self) -> bool {
        self.0.is_syntax() || self.0.is_eof()
    }

    /// The line, counted from one.
    pub fn line(&self) -> usize {
        self.0.line()
    }

    /// The column, counted from one.
    pub fn column(&self) -> usize {
        self.0.column()
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl std::error::Error for BodyError {}

/// The body of `check`: one request, or a list that is decided in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckBody<'a> {
    Single(JsonCheckRequest<'a>),
    /// A list of at most [`CHECKS_MAX`].
    Batch(Vec<JsonCheckRequest<'a>>),
}

#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct JsonCheckRequest<'a> {
    #[serde(borrow)]
    pub key: WireKey<'a>,
    /// Tokens to take; one by default, and zero is a peek.
    #[serde(default = "one", deserialize_with = "whole")]
    pub cost: u64,
    /// The only contract to ask, instead of all that match the key.
    #[serde(borrow, default, deserialize_with = "optional_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<Cow<'a, str>>,
    /// The same id is charged once, however often it is sent.
    #[serde(borrow, default, deserialize_with = "optional_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
}

/// A denial is an answer too.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct JsonCheckResponse<'a> {
    /// Whether the request may pass, after `wait_ms` if that is not zero.
    pub allowed: bool,
    /// Whether a contract matches the key.
    pub matched: bool,
    /// The policy that refuses longest, or that has the least left; none if no contract matches the key.
    #[serde(borrow, deserialize_with = "optional_text")]
    pub policy: Option<Cow<'a, str>>,
    /// That policy's limit.
    pub limit: u64,
    /// The most tokens it can hold: more than its limit if a bucket is larger.
    pub capacity: u64,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Whether `remaining` is only the part that is lent to a sidecar; the policy may have more left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// Tokens below zero.
    pub debt: u64,
    /// Until the same request could pass; none if it passed or waiting does not help.
    pub retry_after_ms: Option<u64>,
    /// Until it is full, as for a new key.
    pub reset_after_ms: u64,
    /// How long a delayed request has to wait before it goes on.
    pub wait_ms: u64,
    /// Settles the real cost.
    #[serde(borrow, deserialize_with = "optional_text")]
    pub receipt: Option<Cow<'a, str>>,
}

/// Takes the cost now, to be settled within a time.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct ReserveRequest<'a> {
    /// The reservation's name, chosen by the caller.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow)]
    pub key: WireKey<'a>,
    /// Tokens to take; one by default.
    #[serde(default = "one", deserialize_with = "whole")]
    pub cost: u64,
    /// How long it stays open; the server's default if absent.
    #[serde(default, deserialize_with = "optional_whole")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct CommitRequest<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The real cost; may be more than was reserved.
    #[serde(deserialize_with = "whole")]
    pub cost: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct SettleRequest<'a> {
    /// As the check gave it.
    #[serde(borrow)]
    pub receipt: Cow<'a, str>,
    /// The real cost.
    #[serde(deserialize_with = "whole")]
    pub cost: u64,
    /// The same id is settled once, however often it is sent.
    #[serde(borrow, default, deserialize_with = "optional_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
}

/// Takes tokens without a decision, or returns them.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct ChargeRequest<'a> {
    #[serde(borrow)]
    pub key: WireKey<'a>,
    #[serde(deserialize_with = "whole")]
    pub cost: u64,
    /// The same id is charged once, however often it is sent.
    #[serde(borrow, default, deserialize_with = "optional_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
}

/// Takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
#[serde(deny_unknown_fields)]
pub struct PeekRequest<'a> {
    #[serde(borrow)]
    pub key: WireKey<'a>,
}

/// Every policy of every contract that matches the key.
#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct PeekResponse<'a> {
    /// In the order of the contracts and of the policies in them.
    #[serde(borrow)]
    pub policies: Vec<PolicyState<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Read, Write)]
pub struct PolicyState<'a> {
    #[serde(borrow)]
    pub contract: Cow<'a, str>,
    #[serde(borrow)]
    pub policy: Cow<'a, str>,
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

/// A write was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Read, Write)]
pub struct Done {
    pub applied: bool,
}

fn one() -> u64 {
    1
}

impl<'de: 'a, 'a> Deserialize<'de> for CheckBody<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CheckVisitor)
    }
}

struct CheckVisitor;

impl<'de> Visitor<'de> for CheckVisitor {
    type Value = CheckBody<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a check or a list of checks")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        JsonCheckRequest::deserialize(MapAccessDeserializer::new(map)).map(CheckBody::Single)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut checks = Vec::new();
        while let Some(check) = list.next_element()? {
            if checks.len() == CHECKS_MAX {
                let what = format_args!("more than {CHECKS_MAX} checks in one batch");
                return Err(A::Error::custom(what));
            }
            checks.push(check);
        }
        Ok(CheckBody::Batch(checks))
    }
}
