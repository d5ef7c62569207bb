//! Throttlecrab's messages: gRPC `throttlecrab` and the bodies of its `POST /throttle`.

use serde::{Deserialize, Serialize};

pub use crate::generated::throttlecrab::{ThrottleRequest, ThrottleResponse};
use crate::v1::whole::{optional_signed, signed};

/// The full name of the service, with the one method `Throttle`.
pub const SERVICE: &str = "throttlecrab.RateLimiter";

/// The body of `POST /throttle`; unknown members are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    pub key: String,
    /// The most that may be taken at once.
    #[serde(deserialize_with = "signed")]
    pub max_burst: i64,
    /// Tokens refilled per period.
    #[serde(deserialize_with = "signed")]
    pub count_per_period: i64,
    /// Seconds.
    #[serde(deserialize_with = "signed")]
    pub period: i64,
    /// One by default.
    #[serde(default, deserialize_with = "optional_signed")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<i64>,
}

/// The body of the answer, which always has status 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    pub allowed: bool,
    /// The most that may be taken at once.
    pub limit: i64,
    /// What is left.
    pub remaining: i64,
    /// Seconds until full, rounded up.
    pub reset_after: i64,
    /// Seconds, rounded up; zero if allowed.
    pub retry_after: i64,
}
