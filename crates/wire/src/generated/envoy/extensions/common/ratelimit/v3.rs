//! Messages of `envoy.extensions.common.ratelimit.v3`. Made by `cargo xtask proto`; do not edit.

#[derive(serde::Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RateLimitDescriptor {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "crate::json::list::<{ crate::rls::LIST_MAX }, _, _>")]
    pub entries: Vec<rate_limit_descriptor::Entry>,
    #[prost(message, optional, tag = "2")]
    pub limit: Option<rate_limit_descriptor::RateLimitOverride>,
    #[prost(message, optional, tag = "3")]
    #[serde(
        alias = "hits_addend",
        deserialize_with = "crate::json::optional_number"
    )]
    pub hits_addend: Option<u64>,
    #[prost(bool, tag = "4")]
    #[serde(alias = "is_negative_hits")]
    pub is_negative_hits: bool,
}
pub mod rate_limit_descriptor {
    #[derive(serde::Deserialize)]
    #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Entry {
        #[prost(bytes = "vec", tag = "1")]
        #[serde(deserialize_with = "crate::json::text_bytes")]
        pub key: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        #[serde(deserialize_with = "crate::json::text_bytes")]
        pub value: Vec<u8>,
    }
    #[derive(serde::Deserialize)]
    #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
    #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct RateLimitOverride {
        #[prost(uint32, tag = "1")]
        #[serde(alias = "requests_per_unit", deserialize_with = "crate::json::number")]
        pub requests_per_unit: u32,
        #[prost(enumeration = "crate::rls::Unit", tag = "2")]
        #[serde(deserialize_with = "crate::json::enumeration::<_, crate::rls::Unit>")]
        pub unit: i32,
    }
}
