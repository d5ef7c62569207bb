//! What the client is told besides the statuses: header fields, and a body where it is refused.

use tollgate_client::Dialect;
use tollgate_wire::envoy::HeaderValue;
use tollgate_wire::problem::{self, Problem};
use tollgate_wire::rls::RateLimitResponse;

use super::judge::{Judged, Request};

/// Adds the fields of the descriptor that says most, and the body of a refusal.
pub(super) fn put(
    request: &Request<'_>,
    judged: &[Judged<'_>],
    (is_over, dialect): (bool, Dialect),
    response: &mut RateLimitResponse,
) {
    let _ = (request, dialect);
    if is_over {
        refuse(judged, response);
    }
}

/// Envoy sends the body with the type that comes along with it.
fn refuse(judged: &[Judged<'_>], response: &mut RateLimitResponse) {
    let over = judged.iter().filter(|judged| judged.is_over());
    let names = over.filter_map(|judged| Some(&*judged.status.current_limit.as_ref()?.name));
    let problem = Problem::quota_exceeded(names.filter(|name| !name.is_empty()));
    if let Ok(body) = serde_json::to_vec(&problem) {
        response.raw_body = body;
        let headers = &mut response.response_headers_to_add;
        headers.push(header("content-type", problem::CONTENT_TYPE.as_bytes()));
    }
}

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
