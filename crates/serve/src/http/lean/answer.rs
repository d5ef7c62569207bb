//! Answers one request from a buffer into another.

use std::mem::MaybeUninit;
use std::time::Duration;

use http::StatusCode;
use tollgate_limit::Instant;

use super::head::{self, Length, ParsedHead, RequestHead};
use crate::engine::{Turn, WaitingSteps};
use crate::http::reply::{self, SendOptions};
use crate::http::{HeaderLines, ListenerSite, ReceivedRequest, Reply, route};
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared};
use crate::traces::TraceSpan;

/// What all requests of a batch share.
pub(super) struct BatchContext<'c, 's> {
    pub(super) shared: &'s Shared,
    pub(super) site: &'c ListenerSite,
    pub(super) peer: Peer,
    pub(super) turn: &'c Turn<'c>,
    pub(super) is_stopping: bool,
}

pub(super) struct Pending<'s> {
    pub(super) later: Box<WaitingSteps<Reply>>,
    pub(super) manner: SendOptions,
    pub(super) span: Option<TraceSpan<'s>>,
    pub(super) came: Instant,
}

/// Outcome of reading the start of a buffer.
pub(super) enum ReadOutcome<'s> {
    /// A request, answered.
    Answered {
        length: usize,
        /// Whether another may follow.
        is_kept: bool,
        /// How long to wait before the answer is sent.
        hold: Duration,
        /// Whether the body of the answer is still in the reply.
        has_rest: bool,
    },
    /// A request of this many bytes, whose answer waits.
    Later(usize, Box<Pending<'s>>),
    /// An incomplete request.
    Partial,
    /// A request to be answered alone, whose head has this many bytes.
    Alone(usize),
    /// Malformed and answered as such; nothing behind it can be a request.
    Refused,
}

/// Answers the first request of `bytes`.
pub(super) fn answer<'s>(
    call: &BatchContext<'_, 's>,
    bytes: &[u8],
    reply: &mut Reply,
    output: &mut Vec<u8>,
) -> ReadOutcome<'s> {
    let mut slots = [const { MaybeUninit::uninit() }; head::LINES_MAX];
    let max = call.shared.settings.limits.head_bytes_max;
    let (status, why) = match head::read(bytes, &mut slots) {
        ParsedHead::Head(head) if head.length <= max => {
            return answer_head(call, &head, bytes, reply, output);
        }
        ParsedHead::Partial if bytes.len() <= max => return ReadOutcome::Partial,
        ParsedHead::Head(_) | ParsedHead::Partial => (
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "The head is too large.",
        ),
        ParsedHead::Bad(status, why) => (status, why),
    };
    let meter = call.shared.engine.meter();
    meter.count(Event::Malformed(Door::Http));
    let manner = SendOptions::last(call.turn.now(), call.peer);
    refuse(status, why, manner, reply, output);
    ReadOutcome::Refused
}

fn answer_head<'s>(
    call: &BatchContext<'_, 's>,
    head: &RequestHead<'_, '_>,
    bytes: &[u8],
    reply: &mut Reply,
    output: &mut Vec<u8>,
) -> ReadOutcome<'s> {
    let asked = ReceivedRequest {
        shared: call.shared,
        site: call.site,
        peer: call.peer,
        method: head.method,
        path: head.path,
        query: head.query,
        lines: HeaderLines::Raw(head.lines),
        body: &[],
    };
    let length = match head.length_of_body {
        Length::Known(length) => usize::try_from(length).unwrap_or(usize::MAX),
        Length::Chunked => usize::MAX,
    };
    let is_short = length <= BODY_MAX;
    let body = bytes.get(head.length..head.length.saturating_add(length));
    let manner = SendOptions {
        version: head.version,
        is_kept: head.is_kept && !call.is_stopping,
        is_head: head.method == "HEAD",
        is_sealed: call.peer.is_sealed,
        now: call.turn.now(),
    };
    reply.clear();
    if call.site.is_foreign(asked.line("host"), head.path) {
        route::misdirected(&asked, reply);
        return last(manner, reply, output);
    }
    if call.site.desk(call.shared, head.path).is_some() || route::is_endless(head.path) {
        return ReadOutcome::Alone(head.length);
    }
    let Some(body) = body.filter(|_| is_short) else {
        if !is_short || head.expects {
            return ReadOutcome::Alone(head.length);
        }
        // An unauthorized caller is refused before its body arrives.
        let is_refused = route::admitted(&asked, reply).is_none();
        if is_refused && reply.status() == StatusCode::UNAUTHORIZED {
            return last(manner, reply, output);
        }
        return ReadOutcome::Partial;
    };
    let asked = ReceivedRequest { body, ..asked };
    let length = head.length + length;
    if let Some(pending) = begin(call, &asked, manner, reply) {
        return ReadOutcome::Later(length, pending);
    }
    let has_rest = reply::write(reply, manner, output);
    let is_kept = manner.is_kept;
    let hold = reply.hold();
    ReadOutcome::Answered {
        length,
        is_kept,
        hold,
        has_rest,
    }
}

/// Answers a whole request; returns it if the answer waits.
#[inline]
fn begin<'s>(
    call: &BatchContext<'_, 's>,
    asked: &ReceivedRequest<'_>,
    manner: SendOptions,
    reply: &mut Reply,
) -> Option<Box<Pending<'s>>> {
    let is_traced = call.shared.engine.meter().is_tracing() && !route::is_busy(asked.path);
    let span = is_traced.then(|| route::span(call.shared, asked)).flatten();
    route::answer(call.turn, asked, reply);
    let Some(later) = reply.take_later() else {
        route::end(span, reply);
        return None;
    };
    Some(Box::new(Pending {
        later,
        manner,
        span,
        came: call.turn.now(),
    }))
}

/// Writes a refusal behind which nothing is read.
fn last<'s>(manner: SendOptions, reply: &Reply, output: &mut Vec<u8>) -> ReadOutcome<'s> {
    let is_kept = false;
    // Refusals are short.
    let _ = reply::write(reply, SendOptions { is_kept, ..manner }, output);
    ReadOutcome::Refused
}

/// Writes the answer to malformed input, the last of a connection.
#[cold]
pub(super) fn refuse(
    status: StatusCode,
    why: &str,
    manner: SendOptions,
    reply: &mut Reply,
    output: &mut Vec<u8>,
) {
    reply.clear();
    reply.refuse(status, why);
    let _ = last(manner, reply, output);
}

/// Larger bodies are answered outside the batch.
const BODY_MAX: usize = 16 << 10;
