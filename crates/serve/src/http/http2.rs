//! HTTP/2, and gRPC over it.
//!
//! Every stream has a task that answers it and sends what the client's window permits. The rest is counted, and waits
//! for a bounded time. Not here: frames (`h2`), paths and answers (`route`).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Ping, PingPong, Reason, RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::time::{sleep, timeout};

use super::incoming::Incoming;
use super::reply::CountedBody;
use super::reply::{always, with_date};
use super::rewind::Rewind;
use super::site::ListenerSite;
use super::timed::{AtWork, ConnectionTimes, Timed};
use super::{Reply, full};
use crate::grpc;
use crate::meter::{Door, Event};
use crate::settings::RequestLimits;
use crate::shared::{Caller, Stop, Stream};
use crate::unsent::HeldBytes;

/// What all streams of a connection share.
pub(super) struct Http2Connection {
    caller: Caller,
    site: Arc<ListenerSite>,
    pace: Arc<ConnectionTimes>,
}

impl Http2Connection {
    pub(super) fn new(caller: Caller, site: Arc<ListenerSite>) -> Self {
        let pace = Arc::default();
        Self { caller, site, pace }
    }
}

pub(super) async fn serve<S: Stream>(stream: Rewind<S>, line: Http2Connection, mut stop: Stop) {
    let line = Arc::new(line);
    let limits = line.caller.shared.settings.limits;
    let shaken = builder(&limits).handshake::<_, Bytes>(Timed::new(stream, limits.slow));
    let Ok(Ok(mut connection)) = timeout(limits.slow, shaken).await else {
        return;
    };
    let mut alive = pin!(alive(connection.ping_pong(), limits));
    let is_leaving = tokio::select! {
        () = take_all(&mut connection, &line) => return,
        () = &mut alive => return,
        () = elsewhere(&mut stop) => true,
        () = line.pace.idle(limits.idle) => false,
        () = old(&line) => false,
    };
    connection.graceful_shutdown();
    let over = async {
        if is_leaving {
            stop.given().await;
        }
        sleep(limits.drain).await;
    };
    // A client that does not read the last answers does not keep the connection open.
    tokio::select! {
        () = take_all(&mut connection, &line) => {}
        () = &mut alive => {}
        () = over => {}
    }
}

/// Ends when the client should reconnect elsewhere. A client that connected after that was announced may stay to the
/// end.
async fn elsewhere(stop: &mut Stop) {
    if stop.is_leaving() {
        stop.given().await;
    } else {
        stop.leaving().await;
    }
}

/// Sets limits: streams, state of reset streams, sizes of heads and windows.
fn builder(limits: &RequestLimits) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(Some(LOCAL_RESETS_MAX))
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_send_buffer_size(SEND_BYTES_MAX);
    builder
}

/// Ends when the client leaves pings unanswered for too long.
async fn alive(pings: Option<PingPong>, limits: RequestLimits) {
    let Some(mut pings) = pings else {
        return std::future::pending().await;
    };
    let (mut every, mut patience) = (PING_EVERY.min(limits.idle), limits.slow);
    if limits.quota.ttl_s > 0 {
        // An assignment must reach a data plane in time, or the connection end.
        let quarter = limits.quota.delivery / 4;
        (every, patience) = (every.min(quarter), patience.min(3 * quarter));
    }
    loop {
        sleep(every).await;
        let answered = timeout(patience, pings.ping(Ping::opaque())).await;
        if !matches!(answered, Ok(Ok(_))) {
            return;
        }
    }
}

/// Ends at the connection's maximum age, so that the client reconnects; never if there is no limit.
async fn old(line: &Http2Connection) {
    match super::age(&line.caller.shared, &line.caller.peer) {
        Some(age) => sleep(age).await,
        None => std::future::pending().await,
    }
}

/// Starts a task for every stream, until the connection ends.
async fn take_all<S: Stream>(
    connection: &mut Connection<Timed<Rewind<S>>, Bytes>,
    line: &Arc<Http2Connection>,
) {
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let Some(held) = line.caller.hold(STREAM_BYTES) else {
            line.caller.count(Event::Shed(Door::Http));
            respond.send_reset(Reason::REFUSED_STREAM);
            continue;
        };
        let (at_work, line) = (line.pace.enter(), Arc::clone(line));
        tokio::spawn(stream(line, request, respond, held, at_work));
    }
}

