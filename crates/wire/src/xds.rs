//! Descriptor files over xDS: the messages of state-of-the-world discovery, and the one resource that is requested.
//!
//! The messages of `envoy.service.discovery.v3` as far as a client needs them, and those of
//! `ratelimit.config.ratelimit.v3`. Fields without a meaning here are left out, and skipped when decoding. Not here:
//! what a configuration means.

pub use crate::envoy::Node;
pub use crate::generated::envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse};
pub use crate::generated::ratelimit::config::ratelimit::v3::{
    RateLimitConfig, RateLimitDescriptor, RateLimitPolicy, RateLimitReplace,
};

/// The path of the method that streams both ways.
pub const STREAM: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/// The type of the resource: one domain with its descriptors.
pub const RATE_LIMIT_CONFIG: &str =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
