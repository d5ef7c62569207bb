//! The gRPC services, as one function for the HTTP listener's HTTP/2 connections.
//!
//! Calls with one message each way are answered without tonic: a frame, a message, a decision, a frame, trailers.
//! Streams use tonic, except for the state of quotas (`quota`). Deliberately absent: compressed messages, gRPC-Web, and
//! gRPC as JSON.

mod authz;
mod body;
mod method;
mod native;
mod quota;
mod services;
mod status;
mod throttlecrab;
mod timeout;

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method as Verb, Request, Response, StatusCode, Version};
use tokio::time::timeout;

use crate::access::{self, Operation, Pass};
use crate::engine::Started;
use crate::http::FALLBACK;
use crate::meter::{Door, Event};
use crate::settings::Scopes;
use crate::shared::{Caller, Peer, Shared};

pub use body::Body;
use method::{GrpcAnswer, Method};
pub use quota::Quotas;
use services::Service;
use status::{GrpcCode, GrpcStatus};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub fn is_for<B>(request: &Request<B>) -> bool {
    kind(request.headers()).is_some_and(|kind| kind.starts_with(GRPC.as_bytes()))
}

pub async fn answer<B>(request: Request<B>, caller: &Caller) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send + 'static,
{
    let shared = &caller.shared;
    if !is_protobuf(kind(request.headers()).unwrap_or_default()) {
        let mut response = Response::new(Body::EMPTY);
        *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return refused(shared, response, GrpcCode::Unimplemented);
    }
    let outcome = match Method::of(request.uri().path()) {
        Some(method) => match unary(method, request, caller).await {
            Err(status) if status.is_unfit() => denied(method, status, shared),
            outcome => outcome,
        },
        None => match Service::of(request.uri().path()) {
            Some(service) => match admitted(service, &request, caller) {
                Ok(pass) => {
                    let mut request = request;
                    request.extensions_mut().insert(pass);
                    let answered = services::answer(service, request, Arc::clone(shared));
                    let answered = timeout(shared.settings.limits.slow, answered).await;
                    match answered {
                        Ok(response) => return response.map(Body::stream),
                        Err(_) => Err(late()),
                    }
                }
                Err(status) => Err(status),
            },
            None => Err(GrpcStatus::new(
                GrpcCode::Unimplemented,
                "there is no such method here",
            )),
        },
    };
    match outcome {
        Ok(answered) => {
            let mut response = spoken(Body::message(answered.framed));
            if let Some(instead) = answered.fell_back {
                let instead = HeaderValue::from_static(instead.name());
                response.headers_mut().insert(FALLBACK, instead);
            }
            response
        }
        Err(status) => {
            let mut response = spoken(Body::EMPTY);
            status.put(response.headers_mut());
            refused(shared, response, status.code())
        }
    }
}

async fn unary<B>(
    method: Method,
    request: Request<B>,
    caller: &Caller,
) -> Result<GrpcAnswer, GrpcStatus>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    check_head(&request)?;
    let shared = &*caller.shared;
    let mut pass = Pass::new(&shared.callers, caller.peer);
    let scopes = show(&mut pass, method.operation(), request.headers(), shared)?;
    let sender = pass.sender();
    let limits = &shared.settings.limits;
    let patience = timeout::of(request.headers()).map_or(limits.slow, |told| told.min(limits.slow));
    if patience.is_zero() {
        return Err(late());
    }
    let body = pin!(request.into_body());
    let mut reading = pin!(method::read(body, limits.body_bytes_max));
    // Most calls have arrived whole by now: those neither wait nor need a slot among waiting ones.
    let first = std::future::poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
    let message = match first {
        Poll::Ready(message) => message?,
        Poll::Pending => {
            let _places = caller.enter(shared.state.places()).ok_or_else(overloaded)?;
            timeout(patience, reading).await.map_err(|_| late())??
        }
    };
    let began = Instant::now();
    let engine = &shared.engine;
    let turn = engine.turn().by(Door::Grpc);
    turn.sent_by(sender);
    let started = method.answer(message, &turn, shared, scopes);
    drop(turn);
    let answered = match started {
        Ok(Started::Now(answered)) => answered,
        Ok(Started::Later(later)) => later.wait(engine).await,
        Err(status) => Err(status),
    };
    let meter = shared.engine.meter();
    meter.served(Door::Grpc, 1, began.elapsed());
    let answered = answered?;
    if !answered.hold.is_zero() {
        let _places = caller.enter(shared.state.places()).ok_or_else(overloaded)?;
        tokio::time::sleep(answered.hold).await;
    }
    Ok(answered)
}

