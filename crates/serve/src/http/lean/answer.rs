//! One request of a buffer, answered into another.

use std::mem::MaybeUninit;
use std::time::Duration;

use http::StatusCode;
use tollgate_limit::Instant;

use super::head::{self, Head, Read, Version};
use super::write::{self, Manner};
use crate::engine::Turn;
use crate::http::{Asked, Lines, Reply, route};
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared};

/// What all requests of a batch have in common.
pub(super) struct Call<'c> {
    pub(super) shared: &'c Shared,
    pub(super) peer: Peer,
    pub(super) turn: &'c Turn<'c>,
    pub(super) is_stopping: bool,
}

/// What became of the first bytes of a buffer.
pub(super) enum Outcome {
    /// They were a request, which was answered.
    Answered {
        /// Its bytes.
        length: usize,
        /// Whether another may follow.
        is_kept: bool,
        /// How long to wait before the answer is sent.
        hold: Duration,
    },
    /// They are not a whole request yet.
    Partial,
    /// They are a request for hyper.
    Other,
    /// They were no request, and were told so; nothing behind them can be one.
    Refused,
}

/// Answers the first request of `bytes`.
pub(super) fn answer(
    call: &Call<'_>,
    bytes: &[u8],
    reply: &mut Reply,
    output: &mut Vec<u8>,
) -> Outcome {
    let mut slots = [const { MaybeUninit::uninit() }; head::LINES_MAX];
    let max = call.shared.settings.limits.head_bytes_max;
    let wrong = match head::read(bytes, &mut slots) {
        Read::Head(head) if head.length <= max => {
            return answer_head(call, &head, bytes, (reply, output));
        }
        Read::Other => return Outcome::Other,
        Read::Partial if bytes.len() <= max => return Outcome::Partial,
        Read::Head(_) | Read::Partial => (
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "The head is too large.",
        ),
        Read::Bad(status, why) => (status, why),
    };
    let meter = call.shared.engine.meter();
    meter.count(Event::Malformed(Door::Http));
    refuse(wrong, call.turn.now(), reply, output);
    Outcome::Refused
}

fn answer_head(
    call: &Call<'_>,
    head: &Head<'_, '_>,
    bytes: &[u8],
    (reply, output): (&mut Reply, &mut Vec<u8>),
) -> Outcome {
    let length = usize::try_from(head.body).unwrap_or(usize::MAX);
    if length > BODY_MAX || call.shared.desk_for(head.path).is_some() {
        return Outcome::Other;
    }
    let Some(body) = bytes.get(head.length..head.length + length) else {
        return Outcome::Partial;
    };
    let asked = Asked {
        shared: call.shared,
        peer: call.peer,
        method: head.method,
        path: head.path,
        query: head.query,
        lines: Lines::Raw(head.lines),
        body,
    };
    reply.clear();
    if call.shared.engine.meter().is_tracing() && !route::is_busy(head.path) {
        route::trace(call.turn, &asked, reply);
    } else {
        route::answer(call.turn, &asked, reply);
    }
    let is_kept = head.is_kept && !call.is_stopping;
    let manner = Manner {
        version: head.version,
        is_kept,
        is_head: head.method == "HEAD",
        now: call.turn.now(),
    };
    write::write(reply, manner, output);
    let length = head.length + length;
    let hold = reply.hold();
    Outcome::Answered {
        length,
        is_kept,
        hold,
    }
}

/// Writes the answer to what is no request, the last of a connection.
#[cold]
pub(super) fn refuse(
    (status, why): (StatusCode, &str),
    now: Instant,
    reply: &mut Reply,
    output: &mut Vec<u8>,
) {
    reply.clear();
    reply.refuse(status, why);
    let manner = Manner {
        version: Version::Http11,
        is_kept: false,
        is_head: false,
        now,
    };
    write::write(reply, manner, output);
}

/// The most bytes of a body that are kept here; larger ones wait for their turn elsewhere.
const BODY_MAX: usize = 16 << 10;
