//! Paths of other limiters: throttlecrab's `/throttle`, gubernator's `/v1/GetRateLimits` and `/v1/HealthCheck`.
//!
//! Not here: what is answered (`throttle`, `gubernator`).

use http::StatusCode;
use tollgate_wire::gubernator::{GetRateLimitsReq, LiveCheckResp};
use tollgate_wire::throttlecrab::HttpRequest;

use super::json::{malformed, read};
use super::request::BodyRefusal;
use super::route::may;
use super::{ReceivedRequest, Reply};
use crate::access::Operation;
use crate::engine::Turn;
use crate::gubernator;
use crate::throttle::{self, ThrottleError};

/// `POST /throttle`: always answered with 200, also for denials.
pub(super) fn throttle(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let Some(request) = read::<HttpRequest>(asked, reply) else {
        return;
    };
    let max = asked.shared.settings.limits.key_bytes_max;
    let detail = match throttle::throttlecrab(turn, &request, max) {
        Ok(response) => return reply.json(&response),
        Err(ThrottleError::Engine(error)) => return BodyRefusal::Engine(error).answer(reply),
        Err(ThrottleError::TooSmall(what)) => format!("{what}."),
    };
    malformed(asked);
    reply.refuse(StatusCode::BAD_REQUEST, &detail);
}

/// `POST /v1/GetRateLimits` of gubernator: always answered with 200, also for denials.
pub(super) fn get_rate_limits(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let Some(request) = read::<GetRateLimitsReq>(asked, reply) else {
        return;
    };
    if gubernator::writes(&request) && may(Operation::Reset, asked, reply).is_none() {
        return;
    }
    match gubernator::get_rate_limits(turn, &request, asked.shared.settings.limits.key_bytes_max) {
        Ok(response) => reply.json(&response),
        Err(error) => {
            malformed(asked);
            reply.refuse(StatusCode::BAD_REQUEST, &error.to_string());
        }
    }
}

/// `GET /v1/HealthCheck` of gubernator.
pub(super) fn health_check(_: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.json(&gubernator::health_check(asked.shared));
}

/// `GET /v1/LiveCheck` of gubernator.
pub(super) fn live_check(_: &Turn<'_>, _: &ReceivedRequest<'_>, reply: &mut Reply) {
    reply.json(&LiveCheckResp {});
}
