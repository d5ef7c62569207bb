//! Throttlecrab's service: one throttle command per call.

use tollgate_wire::throttlecrab::{HttpRequest, ThrottleRequest, ThrottleResponse};

use super::status::{GrpcCode, GrpcStatus};
use crate::engine::Turn;
use crate::settings::RequestLimits;
use crate::throttle::{self, ThrottleError};

pub(super) fn throttle(
    turn: &Turn<'_>,
    request: ThrottleRequest,
    limits: &RequestLimits,
) -> Result<ThrottleResponse, GrpcStatus> {
    let request = HttpRequest {
        key: request.key,
        max_burst: request.max_burst.into(),
        count_per_period: request.count_per_period.into(),
        period: request.period.into(),
        quantity: Some(request.quantity.into()),
    };
    let response = throttle::throttlecrab(turn, &request, limits.key_bytes_max);
    let response = response.map_err(|refused| match refused {
        ThrottleError::Engine(error) => error.into(),
        ThrottleError::TooSmall(what) => GrpcStatus::new(GrpcCode::InvalidArgument, what),
    })?;
    Ok(ThrottleResponse {
        allowed: response.allowed,
        limit: number(response.limit),
        remaining: number(response.remaining),
        retry_after: number(response.retry_after),
        reset_after: number(response.reset_after),
    })
}

/// Saturates at what the messages can hold.
fn number(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
