//! Gubernator's messages, `pb.gubernator`, in protobuf and in the JSON of its HTTP interface.
//!
//! In JSON 64-bit integers are strings; numbers are read too. Names are read in snake and camel
//! case and written in snake case, zero values included; unknown names are ignored.

pub use crate::generated::pb::gubernator::{
    Algorithm, Behavior, GetRateLimitsReq, GetRateLimitsResp, HealthCheckReq, HealthCheckResp,
    LiveCheckReq, LiveCheckResp, RateLimitReq, RateLimitResp, Status,
};

/// The full name of the service: `GetRateLimits`, `HealthCheck`, `LiveCheck`.
pub const SERVICE: &str = "pb.gubernator.V1";

/// A call with more requests is refused as a whole.
///
/// The JSON form is refused while it is read. Protobuf is read to its end, so the caller must limit the bytes: an empty
/// request is two of them, and about a hundred times that in memory.
pub const REQUESTS_MAX: usize = 1_000;

impl Behavior {
    /// Whether this bit is set in a request's bits.
    pub const fn is_in(self, bits: i32) -> bool {
        bits & (self as i32) != 0
    }
}
