//! Gubernator's messages, `pb.gubernator`, in protobuf and in the JSON of its HTTP interface.
//!
//! In JSON 64-bit integers are strings; numbers are read too. Names are read in snake and camel
//! case and written in snake case, zero values included; unknown names are ignored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json;

/// The full name of the service: `GetRateLimits`, `HealthCheck`, `LiveCheck`.
pub const SERVICE: &str = "pb.gubernator.V1";

/// The most requests of one call; more are refused as a whole.
///
/// The JSON form is refused while it is read. Protobuf is read to its end, so that whoever reads
/// it limits the bytes: an empty request is two of them, and about a hundred times that in memory.
pub const REQUESTS_MAX: usize = 1_000;

/// `pb.gubernator.GetRateLimitsReq`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, prost::Message)]
#[serde(default)]
pub struct GetRateLimitsReq {
    /// What to decide, in order.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json::list::<REQUESTS_MAX, _, _>")]
    pub requests: Vec<RateLimitReq>,
}

/// `pb.gubernator.GetRateLimitsResp`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, prost::Message)]
#[serde(default)]
pub struct GetRateLimitsResp {
    /// One for each request, in their order.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json::list::<REQUESTS_MAX, _, _>")]
    pub responses: Vec<RateLimitResp>,
}

/// `pb.gubernator.RateLimitReq`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, prost::Message)]
#[serde(default)]
pub struct RateLimitReq {
    /// What is limited, such as `requests_per_account`.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "json::nullable")]
    pub name: String,
    /// Who is counted.
    #[prost(string, tag = "2")]
    #[serde(alias = "uniqueKey", deserialize_with = "json::nullable")]
    pub unique_key: String,
    /// The cost; zero is a peek.
    #[prost(int64, tag = "3")]
    #[serde(deserialize_with = "json::number", serialize_with = "json::text")]
    pub hits: i64,
    /// The limit.
    #[prost(int64, tag = "4")]
    #[serde(deserialize_with = "json::number", serialize_with = "json::text")]
    pub limit: i64,
    /// Milliseconds, or with [`Behavior::DurationIsGregorian`] a code: 0 minute, 1 hour, 2 day,
    /// 3 week, 4 month, 5 year.
    #[prost(int64, tag = "5")]
    #[serde(deserialize_with = "json::number", serialize_with = "json::text")]
    pub duration: i64,
    /// How to count.
    #[prost(enumeration = "Algorithm", tag = "6")]
    #[serde(
        deserialize_with = "json::enumeration::<_, Algorithm>",
        serialize_with = "json::name::<_, Algorithm>"
    )]
    pub algorithm: i32,
    /// Bits of [`Behavior`].
    #[prost(int32, tag = "7")]
    #[serde(
        deserialize_with = "json::enumeration::<_, Behavior>",
        serialize_with = "json::name::<_, Behavior>"
    )]
    pub behavior: i32,
    /// How much a leaky bucket holds; zero is the limit.
    #[prost(int64, tag = "8")]
    #[serde(deserialize_with = "json::number", serialize_with = "json::text")]
    pub burst: i64,
    /// Passed on.
    #[prost(btree_map = "string, string", tag = "9")]
    #[serde(deserialize_with = "json::nullable")]
    pub metadata: BTreeMap<String, String>,
    /// When the request was made, in milliseconds since 1970.
    #[prost(int64, optional, tag = "10")]
    #[serde(
        alias = "createdAt",
        deserialize_with = "json::optional_number",
        serialize_with = "json::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<i64>,
}

/// `pb.gubernator.RateLimitResp`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, prost::Message)]
#[serde(default)]
pub struct RateLimitResp {
    /// The answer.
    #[prost(enumeration = "Status", tag = "1")]
    #[serde(
        deserialize_with = "json::enumeration::<_, Status>",
        serialize_with = "json::name::<_, Status>"
    )]
    pub status: i32,
    /// The limit that judged.
    #[prost(int64, tag = "2")]
    #[serde(deserialize_with = "json::number", serialize_with = "json::text")]
    pub limit: i64,
    /// What is left of it.
    #[prost(int64, tag = "3")]
    #[serde(deserialize_with = "json::number", serialize_with = "json::text")]
    pub remaining: i64,
    /// When it is whole again, in milliseconds since 1970.
    #[prost(int64, tag = "4")]
    #[serde(
        alias = "resetTime",
        deserialize_with = "json::number",
        serialize_with = "json::text"
    )]
    pub reset_time: i64,
    /// Why this request was not judged; empty if it was.
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "json::nullable")]
    pub error: String,
    /// More, such as the `owner`.
    #[prost(btree_map = "string, string", tag = "6")]
    #[serde(deserialize_with = "json::nullable")]
    pub metadata: BTreeMap<String, String>,
}

/// `pb.gubernator.HealthCheckReq`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct HealthCheckReq {}

/// `pb.gubernator.HealthCheckResp`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, prost::Message)]
#[serde(default)]
pub struct HealthCheckResp {
    /// `healthy` or `unhealthy`.
    #[prost(string, tag = "1")]
    pub status: String,
    /// Why it is unhealthy.
    #[prost(string, tag = "2")]
    pub message: String,
    /// How many nodes take part.
    #[prost(int32, tag = "3")]
    #[serde(alias = "peerCount")]
    pub peer_count: i32,
    /// Where peers reach this node.
    #[prost(string, tag = "4")]
    #[serde(alias = "advertiseAddress")]
    pub advertise_address: String,
}

/// `pb.gubernator.LiveCheckReq`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct LiveCheckReq {}

/// `pb.gubernator.LiveCheckResp`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, prost::Message)]
pub struct LiveCheckResp {}

/// `pb.gubernator.Algorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Algorithm {
    /// The whole limit at once, refilled at the end of the duration.
    TokenBucket = 0,
    /// Refilled evenly.
    LeakyBucket = 1,
}

impl json::Named for Algorithm {
    const NAMES: &'static [(i32, &'static str)] = &[(0, "TOKEN_BUCKET"), (1, "LEAKY_BUCKET")];
}

/// `pb.gubernator.Behavior`: bits that may be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Behavior {
    /// None of the others.
    Batching = 0,
    /// Ask the owner at once.
    NoBatching = 1,
    /// Answer from the nearest node.
    Global = 2,
    /// The duration is a calendar code.
    DurationIsGregorian = 4,
    /// Forget what was counted.
    ResetRemaining = 8,
    /// Tell other regions.
    MultiRegion = 16,
    /// A request for more than is left takes what is left.
    DrainOverLimit = 32,
}

impl Behavior {
    /// Whether this bit is among those of a request.
    pub const fn is_in(self, bits: i32) -> bool {
        bits & (self as i32) != 0
    }
}

impl json::Named for Behavior {
    const NAMES: &'static [(i32, &'static str)] = &[
        (0, "BATCHING"),
        (1, "NO_BATCHING"),
        (2, "GLOBAL"),
        (4, "DURATION_IS_GREGORIAN"),
        (8, "RESET_REMAINING"),
        (16, "MULTI_REGION"),
        (32, "DRAIN_OVER_LIMIT"),
    ];
}

/// `pb.gubernator.Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Status {
    /// It may pass.
    UnderLimit = 0,
    /// It is refused.
    OverLimit = 1,
}

impl json::Named for Status {
    const NAMES: &'static [(i32, &'static str)] = &[(0, "UNDER_LIMIT"), (1, "OVER_LIMIT")];
}
