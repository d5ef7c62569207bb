//! Messages of `envoy.service.ratelimit.v3`. Made by `cargo xtask proto`; do not edit.

#[derive(serde::Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RateLimitRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "crate::json::nullable")]
    pub domain: String,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "crate::json::list::<{ crate::rls::LIST_MAX }, _, _>")]
    pub descriptors:
        Vec<super::super::super::extensions::common::ratelimit::v3::RateLimitDescriptor>,
    #[prost(uint32, tag = "3")]
    #[serde(alias = "hits_addend", deserialize_with = "crate::json::number")]
    pub hits_addend: u32,
}
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RateLimitResponse {
    #[prost(enumeration = "rate_limit_response::Code", tag = "1")]
    #[serde(
        serialize_with = "crate::json::name::<_, crate::rls::Code>",
        skip_serializing_if = "crate::json::is_zero"
    )]
    pub overall_code: i32,
    #[prost(message, repeated, tag = "2")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<rate_limit_response::DescriptorStatus>,
    #[prost(message, repeated, tag = "3")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers_to_add: Vec<super::super::super::config::core::v3::HeaderValue>,
    #[prost(message, repeated, tag = "4")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_headers_to_add: Vec<super::super::super::config::core::v3::HeaderValue>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(
        serialize_with = "crate::json::base64",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub raw_body: Vec<u8>,
    #[prost(message, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_metadata: Option<super::super::super::super::google::protobuf::Struct>,
    #[prost(message, optional, tag = "7")]
    #[serde(skip)]
    pub quota: Option<rate_limit_response::Quota>,
}
pub mod rate_limit_response {
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct RateLimit {
        #[prost(string, tag = "3")]
        #[serde(skip_serializing_if = "String::is_empty")]
        pub name: String,
        #[prost(uint32, tag = "1")]
        #[serde(skip_serializing_if = "crate::json::is_zero")]
        pub requests_per_unit: u32,
        #[prost(enumeration = "rate_limit::Unit", tag = "2")]
        #[serde(
            serialize_with = "crate::json::name::<_, crate::rls::Unit>",
            skip_serializing_if = "crate::json::is_zero"
        )]
        pub unit: i32,
    }
    pub mod rate_limit {
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration,
        )]
        #[repr(i32)]
        pub enum Unit {
            Unknown = 0,
            Second = 1,
            Minute = 2,
            Hour = 3,
            Day = 4,
            Week = 7,
            Month = 5,
            Year = 6,
        }
        impl Unit {
            pub fn as_str_name(&self) -> &'static str {
                match self {
                    Self::Unknown => "UNKNOWN",
                    Self::Second => "SECOND",
                    Self::Minute => "MINUTE",
                    Self::Hour => "HOUR",
                    Self::Day => "DAY",
                    Self::Week => "WEEK",
                    Self::Month => "MONTH",
                    Self::Year => "YEAR",
                }
            }
            pub fn from_str_name(value: &str) -> Option<Self> {
                match value {
                    "UNKNOWN" => Some(Self::Unknown),
                    "SECOND" => Some(Self::Second),
                    "MINUTE" => Some(Self::Minute),
                    "HOUR" => Some(Self::Hour),
                    "DAY" => Some(Self::Day),
                    "WEEK" => Some(Self::Week),
                    "MONTH" => Some(Self::Month),
                    "YEAR" => Some(Self::Year),
                    _ => None,
                }
            }
        }
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Quota {
        #[prost(uint32, tag = "1")]
        pub requests: u32,
        #[prost(string, tag = "3")]
        pub id: String,
        #[prost(oneof = "quota::ExpirationSpecifier", tags = "2")]
        pub expiration_specifier: Option<quota::ExpirationSpecifier>,
    }
    pub mod quota {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Oneof)]
        pub enum ExpirationSpecifier {
            #[prost(message, tag = "2")]
            ValidUntil(super::super::super::super::super::super::google::protobuf::Timestamp),
        }
    }
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct DescriptorStatus {
        #[prost(enumeration = "Code", tag = "1")]
        #[serde(
            serialize_with = "crate::json::name::<_, crate::rls::Code>",
            skip_serializing_if = "crate::json::is_zero"
        )]
        pub code: i32,
        #[prost(message, optional, tag = "2")]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub current_limit: Option<RateLimit>,
        #[prost(uint32, tag = "3")]
        #[serde(skip_serializing_if = "crate::json::is_zero")]
        pub limit_remaining: u32,
        #[prost(message, optional, tag = "4")]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub duration_until_reset:
            Option<super::super::super::super::super::google::protobuf::Duration>,
        #[prost(message, optional, tag = "5")]
        #[serde(skip)]
        pub quota: Option<Quota>,
    }
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
    #[repr(i32)]
    pub enum Code {
        Unknown = 0,
        Ok = 1,
        OverLimit = 2,
    }
    impl Code {
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unknown => "UNKNOWN",
                Self::Ok => "OK",
                Self::OverLimit => "OVER_LIMIT",
            }
        }
        pub fn from_str_name(value: &str) -> Option<Self> {
            match value {
                "UNKNOWN" => Some(Self::Unknown),
                "OK" => Some(Self::Ok),
                "OVER_LIMIT" => Some(Self::OverLimit),
                _ => None,
            }
        }
    }
}
