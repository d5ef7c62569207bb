//! How descriptor files come over xDS: the messages of state-of-the-world discovery, and the one resource that is asked
//! for.
//!
//! The messages of `envoy.service.discovery.v3` as far as a client needs them, and those of
//! `ratelimit.config.ratelimit.v3`. Fields that mean nothing here are left out, and skipped where they come. Not here:
//! what a configuration means.

use crate::google::{Any, Status, Struct};

/// The path of the method that streams both ways.
pub const STREAM: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/// The type of the resource: one domain with its descriptors.
pub const RATE_LIMIT_CONFIG: &str =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";

/// `envoy.service.discovery.v3.DiscoveryRequest`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DiscoveryRequest {
    /// The version in force; empty before there is one.
    #[prost(string, tag = "1")]
    pub version_info: String,
    /// Who asks; needed in the first message of a stream.
    #[prost(message, optional, tag = "2")]
    pub node: Option<Node>,
    /// Which resources; all where none is named.
    #[prost(string, repeated, tag = "3")]
    pub resource_names: Vec<String>,
    /// The type of the resources.
    #[prost(string, tag = "4")]
    pub type_url: String,
    /// Which response this is about.
    #[prost(string, tag = "5")]
    pub response_nonce: String,
    /// Why that was refused, where it was.
    #[prost(message, optional, tag = "6")]
    pub error_detail: Option<Status>,
}

/// `envoy.config.core.v3.Node`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Node {
    /// Its name.
    #[prost(string, tag = "1")]
    pub id: String,
    /// What it belongs to.
    #[prost(string, tag = "2")]
    pub cluster: String,
    /// What program it is.
    #[prost(string, tag = "6")]
    pub user_agent_name: String,
}

/// `envoy.service.discovery.v3.DiscoveryResponse`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DiscoveryResponse {
    /// The version of the resources.
    #[prost(string, tag = "1")]
    pub version_info: String,
    /// All there are.
    #[prost(message, repeated, tag = "2")]
    pub resources: Vec<Any>,
    /// Their type.
    #[prost(string, tag = "4")]
    pub type_url: String,
    /// Names this response.
    #[prost(string, tag = "5")]
    pub nonce: String,
}

/// `ratelimit.config.ratelimit.v3.RateLimitConfig`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RateLimitConfig {
    /// Names the resource.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The domain.
    #[prost(string, tag = "2")]
    pub domain: String,
    /// Its descriptors.
    #[prost(message, repeated, tag = "3")]
    pub descriptors: Vec<RateLimitDescriptor>,
}

/// `ratelimit.config.ratelimit.v3.RateLimitDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RateLimitDescriptor {
    /// The key of an entry.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value; any where empty.
    #[prost(string, tag = "2")]
    pub value: String,
    /// The limit.
    #[prost(message, optional, tag = "3")]
    pub rate_limit: Option<RateLimitPolicy>,
    /// Descriptors of the next entry.
    #[prost(message, repeated, tag = "4")]
    pub descriptors: Vec<RateLimitDescriptor>,
    /// Whether it counts without refusing.
    #[prost(bool, tag = "5")]
    pub shadow_mode: bool,
    /// About metrics; means nothing here.
    #[prost(bool, tag = "6")]
    pub detailed_metric: bool,
    /// Whether a request is refused only by all such rules together.
    #[prost(bool, tag = "7")]
    pub quota_mode: bool,
    /// Handed back in answers.
    #[prost(message, optional, tag = "8")]
    pub metadata: Option<Struct>,
}

/// `ratelimit.config.ratelimit.v3.RateLimitPolicy`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RateLimitPolicy {
    /// Per what, as [`crate::rls::Unit`] numbers it.
    #[prost(enumeration = "crate::rls::Unit", tag = "1")]
    pub unit: i32,
    /// How many.
    #[prost(uint32, tag = "2")]
    pub requests_per_unit: u32,
    /// Whether there is no limit.
    #[prost(bool, tag = "3")]
    pub unlimited: bool,
    /// Names the rule.
    #[prost(string, tag = "4")]
    pub name: String,
    /// Rules that it takes the place of.
    #[prost(message, repeated, tag = "5")]
    pub replaces: Vec<RateLimitReplace>,
}

/// `ratelimit.config.ratelimit.v3.RateLimitReplace`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RateLimitReplace {
    /// The rule's name.
    #[prost(string, tag = "1")]
    pub name: String,
}
