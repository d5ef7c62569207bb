//! HTTP by hyper: HTTP/2, and the requests of HTTP/1 that are not simple.
//!
//! Not here: paths and answers (`route`).

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::timeout;

use super::collect::{self, Uncollected};
use super::rewind::Rewind;
use super::sent::Sent;
use super::timed::{AtWork, Pace, Timed};
use super::{Asked, Lines, Reply, route};
use crate::desk::{self, Desk, Visit};
use crate::grpc;
use crate::meter::{Door, Event};
use crate::settings::Limits;
use crate::shared::{Peer, Shared, Stop, Stream, Ticket};

/// Serves the rest of an HTTP/1 connection.
pub(super) async fn http1<S: Stream>(stream: Rewind<S>, call: Call, mut stop: Stop) {
    let limits = call.shared.settings.limits;
    let stream = Timed::new(stream, limits.slow, Some(Arc::clone(&call.pace)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(limits.head_bytes_max.max(HYPER_BUFFER_MIN))
        .pipeline_flush(true)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(|request| call.answer(request)),
        );
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.given() => connection.as_mut().graceful_shutdown(),
    }
    let _ = timeout(limits.drain, connection).await;
}

/// Serves an HTTP/2 connection.
pub(super) async fn http2<S: Stream>(stream: Rewind<S>, call: Call, mut stop: Stop) {
    let limits = call.shared.settings.limits;
    let stream = Timed::new(stream, limits.slow, None);
    let mut builder = builder(&limits);
    if limits.quota.ttl_s > 0 {
        // What is assigned to a data plane must arrive in time, or the connection end.
        let half = limits.quota.delivery / 2;
        builder
            .keep_alive_interval(PING_EVERY.min(half))
            .keep_alive_timeout(limits.slow.min(half));
    }
    let connection = builder.serve_connection(
        TokioIo::new(stream),
        service_fn(|request| call.answer(request)),
    );
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.given() => {}
        () = call.pace.idle(limits.idle) => {}
    }
    connection.as_mut().graceful_shutdown();
    // Who does not take the last answers does not keep the connection.
    let _ = timeout(limits.drain, connection).await;
}

/// What all requests of a connection have in common.
pub(super) struct Call {
    peer: Peer,
    shared: Arc<Shared>,
    pace: Arc<Pace>,
}

impl Call {
    pub(super) fn new(peer: Peer, shared: Arc<Shared>) -> Self {
        let pace = Arc::default();
        Self { peer, shared, pace }
    }

    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Sent>, Infallible>> + Send + 'static {
        let at_work = self.pace.enter();
        let (peer, shared) = (self.peer, Arc::clone(&self.shared));
        async move { Ok(answer(request, peer, shared, at_work).await) }
    }
}

/// HTTP/2 within limits: streams, what is kept of streams that were reset, sizes of heads and windows.
fn builder(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(LOCAL_RESETS_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_send_buf_size(SEND_BYTES_MAX)
        .keep_alive_interval(PING_EVERY.min(limits.idle))
        .keep_alive_timeout(limits.slow);
    builder
}

async fn answer(
    request: Request<Incoming>,
    peer: Peer,
    shared: Arc<Shared>,
    at_work: AtWork,
) -> Response<Sent> {
    if request.version() == Version::HTTP_2 && grpc::is_for(&request) {
        let response = grpc::answer(request, peer, shared).await;
        return response.map(|body| Sent::Grpc {
            body,
            _at_work: at_work,
        });
    }
    let is_head = request.method() == Method::HEAD;
    let mut reply = Reply::new();
    if let Some(desk) = shared.desk_for(request.uri().path()) {
        let answered = at_desk(desk, request, (peer, &shared), &mut reply).await;
        return answered.map_or_else(|| response(&reply, is_head), |it| whole(it, is_head));
    }
    answer_into(request, peer, &shared, &mut reply).await;
    if !reply.hold().is_zero() {
        tokio::time::sleep(reply.hold()).await;
    }
    response(&reply, is_head)
}

async fn answer_into(
    request: Request<Incoming>,
    peer: Peer,
    shared: &Arc<Shared>,
    reply: &mut Reply,
) {
    let Some((request, _ticket)) = read(request, shared, &shared.settings.limits, reply).await
    else {
        return;
    };
    let (head, body) = request.into_parts();
    let meter = shared.engine.meter();
    let began = tokio::time::Instant::now();
    let asked = Asked {
        shared,
        peer,
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or(""),
        lines: Lines::Map(&head.headers),
        body: &body,
    };
    if shared.engine.is_apart() {
        route::trace_later(&asked, reply).await;
    } else {
        route::trace(&shared.engine.turn(), &asked, reply);
    }
    meter.served(Door::Http, 1, began.elapsed());
}

/// Asks whoever answers there; `reply` says why not, where there is no answer.
async fn at_desk(
    desk: &Arc<dyn Desk>,
    request: Request<Incoming>,
    (peer, shared): (Peer, &Shared),
    reply: &mut Reply,
) -> Option<Response<Bytes>> {
    let limits = Limits {
        body_bytes_max: desk::BODY_BYTES_MAX,
        ..shared.settings.limits
    };
    let (request, _ticket) = read(request, shared, &limits, reply).await?;
    Some(desk.answer(Visit { request, peer }).await)
}

/// A request with its body, and its place among those that are worked on; `reply` says why not, where there is none.
async fn read<'s>(
    request: Request<Incoming>,
    shared: &'s Shared,
    limits: &Limits,
    reply: &mut Reply,
) -> Option<(Request<Bytes>, Ticket<'s>)> {
    let meter = shared.engine.meter();
    let Some(ticket) = shared.enter() else {
        meter.count(Event::Shed(Door::Http));
        reply.shed("There is too much to do.");
        return None;
    };
    let (head, body) = request.into_parts();
    if head.version < Version::HTTP_2 && !has_one_host(&head) {
        meter.count(Event::Malformed(Door::Http));
        reply.refuse(StatusCode::BAD_REQUEST, "There must be one `Host`.");
        return None;
    }
    match collect::collect(&head.headers, body, limits).await {
        Ok(body) => Some((Request::from_parts(head, body), ticket)),
        Err(uncollected) => {
            refuse(uncollected, shared, limits, reply);
            None
        }
    }
}

