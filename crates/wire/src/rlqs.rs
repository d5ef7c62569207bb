//! Envoy's rate limit quota service, version 3: reports of usage one way, assignments the other.
//!
//! The messages of `envoy.service.rate_limit_quota.v3` and the strategies of `envoy.type.v3`. They have no JSON form
//! here. Not here: what is assigned.

use std::collections::BTreeMap;

use crate::google::Duration;

/// The full name of the service, with the one method `StreamRateLimitQuotas`, which streams both ways.
pub const SERVICE: &str = "envoy.service.rate_limit_quota.v3.RateLimitQuotaService";

/// `envoy.service.rate_limit_quota.v3.RateLimitQuotaUsageReports`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RateLimitQuotaUsageReports {
    /// Which set of rules; needed in the first message of a stream.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// One for each bucket.
    #[prost(message, repeated, tag = "2")]
    pub bucket_quota_usages: Vec<BucketQuotaUsage>,
}

/// `envoy.service.rate_limit_quota.v3.RateLimitQuotaUsageReports.BucketQuotaUsage`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct BucketQuotaUsage {
    /// Which bucket; the first report of one subscribes to it.
    #[prost(message, optional, tag = "1")]
    pub bucket_id: Option<BucketId>,
    /// Since the last report of this bucket. Envoy says whole seconds, and zero in the first report.
    #[prost(message, optional, tag = "2")]
    pub time_elapsed: Option<Duration>,
    /// Requests that passed.
    #[prost(uint64, tag = "3")]
    pub num_requests_allowed: u64,
    /// Requests that were refused.
    #[prost(uint64, tag = "4")]
    pub num_requests_denied: u64,
}

/// `envoy.service.rate_limit_quota.v3.BucketId`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Message)]
pub struct BucketId {
    /// Names and values, in no order; at least one. Values may be no UTF-8, as clients choose them.
    #[prost(btree_map = "string, bytes", tag = "1")]
    pub bucket: BTreeMap<String, Vec<u8>>,
}

/// `envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RateLimitQuotaResponse {
    /// One for each bucket that something is said of.
    #[prost(message, repeated, tag = "1")]
    pub bucket_action: Vec<BucketAction>,
}

/// `envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse.BucketAction`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct BucketAction {
    /// Which bucket.
    #[prost(message, optional, tag = "1")]
    pub bucket_id: Option<BucketId>,
    /// What is to be done.
    #[prost(oneof = "BucketActionKind", tags = "2, 3")]
    pub bucket_action: Option<BucketActionKind>,
}

/// What is to be done with a bucket.
#[derive(Clone, Copy, PartialEq, Eq, prost::Oneof)]
pub enum BucketActionKind {
    /// Use this from now on.
    #[prost(message, tag = "2")]
    QuotaAssignmentAction(QuotaAssignmentAction),
    /// Forget the bucket.
    #[prost(message, tag = "3")]
    AbandonAction(AbandonAction),
}

/// `envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse.BucketAction.QuotaAssignmentAction`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct QuotaAssignmentAction {
    /// For how long, from its receipt; for ever where it is not said. Envoy reads whole seconds.
    #[prost(message, optional, tag = "2")]
    pub assignment_time_to_live: Option<Duration>,
    /// How to decide.
    #[prost(message, optional, tag = "3")]
    pub rate_limit_strategy: Option<RateLimitStrategy>,
}

/// `envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse.BucketAction.AbandonAction`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct AbandonAction {}

/// `envoy.type.v3.RateLimitStrategy`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct RateLimitStrategy {
    /// Which one.
    #[prost(oneof = "Strategy", tags = "1, 2, 3")]
    pub strategy: Option<Strategy>,
}

/// A way to decide.
#[derive(Clone, Copy, PartialEq, Eq, prost::Oneof)]
pub enum Strategy {
    /// Everything or nothing passes.
    #[prost(enumeration = "BlanketRule", tag = "1")]
    BlanketRule(i32),
    /// So many in a unit of time; Envoy does not know it.
    #[prost(message, tag = "2")]
    RequestsPerTimeUnit(RequestsPerTimeUnit),
    /// A bucket.
    #[prost(message, tag = "3")]
    TokenBucket(TokenBucket),
}

/// `envoy.type.v3.RateLimitStrategy.BlanketRule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlanketRule {
    /// Everything passes.
    AllowAll = 0,
    /// Nothing does.
    DenyAll = 1,
}

/// `envoy.type.v3.RateLimitStrategy.RequestsPerTimeUnit`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct RequestsPerTimeUnit {
    /// The limit.
    #[prost(uint64, tag = "1")]
    pub requests_per_time_unit: u64,
    /// Per what, as [`crate::rls::Unit`] numbers it.
    #[prost(int32, tag = "2")]
    pub time_unit: i32,
}

/// `envoy.type.v3.TokenBucket`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct TokenBucket {
    /// What it holds when full, which it may be at first.
    #[prost(uint32, tag = "1")]
    pub max_tokens: u32,
    /// What comes back in an interval; one where it is not said.
    #[prost(message, optional, tag = "2")]
    pub tokens_per_fill: Option<u32>,
    /// The interval. Envoy reads whole seconds.
    #[prost(message, optional, tag = "3")]
    pub fill_interval: Option<Duration>,
}
