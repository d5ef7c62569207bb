//! Envoy's rate limit quota service, version 3: reports of usage one way, assignments the other.
//!
//! The messages of `envoy.service.rate_limit_quota.v3` and the strategies of `envoy.type.v3`. They have no JSON form
//! here. Not here: what is assigned.

pub use crate::generated::envoy::service::rate_limit_quota::v3::rate_limit_quota_response::BucketAction;
pub use crate::generated::envoy::service::rate_limit_quota::v3::rate_limit_quota_response::bucket_action::{
    AbandonAction, BucketAction as BucketActionKind, QuotaAssignmentAction,
};
pub use crate::generated::envoy::service::rate_limit_quota::v3::rate_limit_quota_usage_reports::BucketQuotaUsage;
pub use crate::generated::envoy::service::rate_limit_quota::v3::{
    BucketId, RateLimitQuotaResponse, RateLimitQuotaUsageReports,
};
pub use crate::generated::envoy::r#type::v3::rate_limit_strategy::{
    BlanketRule, RequestsPerTimeUnit, Strategy,
};
pub use crate::generated::envoy::r#type::v3::{RateLimitStrategy, TokenBucket};

/// The full name of the service, with the one method `StreamRateLimitQuotas`, which streams both ways.
pub const SERVICE: &str = "envoy.service.rate_limit_quota.v3.RateLimitQuotaService";
