//! What the client is told besides the statuses: header fields, and a body where it is refused.
//!
//! They are those of one descriptor: one that refused or, as long as none did, the one with the least left.

use tollgate_contract::Dialect;
use tollgate_http::LimitReport;
use tollgate_wire::envoy::HeaderValue;
use tollgate_wire::problem;
use tollgate_wire::rls::{Code, RateLimitResponse};

use super::judge::Judged;
use crate::engine::Turn;

/// Adds the fields of the descriptor that says most, and the body of a refusal.
pub(super) fn put(
    turn: &Turn<'_>,
    judged: &[Judged],
    dialect: Dialect,
    response: &mut RateLimitResponse,
) {
    wait(judged, response);
    let bound = judged
        .iter()
        .filter(|judged| judged.status.current_limit.is_some());
    let told = bound.min_by_key(|judged| {
        let refused = judged.is_over() && !judged.is_quota;
        (!refused, judged.status.limit_remaining)
    });
    let Some((judged, answer)) = told.and_then(|judged| Some((judged, judged.answer.as_ref()?)))
    else {
        return;
    };
    let report = match &judged.own {
        Some(policy) => LimitReport::described(OWN, policy, answer, turn.now()),
        None => turn.report(answer),
    };
    let headers = &mut response.response_headers_to_add;
    report.each_field(dialect, |name, value| headers.push(header(name, value)));
    // Whoever wants no fields wants no body either, which needs one to say what it is.
    let is_over = response.overall_code == i32::from(Code::OverLimit);
    if is_over
        && !headers.is_empty()
        && dialect != Dialect::None
        && let Some(body) = report.problem()
    {
        headers.push(header("content-type", problem::CONTENT_TYPE.as_bytes()));
        response.raw_body = body.into();
    }
}

/// Envoy cannot hold a request back, so the service behind it is told for how long to.
fn wait(judged: &[Judged], response: &mut RateLimitResponse) {
    let answers = judged.iter().filter_map(|judged| judged.answer.as_ref());
    let wait = answers.map(|answer| answer.verdict.wait().as_nanos()).max();
    if let Some(wait @ 1..) = wait {
        let millis = wait.div_ceil(1_000_000).to_string();
        let headers = &mut response.request_headers_to_add;
        headers.push(header("x-tollgate-wait-ms", millis.as_bytes()));
    }
}

/// What a limit is called that came with the request.
const OWN: &str = "rate_limit";

fn header(name: &str, value: &[u8]) -> HeaderValue {
    let text = std::str::from_utf8(value);
    HeaderValue {
        key: name.to_owned(),
        value: text.unwrap_or_default().to_owned(),
        raw_value: if text.is_err() {
            value.to_vec()
        } else {
            Vec::new()
        },
    }
}
