//! Envoy's rate limit service, version 3, and its twin in proto-JSON.
//!
//! The messages of `envoy.service.ratelimit.v3` and `envoy.extensions.common.ratelimit.v3`, which
//! Kuadrant's service takes too. JSON is read and written as proto-JSON is: names in camel case,
//! those of the protobuf files accepted as well, unknown ones refused, zero values left out.

pub use crate::generated::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
pub use crate::generated::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
pub use crate::generated::envoy::service::ratelimit::v3::rate_limit_response::quota::ExpirationSpecifier;
/// Also stands for `envoy.type.v3.RateLimitUnit` of an override and for the unit of a configuration, which have the
/// same numbers; the former has no week.
pub use crate::generated::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
pub use crate::generated::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus, Quota, RateLimit,
};
pub use crate::generated::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};

/// The full name of Envoy's service, with the one method `ShouldRateLimit`.
pub const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";

/// The full name of Kuadrant's service: `CheckRateLimit` judges without counting, `Report` counts
/// without judging; both take and give the same messages.
pub const KUADRANT_SERVICE: &str = "kuadrant.service.ratelimit.v1.RateLimitService";

/// The most descriptors of a request, and the most entries of a descriptor, in JSON.
pub const LIST_MAX: usize = 256;
