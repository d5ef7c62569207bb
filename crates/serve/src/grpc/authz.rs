//! Envoy's external authorization: may a request of a client pass?
//!
//! A route's `context_extensions` correspond to the query of `/v1/auth`: options and entries. Not here: deciding
//! (`auth`).

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use http::StatusCode;
use tollgate_contract::Dialect;
use tollgate_http::Trust;
use tollgate_wire::authz::{
    AttributeContext, CheckRequest, CheckResponse, DeniedHttpResponse, HttpRequest, HttpResponse,
    OkHttpResponse,
};
use tollgate_wire::envoy::{
    Address, AddressKind, HeaderAppendAction, HeaderValue, HeaderValueOption, HttpStatus,
};
use tollgate_wire::google;
use tollgate_wire::problem::{self, Problem};

use super::method::Begun;
use super::status::{GrpcCode, GrpcStatus};
use crate::auth::{
    AuthError, AuthJudge, AuthRuling, DENIED, Fields, Inquiry, MalformedQuestion, Unfit,
};
use crate::engine::{EngineError, Started, Turn};
use crate::meter::{Door, Event};
use crate::shared::Shared;

/// Judges a request; also returns how long to hold the answer back.
pub(super) fn check(
    turn: &Turn<'_>,
    request: &CheckRequest,
    shared: &Shared,
) -> Begun<(CheckResponse, Duration)> {
    let Some(attributes) = &request.attributes else {
        let what = "a request needs attributes";
        return Err(GrpcStatus::new(GrpcCode::InvalidArgument, what));
    };
    let started = match judge(turn, attributes, shared) {
        Ok(started) => started,
        Err(AuthError::Unfit(unfit)) => {
            shared.engine.meter().count(Event::Malformed(Door::Grpc));
            return Ok(Started::Now(Ok((denial(&unfit), Duration::ZERO))));
        }
        Err(AuthError::Malformed(MalformedQuestion(what))) => {
            return Err(GrpcStatus::new(GrpcCode::InvalidArgument, what));
        }
    };
    let dialect = shared.settings.dialect;
    Ok(started.map(turn, move |turn, ruling| {
        let ruling = ruling?;
        Ok((response(turn, &ruling, dialect), ruling.hold()))
    }))
}

fn judge(
    turn: &Turn<'_>,
    attributes: &AttributeContext,
    shared: &Shared,
) -> Result<Started<Result<AuthRuling, EngineError>>, AuthError> {
    let judge = AuthJudge::new(&shared.settings);
    let http = attributes.request.as_ref().and_then(|r| r.http.as_ref());
    let nothing = HttpRequest::default();
    let http = http.unwrap_or(&nothing);
    let fields = Told(http);
    let source = attributes.source.as_ref();
    let source = source.and_then(|peer| ip(peer.address.as_ref()?));
    let inquiry = Inquiry {
        client: source.map(|source| match shared.settings.client_address.trust {
            // Envoy reports the connection's source; header fields can be forged by clients.
            Trust::Nobody => source,
            _ => judge.client(Some(source), &fields),
        }),
        method: &http.method,
        host: &http.host,
        uri: &http.path,
        fields: &fields,
    };
    let given = attributes.context_extensions.iter();
    let given = given.map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value)));
    judge.judge(turn, &inquiry, given)
}

/// Header fields in either of Envoy's two encodings.
struct Told<'a>(&'a HttpRequest);

impl Fields for Told<'_> {
    fn each<'a>(&'a self, name: &str, take: &mut dyn FnMut(&'a [u8])) {
        self.0.headers.each(name, take);
        let map = self.0.header_map.as_ref();
        let lines = map.into_iter().flat_map(|map| &map.headers);
        for line in lines.filter(|line| line.key.eq_ignore_ascii_case(name)) {
            take(if line.raw_value.is_empty() {
                line.value.as_bytes()
            } else {
                &line.raw_value
            });
        }
    }
}

fn response(turn: &Turn<'_>, ruling: &AuthRuling, dialect: Dialect) -> CheckResponse {
    let report = ruling.report(turn);
    let mut headers = Vec::new();
    ruling.each_field(&report, dialect, |name, value| {
        headers.push(header(name, value));
    });
    if ruling.is_allowed() {
        let allowed = OkHttpResponse {
            response_headers_to_add: headers,
            ..OkHttpResponse::default()
        };
        return CheckResponse {
            status: Some(google::Status::default()),
            http_response: Some(HttpResponse::OkResponse(allowed)),
            dynamic_metadata: None,
        };
    }
    let body = report.problem().unwrap_or_default();
    denied(ruling.status(&report), headers, body)
}

/// The answer to a client's request that cannot become a key.
pub(super) fn denial(unfit: &Unfit) -> CheckResponse {
    let title = unfit.status.canonical_reason().unwrap_or("Refused");
    let problem = Problem::blank(unfit.status.as_u16(), title, &*unfit.what);
    let body = serde_json::to_string(&problem).unwrap_or_default();
    denied(unfit.status, vec![header(DENIED, b"1")], body)
}

fn denied(status: StatusCode, mut headers: Vec<HeaderValueOption>, body: String) -> CheckResponse {
    headers.push(header("content-type", problem::CONTENT_TYPE.as_bytes()));
    let denied = DeniedHttpResponse {
        status: Some(HttpStatus {
            code: i32::from(status.as_u16()),
        }),
        headers,
        body,
    };
    CheckResponse {
        status: Some(google::Status {
            // Any code but zero refuses; this one says why.
            code: GrpcCode::ResourceExhausted as i32,
            ..google::Status::default()
        }),
        http_response: Some(HttpResponse::DeniedResponse(denied)),
        dynamic_metadata: None,
    }
}

fn header(name: &str, value: &[u8]) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue {
            key: name.to_owned(),
            // Our fields are printable.
            value: String::from_utf8_lossy(value).into_owned(),
            raw_value: Vec::new(),
        }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        keep_empty_value: false,
    }
}

fn ip(address: &Address) -> Option<IpAddr> {
    match address.address.as_ref()? {
        AddressKind::SocketAddress(socket) => socket.address.parse().ok(),
        AddressKind::Pipe(_) | AddressKind::EnvoyInternalAddress(_) => None,
    }
}
