//! `/v1/auth`, for proxies that ask before they pass a request on.
//!
//! A request for `/v1/auth` itself describes the client's request in header fields, and its query is the proxy's
//! configuration: options and entries. Below `/v1/auth/` the request *is* the client's, behind that prefix, as Envoy
//! sends it; then its query is the client's too, and contains no options. Not here: deciding (`auth`).

use http::StatusCode;
use tollgate_contract::Dialect;

use super::json::malformed;
use super::{HeaderLines, ReceivedRequest, Reply};
use crate::auth::{
    AuthError, AuthJudge, AuthRuling, DENIED, Fields, Inquiry, MalformedQuestion, Unfit, query,
};
use crate::engine::{EngineError, Started, Turn};

/// Accepts any method.
pub(super) fn auth(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    match judged(turn, asked) {
        Ok(started) => {
            let dialect = asked.shared.settings.dialect;
            reply.put(turn, started, move |turn, ruling, reply| {
                tell(turn, dialect, &ruling, reply);
            });
        }
        Err(AuthError::Malformed(MalformedQuestion(what))) => {
            malformed(asked);
            reply.refuse(StatusCode::BAD_REQUEST, &what);
        }
        Err(AuthError::Unfit(Unfit { what, status })) => {
            malformed(asked);
            reply.line(DENIED, b"1");
            reply.refuse(status, &what);
        }
    }
}

fn judged(
    turn: &Turn<'_>,
    asked: &ReceivedRequest<'_>,
) -> Result<Started<Result<AuthRuling, EngineError>>, AuthError> {
    let judge = AuthJudge::new(&asked.shared.settings);
    let fields = &asked.lines;
    let peer = asked.peer.address.map(|address| address.ip());
    let client = Some(judge.client(peer, fields));
    let first = |names: [&str; 2]| names.into_iter().find_map(|name| fields.last(name));
    if let Some(uri) = mirrored(asked.path) {
        let inquiry = Inquiry {
            client,
            method: asked.method,
            host: fields.last("host").unwrap_or_default(),
            uri: &with_query(uri, asked.query),
            fields,
        };
        return judge.judge(turn, &inquiry, []);
    }
    let method = first(["x-forwarded-method", "x-original-method"]);
    let inquiry = Inquiry {
        client,
        method: method.and_then(token).unwrap_or(asked.method),
        host: first(["x-forwarded-host", "host"]).unwrap_or_default(),
        uri: first(["x-forwarded-uri", "x-original-uri"]).unwrap_or_default(),
        fields,
    };
    if !asked.query.is_empty() && query_of(inquiry.uri) == Some(asked.query.as_bytes()) {
        return Err(client_query());
    }
    judge.judge(turn, &inquiry, query::pairs(asked.query.as_bytes()))
}

fn tell(turn: &Turn<'_>, dialect: Dialect, ruling: &AuthRuling, reply: &mut Reply) {
    let report = ruling.report(turn);
    reply.set_status(ruling.status(&report));
    reply.set_hold(ruling.hold());
    ruling.each_field(&report, dialect, |name, value| reply.line(name, value));
    if let Some(problem) = report.problem() {
        reply.text(tollgate_wire::problem::CONTENT_TYPE, problem.as_bytes());
    }
}

/// The client's own path, if the request is a copy of the client's.
pub(super) fn mirrored(path: &str) -> Option<&str> {
    path.strip_prefix(PATH).filter(|rest| rest.starts_with('/'))
}

fn with_query(path: &str, query: &str) -> Vec<u8> {
    [path, "?", query].concat().into_bytes()
}

fn query_of(uri: &[u8]) -> Option<&[u8]> {
    let mark = uri.iter().position(|byte| *byte == b'?')?;
    uri.get(mark + 1..)
}

/// Some proxies append the client's query to a path without one, and clients must not choose options.
#[cold]
fn client_query() -> AuthError {
    let what = "the query of the question is that of the client's request; end the path of the question with `?`";
    AuthError::Malformed(MalformedQuestion(what.to_owned()))
}

fn token(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let is_token = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    is_token.then_some(text)
}

impl Fields for HeaderLines<'_> {
    fn each<'a>(&'a self, name: &str, take: &mut dyn FnMut(&'a [u8])) {
        HeaderLines::each(self, name, take);
    }
}

pub(super) const PATH: &str = "/v1/auth";
