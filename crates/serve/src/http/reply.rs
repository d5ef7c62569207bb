//! An answer as handlers write it, independent of HTTP's version, and its bytes in HTTP/1.
//!
//! One reply serves all requests of a connection, so that its buffers are allocated once. Not here: requests
//! (`request`), and the frames of HTTP/2.

use std::cell::RefCell;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{Response, StatusCode};
use tollgate_limit::Instant;
use tollgate_wire::problem::{self, Problem};
use tollgate_wire::v1;

use super::lean::head::HttpVersion;
use super::request::BodyRefusal;
use super::route::FALLBACK;
use super::tail::{self, TailResponse};
use crate::engine::{EngineError, Started, Turn, WaitingSteps};
use crate::shared::Peer;

pub(crate) struct Reply {
    status: StatusCode,
    kind: &'static str,
    /// Header fields, each with its line end.
    lines: Vec<u8>,
    body: Vec<u8>,
    /// A constant body, instead of a written one.
    fixed: Option<&'static [u8]>,
    hold: Duration,
    /// An endless body, instead of a written one.
    watch: Option<Box<TailResponse>>,
    /// The answer once it is decided, instead of all this.
    later: Option<Box<WaitingSteps<Reply>>>,
}

impl Reply {
    pub(crate) const fn new() -> Self {
        Self {
            status: StatusCode::OK,
            kind: "",
            lines: Vec::new(),
            body: Vec::new(),
            fixed: None,
            hold: Duration::ZERO,
            watch: None,
            later: None,
        }
    }

    /// Empties it and keeps its memory, within reason.
    pub(crate) fn clear(&mut self) {
        self.status = StatusCode::OK;
        self.kind = "";
        self.fixed = None;
        self.hold = Duration::ZERO;
        self.watch = None;
        self.later = None;
        self.lines.clear();
        self.body.clear();
        self.body.shrink_to(BODY_KEPT_MAX);
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Empty if there is no body.
    pub(crate) const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Each with its line end.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.lines
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.fixed.unwrap_or(&self.body)
    }

    /// Takes the body without copying it.
    pub(crate) fn take_body(&mut self) -> CountedBody {
        match self.fixed.take() {
            Some(body) => CountedBody::fixed(Bytes::from_static(body)),
            None => CountedBody::own(std::mem::take(&mut self.body).into()),
        }
    }

    /// How long to wait before the answer is sent.
    pub(crate) const fn hold(&self) -> Duration {
        self.hold
    }

    pub(crate) fn watch(&mut self, watch: TailResponse) {
        self.kind = tail::LINES;
        self.watch = Some(Box::new(watch));
    }

    /// The endless body, if there is one.
    pub(crate) fn take_watch(&mut self) -> Option<Box<TailResponse>> {
        self.watch.take()
    }

