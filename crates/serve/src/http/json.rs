//! `/json`, the rate limit service without gRPC, and related paths.
//!
//! Not here: what is answered (`rls`).

use http::StatusCode;
use serde::Deserialize;
use tollgate_contract::Dialect;
use tollgate_wire::rls::{Code, RateLimitRequest, RateLimitResponse};
use tollgate_wire::v1;

use super::reply::TEXT;
use super::request::shown;
use super::route::may;
use super::{ReceivedRequest, Reply};
use crate::access::Operation;
use crate::engine::{Started, Turn};
use crate::meter::{Door, Event};
use crate::rls::{self, Counting, JudgeOptions, RlsError};

/// `POST /json`: 200 if the request may pass, otherwise 429.
pub(super) fn json(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let Some(request) = read::<RateLimitRequest>(asked, reply) else {
        return;
    };
    if rls::gives_back(&request) && may(Operation::Refund, asked, reply).is_none() {
        return;
    }
    // Its callers make header fields from the statuses.
    let dialect = Dialect::None;
    let manner = JudgeOptions {
        dialect,
        ..JudgeOptions::from(&asked.shared.settings)
    };
    let started = match rls::answer(turn, request, Counting::Judged, manner) {
        Started::Now(Err(error)) if !matches!(error, RlsError::Engine(_) | RlsError::Full) => {
            malformed(asked);
            return reply.refuse(StatusCode::BAD_REQUEST, &error.to_string());
        }
        started => started,
    };
    let started = started.map(turn, |_, answered| match answered {
        Ok(response) => Ok(Some(response)),
        Err(RlsError::Engine(error)) => Err(error),
        Err(_) => Ok(None),
    });
    reply.put(turn, started, |_, response, reply| {
        let Some(response) = response else {
            return reply.shed("There is no room to count another key.");
        };
        if response.overall_code == i32::from(Code::OverLimit) {
            reply.set_status(StatusCode::TOO_MANY_REQUESTS);
            reply.number("retry-after", retry_after(&response));
        }
        reply.json(&response);
    });
}

/// `GET /healthcheck`, and `GET /health` of throttlecrab.
pub(super) fn healthcheck(_: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    if asked.shared.state.is_ready() {
        reply.text(TEXT, b"OK");
    } else {
        reply.set_status(StatusCode::SERVICE_UNAVAILABLE);
        reply.text(TEXT, b"not ready");
    }
}

/// Reads a body in JSON, or answers with what is wrong with it.
///
/// Clients of these paths do not all send a content type. A browser has to, which makes it send a preflight before a
/// cross-origin request.
pub(super) fn read<'a, T: Deserialize<'a>>(
    asked: &ReceivedRequest<'a>,
    reply: &mut Reply,
) -> Option<T> {
    let kind = asked.line("content-type").unwrap_or_default();
    if asked.line("origin").is_some() && !kind.starts_with(b"application/json") {
        let detail = "The body must be JSON, and say so: `Content-Type: application/json`.";
        reply.refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail);
        malformed(asked);
        return None;
    }
    match v1::decode(asked.body) {
        Ok(body) => Some(body),
        Err(error) => {
            malformed(asked);
            let detail = format!(
                "The body is not what it should be: {}.",
                shown(&error.to_string())
            );
            reply.refuse(StatusCode::BAD_REQUEST, &detail);
            None
        }
    }
}

pub(super) fn malformed(asked: &ReceivedRequest<'_>) {
    let meter = asked.shared.engine.meter();
    meter.count(Event::Malformed(Door::Http));
}

/// Seconds until the last of the refusing rules is full again: the service does not report when it has a token.
fn retry_after(response: &RateLimitResponse) -> u64 {
    let over = response.statuses.iter();
    let over = over.filter(|status| status.code == i32::from(Code::OverLimit));
    let resets = over.filter_map(|status| status.duration_until_reset.as_ref());
    let seconds = resets.map(|reset| {
        let begun = u64::from(reset.nanos > 0);
        u64::try_from(reset.seconds)
            .unwrap_or(0)
            .saturating_add(begun)
    });
    seconds.max().unwrap_or(1).max(1)
}
