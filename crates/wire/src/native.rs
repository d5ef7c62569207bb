//! Tollgate's own gRPC service, `tollgate.v1.Tollgate`: the checks of the HTTP interface, one or many in a call.
//!
//! The messages say what those of [`v1`](crate::v1) say. Errors of a single check are those of the call; in a call with
//! many each answer has its own.

use prost::bytes::Bytes;

/// The full name of the service: `Check`, `CheckMany`.
pub const SERVICE: &str = "tollgate.v1.Tollgate";

/// `tollgate.v1.CheckRequest`: may this request pass?
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CheckRequest {
    /// Who is counted, by entries in order.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Entry>,
    /// Who is counted, by a bare key; only without entries.
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
    /// Tokens to take; one unless given, and zero is a peek.
    #[prost(uint64, optional, tag = "3")]
    pub cost: Option<u64>,
    /// The only contract to ask, instead of all that bind the key.
    #[prost(string, tag = "4")]
    pub contract: String,
    /// The same id is charged once, however often it is sent.
    #[prost(string, tag = "5")]
    pub id: String,
}

/// `tollgate.v1.Entry`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Entry {
    /// The entry's name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `tollgate.v1.CheckResponse`. A denial is an answer too.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CheckResponse {
    /// Whether the request may pass, after `wait_ms` if that is not zero.
    #[prost(bool, tag = "1")]
    pub allowed: bool,
    /// The policy that refuses longest, or that has the least left; empty where no contract binds the key.
    #[prost(string, tag = "2")]
    pub policy: String,
    /// That policy's limit.
    #[prost(uint64, tag = "3")]
    pub limit: u64,
    /// Whole tokens it has left.
    #[prost(uint64, tag = "4")]
    pub remaining: u64,
    /// Until the same request could pass; none if it passed or no wait will help.
    #[prost(uint64, optional, tag = "5")]
    pub retry_after_ms: Option<u64>,
    /// Until that policy is as if the key had never been seen.
    #[prost(uint64, tag = "6")]
    pub reset_after_ms: u64,
    /// How long a delayed request has to wait before it goes on.
    #[prost(uint64, tag = "7")]
    pub wait_ms: u64,
    /// By which the real cost can be settled; empty where nothing was charged, or in a call with many that wants none.
    #[prost(string, tag = "8")]
    pub receipt: String,
    /// In a call with many: why there was no judging. Empty if there was.
    #[prost(string, tag = "9")]
    pub error: String,
    /// The most tokens that the policy can hold: more than its limit where a bucket is larger.
    #[prost(uint64, tag = "10")]
    pub capacity: u64,
    /// Tokens that it is below zero.
    #[prost(uint64, tag = "11")]
    pub debt: u64,
    /// Whether no contract binds the key.
    #[prost(bool, tag = "12")]
    pub unmatched: bool,
    /// Whether `remaining` is only the part that is lent to a sidecar; the policy may have more left.
    #[prost(bool, tag = "13")]
    pub part: bool,
}

/// `tollgate.v1.CheckManyRequest`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CheckManyRequest {
    /// What to decide, in order.
    #[prost(message, repeated, tag = "1")]
    pub checks: Vec<CheckRequest>,
    /// Whether answers have receipts, which cost more than the decisions.
    #[prost(bool, tag = "2")]
    pub with_receipts: bool,
}

/// `tollgate.v1.CheckManyResponse`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CheckManyResponse {
    /// One for each check, in their order.
    #[prost(message, repeated, tag = "1")]
    pub answers: Vec<CheckResponse>,
}
