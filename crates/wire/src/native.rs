//! Tollgate's own gRPC service, `tollgate.v1.Tollgate`: the checks of the HTTP interface, one or many in a call.
//!
//! The messages mean the same as those of [`v1`](crate::v1). Errors of a single check are those of the call; in a call
//! with many each answer has its own.

pub use crate::generated::tollgate::v1::{
    CheckManyRequest, CheckManyResponse, CheckRequest, CheckResponse, Entry,
};

/// The full name of the service: `Check`, `CheckMany`.
pub const SERVICE: &str = "tollgate.v1.Tollgate";
