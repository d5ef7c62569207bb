//! Answers as bytes of HTTP/1.

use std::cell::RefCell;
use std::time::{Duration, UNIX_EPOCH};

use http::StatusCode;
use tollgate_limit::Instant;

use super::head::Version;
use crate::http::Reply;

/// How an answer is sent.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) version: Version,
    /// Whether the connection stays open.
    pub(super) is_kept: bool,
    /// Whether the request was `HEAD`, whose answer has no body.
    pub(super) is_head: bool,
    pub(super) now: Instant,
}

/// Writes an answer.
pub(super) fn write(reply: &Reply, manner: Manner, out: &mut Vec<u8>) {
    put_status(reply.status(), out);
    with_date(manner.now, |date| out.extend_from_slice(date));
    if !reply.kind().is_empty() {
        out.extend_from_slice(b"content-type: ");
        out.extend_from_slice(reply.kind().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(reply.lines());
    match (manner.version, manner.is_kept) {
        (Version::Http11, true) => {}
        (Version::Http10, true) => out.extend_from_slice(b"connection: keep-alive\r\n"),
        (_, false) => out.extend_from_slice(b"connection: close\r\n"),
    }
    let body = reply.body();
    if reply.status() != StatusCode::NO_CONTENT {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    if !manner.is_head {
        out.extend_from_slice(body);
    }
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

/// Hands over the line with the date, which is written once a second.
fn with_date(now: Instant, take: impl FnOnce(&[u8])) {
    thread_local! {
        static DATE: RefCell<(u64, Vec<u8>)> = const { RefCell::new((0, Vec::new())) };
    }
    let second = now.as_nanos() / 1_000_000_000;
    DATE.with_borrow_mut(|(written, line)| {
        if *written != second || line.is_empty() {
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
            line.clear();
            line.extend_from_slice(b"date: ");
            line.extend_from_slice(date.as_bytes());
            line.extend_from_slice(b"\r\n");
            *written = second;
        }
        take(line);
    });
}