async fn stream(
    line: Arc<Http2Connection>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    held: HeldBytes,
    at_work: AtWork,
) {
    let mut unread = None;
    let response = tokio::select! {
        biased;
        response = answer(&line, request.map(Incoming), &mut unread) => response,
        // The client cancelled.
        _ = poll_fn(|context| respond.poll_reset(context)) => return,
    };
    let (parts, body) = response.into_parts();
    let is_end = body.is_end();
    let Ok(stream) = respond.send_response(Response::from_parts(parts, ()), is_end) else {
        return;
    };
    let sending = Sending {
        stream,
        line,
        held: Some(held),
        unread,
        _at_work: at_work,
    };
    let mut sent = Box::pin(sending.send(body, is_end));
    // A body that fits at once needs no waiting task, which keeps most tasks small.
    let first = poll_fn(|context| Poll::Ready(sent.as_mut().poll(context))).await;
    if first.is_pending() {
        tokio::spawn(sent);
    }
}

enum Body {
    Whole(CountedBody),
    Grpc(grpc::Body),
}

impl Body {
    fn is_end(&self) -> bool {
        match self {
            Self::Whole(text) => text.bytes.is_empty(),
            Self::Grpc(body) => body.is_end_stream(),
        }
    }
}

/// The answer to a request. An unread request body is put into `unread`.
async fn answer(
    line: &Http2Connection,
    mut request: Request<Incoming>,
    unread: &mut Option<Incoming>,
) -> Response<Body> {
    let (caller, site) = (&line.caller, &line.site);
    let mut response = if grpc::is_for(&request) && !site.is_desk() {
        grpc::answer(request, caller).await.map(Body::Grpc)
    } else if !name_host(&mut request) {
        let mut reply = Reply::new();
        caller.count(Event::Malformed(Door::Http));
        let why = "There must be one host, in `:authority` or in `Host`.";
        reply.refuse(StatusCode::BAD_REQUEST, why);
        said(reply, false)
    } else {
        let is_head = request.method() == Method::HEAD;
        let mut reply = Reply::new();
        let (head, mut body) = request.into_parts();
        let request = Request::from_parts(head, &mut body);
        let answered = full::answer(caller, site, request, &mut reply).await;
        if reply.take_watch().is_some() {
            reply.clear();
            let why = "This is answered over HTTP/1.1 only: lines as they come, until the connection ends.";
            reply.refuse(StatusCode::HTTP_VERSION_NOT_SUPPORTED, why);
        }
        *unread = (!body.is_end_stream()).then_some(body);
        answered.map_or_else(|| said(reply, is_head), |it| whole(it, is_head))
    };
    let headers = response.headers_mut();
    with_date(caller.shared.engine.now(), |date| {
        if let Ok(date) = HeaderValue::from_bytes(date) {
            headers.insert(DATE, date);
        }
    });
    for (name, value) in always(caller.peer.is_sealed) {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Moves the request's authority to where HTTP/1 has the host. Returns whether there is exactly one host.
fn name_host(request: &mut Request<Incoming>) -> bool {
    let authority = request.uri().authority().map(|it| it.as_str().to_owned());
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next();
    match (authority, host) {
        (_, Some(_)) if hosts.next().is_some() => false,
        (Some(authority), Some(host)) => host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()),
        (Some(authority), None) => match HeaderValue::from_str(&authority) {
            Ok(host) => {
                request.headers_mut().insert(HOST, host);
                true
            }
            Err(_) => false,
        },
        (None, host) => host.is_some(),
    }
}

/// A response of the admin API, with its length.
fn whole(answered: Response<Bytes>, is_head: bool) -> Response<Body> {
    let length = answered.body().len();
    let mut response = answered.map(|body| {
        Body::Whole(if is_head {
            CountedBody::NONE
        } else {
            CountedBody::of(body)
        })
    });
    measure(&mut response, length);
    response
}

/// A handler's reply as a response.
fn said(mut reply: Reply, is_head: bool) -> Response<Body> {
    let length = reply.body().len();
    let body = if is_head {
        CountedBody::NONE
    } else {
        reply.take_body()
    };
    let mut response = Response::new(Body::Whole(body));
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
    measure(&mut response, length);
    response
}

fn measure(response: &mut Response<Body>, length: usize) {
    if response.status() != StatusCode::NO_CONTENT {
        let length = HeaderValue::from(length);
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
}

fn split(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let line = line.strip_suffix(b"\r")?;
    let colon = memchr::memchr(b':', line)?;
    let name = HeaderName::from_bytes(line.get(..colon)?).ok()?;
    let value = HeaderValue::from_bytes(line.get(colon + 2..)?).ok()?;
    Some((name, value))
}

struct Sending {
    stream: SendStream<Bytes>,
    line: Arc<Http2Connection>,
    held: Option<HeldBytes>,
    /// The rest of the request body, which is ignored.
    unread: Option<Incoming>,
    _at_work: AtWork,
}

impl Sending {
    async fn send(mut self, body: Body, is_end: bool) {
        let sent = match body {
            _ if is_end => Ok(()),
            Body::Whole(text) => {
                let held = self.held.take();
                self.piece(text, held, true).await
            }
            Body::Grpc(body) => self.frames(body).await,
        };
        if let Err(reason) = sent {
            self.stream.send_reset(reason);
        } else if let Some(mut unread) = self.unread.take() {
            // Some clients treat a stream that ends while they send as failed.
            let passed = async { while let Some(Ok(_)) = unread.frame().await {} };
            let _ = timeout(LINGER, passed).await;
        }
    }

    /// Sends all messages, then the trailers.
    async fn frames(&mut self, body: grpc::Body) -> Result<(), Reason> {
        let is_one = body.is_one();
        let mut body = pin!(body);
        loop {
            let frame = tokio::select! {
                biased;
                frame = poll_fn(|context| body.as_mut().poll_frame(context)) => frame,
                _ = poll_fn(|context| self.stream.poll_reset(context)) => return Ok(()),
            };
            let Some(Ok(frame)) = frame else {
                return self.put(Bytes::new(), true);
            };
            match frame.into_data() {
                Ok(data) => {
                    let caller = &self.line.caller;
                    let held = if is_one {
                        self.held.take()
                    } else {
                        caller.hold(0)
                    };
                    self.piece(CountedBody::own(data), held, body.is_end_stream())
                        .await?;
                }
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    let sent = self.stream.send_trailers(trailers);
                    return sent.map_err(|_| Reason::INTERNAL_ERROR);
                }
            }
        }
    }

    /// Sends bytes as the client's window permits. They count as kept until the last is sent.
    async fn piece(
        &mut self,
        text: CountedBody,
        mut held: Option<HeldBytes>,
        is_last: bool,
    ) -> Result<(), Reason> {
        if !held.as_mut().is_some_and(|held| held.grow(text.own)) {
            self.line.caller.count(Event::Shed(Door::Http));
            return Err(Reason::ENHANCE_YOUR_CALM);
        }
        let mut bytes = Bytes::from_owner(Kept {
            bytes: text.bytes,
            _held: held,
        });
        self.stream.reserve_capacity(bytes.len());
        if self.stream.capacity() >= bytes.len() {
            return self.put(bytes, is_last);
        }
        let slow = self.line.caller.shared.settings.limits.slow;
        let Ok(sent) = timeout(slow, self.trickle(&mut bytes, is_last)).await else {
            self.line.caller.count(Event::TimedOut(Door::Http));
            return Err(Reason::CANCEL);
        };
        sent
    }

    /// Sends bytes to a client whose window is too small for all of them.
    async fn trickle(&mut self, bytes: &mut Bytes, is_last: bool) -> Result<(), Reason> {
        while !bytes.is_empty() {
            let room = self.stream.capacity().min(bytes.len());
            if room > 0 {
                let piece = bytes.split_to(room);
                self.put(piece, is_last && bytes.is_empty())?;
                continue;
            }
            let more = poll_fn(|context| self.stream.poll_capacity(context)).await;
            if !matches!(more, Some(Ok(_))) {
                return Err(Reason::CANCEL);
            }
        }
        Ok(())
    }

    fn put(&mut self, bytes: Bytes, is_last: bool) -> Result<(), Reason> {
        let sent = self.stream.send_data(bytes, is_last);
        sent.map_err(|_| Reason::INTERNAL_ERROR)
    }
}

/// Bytes of an answer, counted until they are dropped.
struct Kept {
    bytes: Bytes,
    _held: Option<HeldBytes>,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Cost of a stream whose answer waits, besides the bytes of the answer.
const STREAM_BYTES: usize = 4 << 10;
/// Streams reset before they were examined; a connection with more is closed.
const RESETS_MAX: usize = 20;
/// Streams reset for errors; a connection with more is closed.
const LOCAL_RESETS_MAX: usize = 256;
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
const FRAME_BYTES_MAX: u32 = 16 << 10;
/// Bytes of one stream that may wait for the socket.
const SEND_BYTES_MAX: usize = 64 << 10;
/// How long a client that has its answer may go on sending.
const LINGER: Duration = Duration::from_secs(1);
/// Ping interval.
const PING_EVERY: Duration = Duration::from_secs(30);