    /// Has `write` write the operations' result, now or later.
    #[inline]
    pub(super) fn put<T: 'static>(
        &mut self,
        turn: &Turn<'_>,
        started: Started<Result<T, EngineError>>,
        write: impl FnOnce(&Turn<'_>, T, &mut Self) + Send + 'static,
    ) {
        let write = |turn: &Turn<'_>, made: Result<T, _>, reply: &mut Self| match made {
            Ok(made) => write(turn, made, reply),
            Err(error) => BodyRefusal::Engine(error).answer(reply),
        };
        match started {
            Started::Now(made) => write(turn, made, self),
            Started::Later(later) => {
                self.later = Some(Box::new(later.map(|turn, made| {
                    let mut reply = Self::new();
                    write(turn, made, &mut reply);
                    if let Some(instead) = turn.fell_back() {
                        reply.line(FALLBACK, instead.name().as_bytes());
                    }
                    reply
                })));
            }
        }
    }

    pub(super) const fn take_later(&mut self) -> Option<Box<WaitingSteps<Self>>> {
        self.later.take()
    }

    pub(crate) const fn set_hold(&mut self, hold: Duration) {
        self.hold = hold;
    }

    pub(crate) const fn set_status(&mut self, status: StatusCode) {
        self.status = status;
    }

    /// Adds a header field, its name in lower case. An invalid value is left out: it could end the head early.
    pub(crate) fn line(&mut self, name: &str, value: &[u8]) {
        if !value
            .iter()
            .all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
        {
            return;
        }
        self.lines.extend_from_slice(name.as_bytes());
        self.lines.extend_from_slice(b": ");
        self.lines.extend_from_slice(value);
        self.lines.extend_from_slice(b"\r\n");
    }

    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.line(name, itoa::Buffer::new().format(value).as_bytes());
    }

    pub(crate) fn text(&mut self, kind: &'static str, body: &[u8]) {
        self.kind = kind;
        self.fixed = None;
        self.body.clear();
        self.body.extend_from_slice(body);
    }

    pub(crate) fn own(&mut self, kind: &'static str, body: Vec<u8>) {
        self.kind = kind;
        self.fixed = None;
        self.body = body;
    }

    /// Sets the body to a constant.
    pub(crate) const fn fix(&mut self, kind: &'static str, body: &'static str) {
        self.kind = kind;
        self.fixed = Some(body.as_bytes());
    }

    pub(crate) fn json(&mut self, value: &impl serde::Serialize) {
        self.kind = JSON;
        self.fixed = None;
        self.body.clear();
        // Our bodies have text for names, so this cannot fail.
        let _ = v1::encode(value, &mut self.body);
    }

    /// Answers with a problem, and its status.
    pub(crate) fn problem(&mut self, problem: &Problem<'_>) {
        self.status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
        self.json(problem);
        self.kind = problem::CONTENT_TYPE;
    }

    /// Answers with a problem that its status mostly describes.
    pub(crate) fn refuse(&mut self, status: StatusCode, detail: &str) {
        let title = status.canonical_reason().unwrap_or("Refused");
        self.problem(&Problem::blank(status.as_u16(), title, detail));
    }

    /// Turns a request away because of overload.
    pub(crate) fn shed(&mut self, detail: &str) {
        self.number("retry-after", SHED_SECONDS);
        self.problem(&Problem::reduced_capacity(detail));
    }
}

/// Our bodies have text for names, so this cannot fail.
pub(super) fn encoded(value: &impl serde::Serialize) -> Vec<u8> {
    let mut body = Vec::new();
    let _ = v1::encode(value, &mut body);
    body
}

#[derive(Clone, Debug)]
pub(crate) struct CountedBody {
    pub(crate) bytes: Bytes,
    /// Bytes that are kept for this answer alone.
    pub(crate) own: usize,
}

impl CountedBody {
    pub(crate) const NONE: Self = Self::fixed(Bytes::new());

    /// A body that was written for one answer.
    pub(crate) const fn own(bytes: Bytes) -> Self {
        let own = bytes.len();
        Self { bytes, own }
    }

    /// A body that may be constant or shared.
    pub(crate) fn of(bytes: Bytes) -> Self {
        let own = if bytes.is_unique() { bytes.len() } else { 0 };
        Self { bytes, own }
    }

