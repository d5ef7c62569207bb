//! Paths of other limiters: throttlecrab's `/throttle`, gubernator's `/v1/GetRateLimits` and `/v1/HealthCheck`.
//!
//! Not here: what is answered (`throttle`, `gubernator`).

use std::time::Duration;

use http::StatusCode;
use tollgate_wire::gubernator::{GetRateLimitsReq, LiveCheckResp};
use tollgate_wire::resp::{Dialect, NEVER_SECS, Throttle, ThrottleReply};
use tollgate_wire::throttlecrab::{HttpRequest, HttpResponse};

use super::body::Refusal;
use super::json::{malformed, read};
use super::route::may;
use super::{Asked, Reply};
use crate::access::Operation;
use crate::engine::Turn;
use crate::value::short;
use crate::{gubernator, throttle};

/// `POST /throttle`, which is answered with 200 whether the request may pass or not.
pub(super) fn throttle(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    let Some(request) = read::<HttpRequest>(asked, reply) else {
        return;
    };
    let key = short(&request.key, asked.shared.settings.limits.key_bytes_max);
    let command = match command(&request, &key) {
        Ok(command) => command,
        Err(detail) => {
            malformed(asked);
            return reply.refuse(StatusCode::BAD_REQUEST, &detail);
        }
    };
    match throttle::throttle(turn, &command) {
        Ok(answer) => reply.json(&response(&command, &answer)),
        Err(error) => Refusal::Engine(error).answer(reply),
    }
}

fn command<'a>(request: &HttpRequest, key: &'a str) -> Result<Throttle<'a>, String> {
    let at_least = |name: &str, value: i64, least: u64| {
        let value = u64::try_from(value).ok().filter(|value| *value >= least);
        value.ok_or_else(|| format!("`{name}` is at least {least}."))
    };
    Ok(Throttle {
        dialect: Dialect::Throttlecrab,
        key: key.as_bytes(),
        max_burst: at_least("max_burst", request.max_burst, 1)?,
        count: at_least("count_per_period", request.count_per_period, 1)?,
        period_secs: at_least("period", request.period, 1)?,
        cost: at_least("quantity", request.quantity.unwrap_or(1), 0)?,
    })
}

fn response(command: &Throttle<'_>, answer: &ThrottleReply) -> HttpResponse {
    let retry_after = match answer.retry_after {
        _ if answer.allowed => 0,
        Some(after) => seconds(after),
        None => NEVER_SECS,
    };
    HttpResponse {
        allowed: answer.allowed,
        limit: number(command.limit()),
        remaining: number(answer.remaining),
        reset_after: seconds(answer.reset_after),
        retry_after,
    }
}

/// `POST /v1/GetRateLimits` of gubernator, which is answered with 200 whether the requests may pass or not.
pub(super) fn get_rate_limits(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
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
pub(super) fn health_check(_: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    reply.json(&gubernator::health_check(asked.shared));
}

/// `GET /v1/LiveCheck` of gubernator.
pub(super) fn live_check(_: &Turn<'_>, _: &Asked<'_>, reply: &mut Reply) {
    reply.json(&LiveCheckResp {});
}

/// Whole seconds, rounded up.
fn seconds(span: Duration) -> i64 {
    let begun = u64::from(span.subsec_nanos() > 0);
    number(span.as_secs().saturating_add(begun))
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
