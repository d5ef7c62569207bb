//! Answers as bytes of HTTP/1.

use std::cell::RefCell;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{Response, StatusCode};
use tollgate_limit::Instant;

use super::head::HttpVersion;
use crate::http::Reply;
use crate::shared::Peer;

/// How an answer is sent.
#[derive(Clone, Copy)]
pub(super) struct SendOptions {
    pub(super) version: HttpVersion,
    /// Whether the connection stays open.
    pub(super) is_kept: bool,
    /// Whether the request was `HEAD`, whose answer has no body.
    pub(super) is_head: bool,
    /// Whether the connection is sealed by TLS.
    pub(super) is_sealed: bool,
    pub(super) now: Instant,
}

impl SendOptions {
    /// That of the last answer of a connection.
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

/// Writes an answer. Says whether its body is left to be sent, as it is too large to be copied.
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

/// Writes the head of an answer that somebody else wrote.
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

/// Hands over the date, which is written once a second.
pub(in crate::http) fn with_date(now: Instant, take: impl FnOnce(&[u8])) {
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

/// Fields that every answer has: nobody takes it for something else, and whoever came by TLS comes by TLS again.
pub(in crate::http) fn always(
    is_sealed: bool,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let count = if is_sealed { ALWAYS.len() } else { 1 };
    ALWAYS.into_iter().take(count)
}

const ALWAYS: [(&str, &str); 2] = [
    ("x-content-type-options", "nosniff"),
    ("strict-transport-security", "max-age=31536000"),
];
/// The largest body that is written behind its head.
const COPIED_MAX: usize = 16 << 10;
/// Fields that are written here, whatever somebody else says of them.
const SET_HERE: [&str; 5] = [
    "connection",
    "content-length",
    "date",
    "strict-transport-security",
    "x-content-type-options",
];
