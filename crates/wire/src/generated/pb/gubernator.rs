//! Messages of `pb.gubernator`. Made by `cargo xtask proto`; do not edit.

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetRateLimitsReq {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "crate::json::list::<{ crate::gubernator::REQUESTS_MAX }, _, _>")]
    pub requests: Vec<RateLimitReq>,
}
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetRateLimitsResp {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "crate::json::list::<{ crate::gubernator::REQUESTS_MAX }, _, _>")]
    pub responses: Vec<RateLimitResp>,
}
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RateLimitReq {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "crate::json::nullable")]
    pub name: String,
    #[prost(string, tag = "2")]
    #[serde(alias = "uniqueKey", deserialize_with = "crate::json::nullable")]
    pub unique_key: String,
    #[prost(int64, tag = "3")]
    #[serde(
        deserialize_with = "crate::json::number",
        serialize_with = "crate::json::text"
    )]
    pub hits: i64,
    #[prost(int64, tag = "4")]
    #[serde(
        deserialize_with = "crate::json::number",
        serialize_with = "crate::json::text"
    )]
    pub limit: i64,
    #[prost(int64, tag = "5")]
    #[serde(
        deserialize_with = "crate::json::number",
        serialize_with = "crate::json::text"
    )]
    pub duration: i64,
    #[prost(enumeration = "Algorithm", tag = "6")]
    #[serde(
        deserialize_with = "crate::json::enumeration::<_, crate::gubernator::Algorithm>",
        serialize_with = "crate::json::name::<_, crate::gubernator::Algorithm>"
    )]
    pub algorithm: i32,
    #[prost(enumeration = "Behavior", tag = "7")]
    #[serde(
        deserialize_with = "crate::json::enumeration::<_, crate::gubernator::Behavior>",
        serialize_with = "crate::json::name::<_, crate::gubernator::Behavior>"
    )]
    pub behavior: i32,
    #[prost(int64, tag = "8")]
    #[serde(
        deserialize_with = "crate::json::number",
        serialize_with = "crate::json::text"
    )]
    pub burst: i64,
    #[prost(btree_map = "string, string", tag = "9")]
    #[serde(deserialize_with = "crate::json::nullable")]
    pub metadata: ::prost::alloc::collections::BTreeMap<String, String>,
    #[prost(int64, optional, tag = "10")]
    #[serde(
        alias = "createdAt",
        deserialize_with = "crate::json::optional_number",
        serialize_with = "crate::json::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<i64>,
}
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RateLimitResp {
    #[prost(enumeration = "Status", tag = "1")]
    #[serde(
        deserialize_with = "crate::json::enumeration::<_, crate::gubernator::Status>",
        serialize_with = "crate::json::name::<_, crate::gubernator::Status>"
    )]
    pub status: i32,
    #[prost(int64, tag = "2")]
    #[serde(
        deserialize_with = "crate::json::number",
        serialize_with = "crate::json::text"
    )]
    pub limit: i64,
    #[prost(int64, tag = "3")]
    #[serde(
        deserialize_with = "crate::json::number",
        serialize_with = "crate::json::text"
    )]
    pub remaining: i64,
    #[prost(int64, tag = "4")]
    #[serde(
        alias = "resetTime",
        deserialize_with = "crate::json::number",
        serialize_with = "crate::json::text"
    )]
    pub reset_time: i64,
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "crate::json::nullable")]
    pub error: String,
    #[prost(btree_map = "string, string", tag = "6")]
    #[serde(deserialize_with = "crate::json::nullable")]
    pub metadata: ::prost::alloc::collections::BTreeMap<String, String>,
}
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct HealthCheckReq {}
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct HealthCheckResp {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "crate::json::nullable")]
    pub status: String,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "crate::json::nullable")]
    pub message: String,
    #[prost(int32, tag = "3")]
    #[serde(alias = "peerCount")]
    pub peer_count: i32,
    #[prost(string, tag = "4")]
    #[serde(alias = "advertiseAddress", deserialize_with = "crate::json::nullable")]
    pub advertise_address: String,
}
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct LiveCheckReq {}
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct LiveCheckResp {}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Algorithm {
    TokenBucket = 0,
    LeakyBucket = 1,
}
impl Algorithm {
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::TokenBucket => "TOKEN_BUCKET",
            Self::LeakyBucket => "LEAKY_BUCKET",
        }
    }
    pub fn from_str_name(value: &str) -> Option<Self> {
        match value {
            "TOKEN_BUCKET" => Some(Self::TokenBucket),
            "LEAKY_BUCKET" => Some(Self::LeakyBucket),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Behavior {
    Batching = 0,
    NoBatching = 1,
    Global = 2,
    DurationIsGregorian = 4,
    ResetRemaining = 8,
    MultiRegion = 16,
    DrainOverLimit = 32,
}
impl Behavior {
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::Batching => "BATCHING",
            Self::NoBatching => "NO_BATCHING",
            Self::Global => "GLOBAL",
            Self::DurationIsGregorian => "DURATION_IS_GREGORIAN",
            Self::ResetRemaining => "RESET_REMAINING",
            Self::MultiRegion => "MULTI_REGION",
            Self::DrainOverLimit => "DRAIN_OVER_LIMIT",
        }
    }
    pub fn from_str_name(value: &str) -> Option<Self> {
        match value {
            "BATCHING" => Some(Self::Batching),
            "NO_BATCHING" => Some(Self::NoBatching),
            "GLOBAL" => Some(Self::Global),
            "DURATION_IS_GREGORIAN" => Some(Self::DurationIsGregorian),
            "RESET_REMAINING" => Some(Self::ResetRemaining),
            "MULTI_REGION" => Some(Self::MultiRegion),
            "DRAIN_OVER_LIMIT" => Some(Self::DrainOverLimit),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Status {
    UnderLimit = 0,
    OverLimit = 1,
}
impl Status {
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::UnderLimit => "UNDER_LIMIT",
            Self::OverLimit => "OVER_LIMIT",
        }
    }
    pub fn from_str_name(value: &str) -> Option<Self> {
        match value {
            "UNDER_LIMIT" => Some(Self::UnderLimit),
            "OVER_LIMIT" => Some(Self::OverLimit),
            _ => None,
        }
    }
}