    /// A constant body.
    pub(crate) const fn fixed(bytes: Bytes) -> Self {
        Self { bytes, own: 0 }
    }
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
/// `Retry-After` of requests turned away.
const SHED_SECONDS: u64 = 1;
/// The largest body buffer kept for the next answer.
const BODY_KEPT_MAX: usize = 16 << 10;

/// How an answer is sent.
#[derive(Clone, Copy)]
pub(super) struct SendOptions {
    pub(super) version: HttpVersion,
    pub(super) is_kept: bool,
    /// Whether the request was `HEAD`, whose answer has no body.
    pub(super) is_head: bool,
    pub(super) is_sealed: bool,
    pub(super) now: Instant,
}

impl SendOptions {
    /// For the last answer of a connection.
    pub(super) const fn last(now: Instant, peer: Peer) -> Self {
        Self {
            version: HttpVersion::Http11,
            is_kept: false,
            is_head: false,
            is_sealed: peer.is_sealed,
            now,
        }
    }
}

/// Writes an answer. Returns whether its body is left to be sent, as it is too large to be copied.
#[must_use]
pub(super) fn write(reply: &Reply, manner: SendOptions, out: &mut Vec<u8>) -> bool {
    put_status(reply.status(), out);
    put_always(manner, out);
    if !reply.kind().is_empty() {
        put_line(b"content-type", reply.kind().as_bytes(), out);
    }
    out.extend_from_slice(reply.lines());
    let body = reply.body();
    put_end(reply.status(), manner, body.len(), out);
    let is_large = body.len() > COPIED_MAX;
    if !manner.is_head && !is_large {
        out.extend_from_slice(body);
    }
    is_large && !manner.is_head
}

/// Writes the head of an answer that goes on until the connection ends.
pub(super) fn write_open(reply: &Reply, manner: SendOptions, out: &mut Vec<u8>) {
    put_status(reply.status(), out);
    put_always(manner, out);
    put_line(b"content-type", reply.kind().as_bytes(), out);
    out.extend_from_slice(reply.lines());
    out.extend_from_slice(b"connection: close\r\n\r\n");
}

/// Writes the head of a complete response of another handler.
pub(super) fn write_whole(answered: &Response<Bytes>, manner: SendOptions, out: &mut Vec<u8>) {
    put_status(answered.status(), out);
    put_always(manner, out);
    for (name, value) in answered.headers() {
        if !SET_HERE.contains(&name.as_str()) {
            put_line(name.as_str().as_bytes(), value.as_bytes(), out);
        }
    }
    put_end(answered.status(), manner, answered.body().len(), out);
}

fn put_always(manner: SendOptions, out: &mut Vec<u8>) {
    with_date(manner.now, |date| put_line(b"date", date, out));
    for (name, value) in always(manner.is_sealed) {
        put_line(name.as_bytes(), value.as_bytes(), out);
    }
}

fn put_end(status: StatusCode, manner: SendOptions, length: usize, out: &mut Vec<u8>) {
    match (manner.version, manner.is_kept) {
        (HttpVersion::Http11, true) => {}
        (HttpVersion::Http10, true) => out.extend_from_slice(b"connection: keep-alive\r\n"),
        (_, false) => out.extend_from_slice(b"connection: close\r\n"),
    }
    if status != StatusCode::NO_CONTENT {
        let mut digits = itoa::Buffer::new();
        put_line(b"content-length", digits.format(length).as_bytes(), out);
    }
    out.extend_from_slice(b"\r\n");
}

fn put_line(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn put_status(status: StatusCode, out: &mut Vec<u8>) {
    if status == StatusCode::OK {
        return out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    let reason = status.canonical_reason().unwrap_or_default();
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Passes the date, which is formatted once a second.
pub(super) fn with_date(now: Instant, take: impl FnOnce(&[u8])) {
    thread_local! {
        static DATE: RefCell<(u64, Vec<u8>)> = const { RefCell::new((0, Vec::new())) };
    }
    let second = now.as_nanos() / 1_000_000_000;
    DATE.with_borrow_mut(|(written, date)| {
        if *written != second || date.is_empty() {
            let now = UNIX_EPOCH + Duration::from_secs(second);
            *date = httpdate::fmt_http_date(now).into_bytes();
            *written = second;
        }
        take(date);
    });
}

/// Fields of every answer: no content sniffing, and over TLS, TLS again next time.
pub(super) fn always(is_sealed: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let count = if is_sealed { ALWAYS.len() } else { 1 };
    ALWAYS.into_iter().take(count)
}

const ALWAYS: [(&str, &str); 2] = [
    ("x-content-type-options", "nosniff"),
    ("strict-transport-security", "max-age=31536000"),
];
/// The largest body that is copied behind its head.
const COPIED_MAX: usize = 16 << 10;
/// Fields that are written here; those of other handlers are dropped.
const SET_HERE: [&str; 5] = [
    "connection",
    "content-length",
    "date",
    "strict-transport-security",
    "x-content-type-options",
];