/// HTTP/1.1 asks for exactly one host, HTTP/1.0 for one at most.
fn has_one_host(head: &http::request::Parts) -> bool {
    match head.headers.get_all(HOST).iter().count() {
        0 => head.version != Version::HTTP_11,
        count => count == 1,
    }
}

#[cold]
fn refuse(uncollected: Uncollected, shared: &Shared, limits: &Limits, reply: &mut Reply) {
    let meter = shared.engine.meter();
    match uncollected {
        Uncollected::TooLarge => {
            meter.count(Event::Malformed(Door::Http));
            let max = limits.body_bytes_max;
            let detail = format!("A body may have at most {max} bytes.");
            reply.refuse(StatusCode::PAYLOAD_TOO_LARGE, &detail);
        }
        Uncollected::TooSlow => {
            meter.count(Event::TimedOut(Door::Http));
            let detail = "The body came too slowly.";
            reply.refuse(StatusCode::REQUEST_TIMEOUT, detail);
        }
        Uncollected::TooMuch => {
            meter.count(Event::Shed(Door::Http));
            reply.shed("Too many bodies are being read.");
        }
        Uncollected::Broken => {
            meter.count(Event::Malformed(Door::Http));
            reply.refuse(StatusCode::BAD_REQUEST, "The body could not be read.");
        }
    }
}

/// An answer of a desk, with its length.
fn whole(answered: Response<Bytes>, is_head: bool) -> Response<Sent> {
    let length = answered.body().len();
    let mut response = answered
        .map(|body| Sent::Whole((!is_head).then_some(body).filter(|body| !body.is_empty())));
    if response.status() != StatusCode::NO_CONTENT {
        let length = HeaderValue::from(length);
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
    response
}

fn response(reply: &Reply, is_head: bool) -> Response<Sent> {
    let length = reply.body().len();
    let body = (!is_head).then(|| Bytes::copy_from_slice(reply.body()));
    let mut response = Response::new(Sent::Whole(body.filter(|body| !body.is_empty())));
    *response.status_mut() = reply.status();
    let headers = response.headers_mut();
    if !reply.kind().is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply.kind()));
    }
    for line in reply.lines().split(|byte| *byte == b'\n') {
        if let Some((name, value)) = split(line) {
            headers.append(name, value);
        }
    }
    if reply.status() != StatusCode::NO_CONTENT {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

fn split(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let line = line.strip_suffix(b"\r")?;
    let colon = memchr::memchr(b':', line)?;
    let name = HeaderName::from_bytes(line.get(..colon)?).ok()?;
    let value = HeaderValue::from_bytes(line.get(colon + 2..)?).ok()?;
    Some((name, value))
}

/// The least buffer that hyper takes.
const HYPER_BUFFER_MIN: usize = 8 << 10;
/// Streams that were reset before they were looked at; a connection with more is closed.
const RESETS_MAX: usize = 20;
/// Streams that were reset for errors; a connection with more is closed.
const LOCAL_RESETS_MAX: usize = 256;
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
const FRAME_BYTES_MAX: u32 = 16 << 10;
const SEND_BYTES_MAX: usize = 64 << 10;
/// How often a silent client is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(30);