/// Denies unreadable messages if the method has denials.
fn denied(method: Method, status: GrpcStatus, shared: &Shared) -> Result<GrpcAnswer, GrpcStatus> {
    let answered = method.denial().ok_or(status)?;
    shared.engine.meter().count(Event::Malformed(Door::Grpc));
    Ok(answered)
}

/// Authorizes a call to a tonic service. Health is open to everyone: probes have no secrets.
fn admitted<B>(
    service: Service,
    request: &Request<B>,
    caller: &Caller,
) -> Result<Pass, GrpcStatus> {
    check_head(request)?;
    let shared = &*caller.shared;
    let mut pass = Pass::new(&shared.callers, caller.peer);
    let operation = match service {
        Service::Health => return Ok(pass),
        Service::Reflection => Operation::Greet,
        Service::Quota => Operation::Quota,
    };
    show(&mut pass, operation, request.headers(), shared)?;
    Ok(pass)
}

fn check_head<B>(request: &Request<B>) -> Result<(), GrpcStatus> {
    if request.method() == Verb::POST && request.version() == Version::HTTP_2 {
        return Ok(());
    }
    let what = "a call is a POST over HTTP/2";
    Err(GrpcStatus::new(GrpcCode::Unimplemented, what))
}

/// Presents the call's credentials; returns the scopes if they allow this.
fn show(
    pass: &mut Pass,
    operation: Operation,
    headers: &HeaderMap,
    shared: &Shared,
) -> Result<Scopes, GrpcStatus> {
    let shown = headers.get(AUTHORIZATION);
    let shown = shown.map(|value| access::shown(value.as_bytes()));
    let from = |peer: &Peer| {
        let proxies = &shared.settings.client_address;
        let lines = headers.get_all(proxies.header.name()).into_iter();
        access::client(proxies, peer, lines.map(HeaderValue::as_bytes))
    };
    let shown = pass.show(&shared.callers, shown, from);
    let within = shown.and_then(|scopes| operation.is_within(scopes).map(|()| scopes));
    within.map_err(GrpcStatus::denied)
}

/// Counts failures that an operator should see.
fn refused(shared: &Shared, response: Response<Body>, code: GrpcCode) -> Response<Body> {
    let event = match code {
        GrpcCode::InvalidArgument
        | GrpcCode::OutOfRange
        | GrpcCode::Unimplemented
        | GrpcCode::Internal => Event::Malformed(Door::Grpc),
        GrpcCode::DeadlineExceeded => Event::TimedOut(Door::Grpc),
        GrpcCode::ResourceExhausted | GrpcCode::Unavailable => Event::Shed(Door::Grpc),
        GrpcCode::Unauthenticated => Event::Unauthorized(Door::Grpc),
        GrpcCode::PermissionDenied => Event::Forbidden(Door::Grpc),
    };
    shared.engine.meter().count(event);
    response
}

fn spoken(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static(GRPC);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn kind(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes)
}

/// Whether a content type that begins like gRPC's is protobuf, not gRPC-Web or JSON.
fn is_protobuf(kind: &[u8]) -> bool {
    let rest = kind.strip_prefix(GRPC.as_bytes()).unwrap_or(b"-");
    let rest = rest.strip_prefix(b"+proto").unwrap_or(rest);
    rest.first().is_none_or(|byte| matches!(byte, b';' | b' '))
}

fn late() -> GrpcStatus {
    GrpcStatus::new(
        GrpcCode::DeadlineExceeded,
        "the call did not arrive in time",
    )
}

fn overloaded() -> GrpcStatus {
    let what = "too many calls are under way";
    GrpcStatus::new(GrpcCode::Unavailable, what)
}

const GRPC: &str = "application/grpc";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_protobuf_is_spoken() {
        for kind in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc;charset=utf-8",
        ] {
            assert!(is_protobuf(kind.as_bytes()), "{kind}");
        }
        for kind in [
            "application/grpc+json",
            "application/grpc-web",
            "application/grpc-web+proto",
            "",
        ] {
            assert!(!is_protobuf(kind.as_bytes()), "{kind}");
        }
    }
}
