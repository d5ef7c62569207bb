//! Messages of `tollgate.v1`. Made by `cargo xtask proto`; do not edit.

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckRequest {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Entry>,
    #[prost(bytes = "bytes", tag = "2")]
    pub key: ::prost::bytes::Bytes,
    #[prost(uint64, optional, tag = "3")]
    pub cost: Option<u64>,
    #[prost(string, tag = "4")]
    pub contract: String,
    #[prost(string, tag = "5")]
    pub id: String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Entry {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct CheckResponse {
    #[prost(bool, tag = "1")]
    pub allowed: bool,
    #[prost(string, tag = "2")]
    pub policy: String,
    #[prost(uint64, tag = "3")]
    pub limit: u64,
    #[prost(uint64, tag = "4")]
    pub remaining: u64,
    #[prost(uint64, optional, tag = "5")]
    pub retry_after_ms: Option<u64>,
    #[prost(uint64, tag = "6")]
    pub reset_after_ms: u64,
    #[prost(uint64, tag = "7")]
    pub wait_ms: u64,
    #[prost(string, tag = "8")]
    pub receipt: String,
    #[prost(string, tag = "9")]
    pub error: String,
    #[prost(uint64, tag = "10")]
    pub capacity: u64,
    #[prost(uint64, tag = "11")]
    pub debt: u64,
    #[prost(bool, tag = "12")]
    pub unmatched: bool,
    #[prost(bool, tag = "13")]
    pub part: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckManyRequest {
    #[prost(message, repeated, tag = "1")]
    pub checks: Vec<CheckRequest>,
    #[prost(bool, tag = "2")]
    pub with_receipts: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckManyResponse {
    #[prost(message, repeated, tag = "1")]
    pub answers: Vec<CheckResponse>,
}
