//! Messages of `throttlecrab`. Made by `cargo xtask proto`; do not edit.

#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ThrottleRequest {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(int32, tag = "2")]
    pub max_burst: i32,
    #[prost(int32, tag = "3")]
    pub count_per_period: i32,
    #[prost(int32, tag = "4")]
    pub period: i32,
    #[prost(int32, tag = "5")]
    pub quantity: i32,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ThrottleResponse {
    #[prost(bool, tag = "1")]
    pub allowed: bool,
    #[prost(int32, tag = "2")]
    pub limit: i32,
    #[prost(int32, tag = "3")]
    pub remaining: i32,
    #[prost(int32, tag = "4")]
    pub retry_after: i32,
    #[prost(int32, tag = "5")]
    pub reset_after: i32,
}
