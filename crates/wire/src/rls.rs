//! Envoy's rate limit service, version 3, and its twin in proto-JSON.
//!
//! The messages of `envoy.service.ratelimit.v3` and `envoy.extensions.common.ratelimit.v3`, which
//! Kuadrant's service takes too. JSON is read and written as proto-JSON is: names in camel case,
//! those of the protobuf files accepted as well, unknown ones refused, zero values left out.

use serde::{Deserialize, Serialize};

use crate::envoy::HeaderValue;
use crate::google::{Duration, Struct, Timestamp};
use crate::json;

/// The full name of Envoy's service, with the one method `ShouldRateLimit`.
pub const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";

/// The full name of Kuadrant's service: `CheckRateLimit` judges without counting, `Report` counts
/// without judging; both take and give the same messages.
pub const KUADRANT_SERVICE: &str = "kuadrant.service.ratelimit.v1.RateLimitService";

/// The most descriptors of a request, and the most entries of a descriptor, in JSON.
pub const LIST_MAX: usize = 256;

/// `envoy.service.ratelimit.v3.RateLimitRequest`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitRequest {
    /// Which set of rules; must not be empty.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "json::nullable")]
    pub domain: String,
    /// What is counted; at least one.
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "json::list::<LIST_MAX, _, _>")]
    pub descriptors: Vec<RateLimitDescriptor>,
    /// The cost of every descriptor that has none of its own; zero is one.
    #[prost(uint32, tag = "3")]
    #[serde(alias = "hits_addend", deserialize_with = "json::number")]
    pub hits_addend: u32,
}

/// `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitDescriptor {
    /// The key, in order; at least one.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json::list::<LIST_MAX, _, _>")]
    pub entries: Vec<Entry>,
    /// A limit to use instead of the configured one.
    #[prost(message, optional, tag = "2")]
    pub limit: Option<RateLimitOverride>,
    /// This descriptor's own cost; present and zero is a peek.
    #[prost(message, optional, tag = "3")]
    #[serde(alias = "hits_addend", deserialize_with = "json::optional_number")]
    pub hits_addend: Option<u64>,
    /// Whether the cost is given back instead of taken.
    #[prost(bool, tag = "4")]
    #[serde(alias = "is_negative_hits")]
    pub is_negative_hits: bool,
}

/// `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry`.
#[derive(Clone, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default, deny_unknown_fields)]
pub struct Entry {
    /// The entry's name.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "json::text_bytes")]
    pub key: Vec<u8>,
    /// Its value. Clients choose it, and Envoy sends what is no UTF-8 as it is.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "json::text_bytes")]
    pub value: Vec<u8>,
}

/// `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, prost::Message)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitOverride {
    /// The limit.
    #[prost(uint32, tag = "1")]
    #[serde(alias = "requests_per_unit", deserialize_with = "json::number")]
    pub requests_per_unit: u32,
    /// Per what.
    #[prost(enumeration = "Unit", tag = "2")]
    #[serde(deserialize_with = "json::enumeration::<_, Unit>")]
    pub unit: i32,
}

/// `envoy.service.ratelimit.v3.RateLimitResponse`.
#[derive(Clone, PartialEq, Serialize, prost::Message)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitResponse {
    /// The answer to the request as a whole. `Unknown` lets it through.
    #[prost(enumeration = "Code", tag = "1")]
    #[serde(
        skip_serializing_if = "json::is_zero",
        serialize_with = "json::name::<_, Code>"
    )]
    pub overall_code: i32,
    /// One for each descriptor, in their order.
    #[prost(message, repeated, tag = "2")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<DescriptorStatus>,
    /// For the client.
    #[prost(message, repeated, tag = "3")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers_to_add: Vec<HeaderValue>,
    /// For the service behind.
    #[prost(message, repeated, tag = "4")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_headers_to_add: Vec<HeaderValue>,
    /// The body for a client that is refused.
    #[prost(bytes = "vec", tag = "5")]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::base64")]
    pub raw_body: Vec<u8>,
    /// For other filters.
    #[prost(message, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_metadata: Option<Struct>,
    /// Specified, and ignored by Envoy; not in the JSON form.
    #[prost(message, optional, tag = "7")]
    #[serde(skip)]
    pub quota: Option<Quota>,
}

/// `envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus`.
#[derive(Clone, PartialEq, Eq, Serialize, prost::Message)]
#[serde(rename_all = "camelCase")]
pub struct DescriptorStatus {
    /// The answer to one descriptor.
    #[prost(enumeration = "Code", tag = "1")]
    #[serde(
        skip_serializing_if = "json::is_zero",
        serialize_with = "json::name::<_, Code>"
    )]
    pub code: i32,
    /// The limit that judged it; none where no rule matches.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_limit: Option<RateLimit>,
    /// What is left of it.
    #[prost(uint32, tag = "3")]
    #[serde(skip_serializing_if = "json::is_zero")]
    pub limit_remaining: u32,
    /// Until it is as if nothing had been taken.
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_until_reset: Option<Duration>,
    /// Specified, and ignored by Envoy; not in the JSON form.
    #[prost(message, optional, tag = "5")]
    #[serde(skip)]
    pub quota: Option<Quota>,
}

/// `envoy.service.ratelimit.v3.RateLimitResponse.RateLimit`.
#[derive(Clone, PartialEq, Eq, Serialize, prost::Message)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// The rule's name.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The limit.
    #[prost(uint32, tag = "1")]
    #[serde(skip_serializing_if = "json::is_zero")]
    pub requests_per_unit: u32,
    /// Per what.
    #[prost(enumeration = "Unit", tag = "2")]
    #[serde(
        skip_serializing_if = "json::is_zero",
        serialize_with = "json::name::<_, Unit>"
    )]
    pub unit: i32,
}

/// `envoy.service.ratelimit.v3.RateLimitResponse.Quota`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Quota {
    /// How many requests may pass without asking.
    #[prost(uint32, tag = "1")]
    pub requests: u32,
    /// Until when; in Envoy's file the only choice of `expiration_specifier`.
    #[prost(message, optional, tag = "2")]
    pub valid_until: Option<Timestamp>,
    /// Tells quotas apart.
    #[prost(string, tag = "3")]
    pub id: String,
}

/// `envoy.service.ratelimit.v3.RateLimitResponse.Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Code {
    /// No answer; Envoy lets the request through.
    Unknown = 0,
    /// It may pass.
    Ok = 1,
    /// It is refused.
    OverLimit = 2,
}

impl json::Named for Code {
    const NAMES: &'static [(i32, &'static str)] = &[(0, "UNKNOWN"), (1, "OK"), (2, "OVER_LIMIT")];
}

/// `envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit`.
///
/// Also stands for `envoy.type.v3.RateLimitUnit` of an override, which has the same numbers but
/// no week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Unit {
    /// Not said.
    Unknown = 0,
    /// A second.
    Second = 1,
    /// A minute.
    Minute = 2,
    /// An hour.
    Hour = 3,
    /// A day.
    Day = 4,
    /// A month.
    Month = 5,
    /// A year.
    Year = 6,
    /// A week.
    Week = 7,
}

impl json::Named for Unit {
    const NAMES: &'static [(i32, &'static str)] = &[
        (0, "UNKNOWN"),
        (1, "SECOND"),
        (2, "MINUTE"),
        (3, "HOUR"),
        (4, "DAY"),
        (5, "MONTH"),
        (6, "YEAR"),
        (7, "WEEK"),
    ];
}
