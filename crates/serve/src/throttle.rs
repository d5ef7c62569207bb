//! Decisions by policies that requests describe themselves: the throttle commands.
//!
//! `CL.THROTTLE` and `THROTTLE` share their keys, over all protocols. Not here: how each writes its answer
//! (`tollgate_wire::resp`).

use std::time::Duration;

use tollgate_limit::{Cost, Decision, Inherit, Period, PolicyConfig, Span, Verdict};
use tollgate_node::{AdhocError, Key, Space};
use tollgate_table::Print;
use tollgate_wire::resp::{Dialect, NEVER_SECS, Throttle, ThrottleReply};
use tollgate_wire::throttlecrab::{HttpRequest, HttpResponse};

use crate::engine::{EngineError, EngineRequest, RETRY_WHEN_FULL, Turn};
use crate::value::short;

/// Decides one throttle command.
///
/// The key's bucket holds [`Throttle::limit`] tokens and is refilled continuously. When a key comes with other numbers,
/// the time at which its bucket is full stays, as in both originals. A cost of zero takes nothing and is never limited.
#[inline]
pub fn throttle(turn: &Turn<'_>, ask: &Throttle<'_>) -> Result<ThrottleReply, EngineError> {
    let print = turn.adhoc().print(SPACE, None, Key::Text(ask.key));
    throttle_print(turn, print, ask)
}

/// Decides up to [`BATCH_MAX`] throttle commands in order, and passes each reply on; faster than one by one.
pub(crate) fn throttle_many(
    turn: &Turn<'_>,
    asks: &[Throttle<'_>],
    mut said: impl FnMut(&Throttle<'_>, Result<ThrottleReply, EngineError>),
) {
    if asks.len() < BATCH_LEAST {
        return asks.iter().for_each(|ask| said(ask, throttle(turn, ask)));
    }
    let mut prints = [Print(0); BATCH_MAX];
    for (print, ask) in prints.iter_mut().zip(asks) {
        *print = turn.adhoc().print(SPACE, None, Key::Text(ask.key));
    }
    let prints = prints.get(..asks.len()).unwrap_or(&prints);
    turn.adhoc().in_turn(prints, |place| {
        if let (Some(ask), Some(print)) = (asks.get(place), prints.get(place)) {
            said(ask, throttle_print(turn, *print, ask));
        }
    });
}

/// Decides a command of throttlecrab's own protocols.
pub(crate) fn throttlecrab(
    turn: &Turn<'_>,
    request: &HttpRequest,
    key_bytes_max: usize,
) -> Result<HttpResponse, ThrottleError> {
    let key = short(&request.key, key_bytes_max);
    let at_least = |name: &str, value: i64, least: u64| {
        let value = u64::try_from(value).ok().filter(|value| *value >= least);
        value.ok_or_else(|| ThrottleError::TooSmall(format!("`{name}` is at least {least}")))
    };
    let command = Throttle {
        dialect: Dialect::Throttlecrab,
        key: key.as_bytes(),
        max_burst: at_least("max_burst", request.max_burst, 1)?,
        count: at_least("count_per_period", request.count_per_period, 1)?,
        period_secs: at_least("period", request.period, 1)?,
        cost: at_least("quantity", request.quantity.unwrap_or(1), 0)?,
    };
    let reply = throttle(turn, &command).map_err(ThrottleError::Engine)?;
    Ok(HttpResponse {
        allowed: reply.allowed,
        limit: number(command.limit()),
        remaining: number(reply.remaining),
        reset_after: seconds(reply.reset_after),
        retry_after: match reply.retry_after {
            _ if reply.allowed => 0,
            Some(after) => seconds(after),
            None => NEVER_SECS,
        },
    })
}

/// Why a command has no answer.
pub(crate) enum ThrottleError {
    /// A number is too small; says which, and its minimum.
    TooSmall(String),
    Engine(EngineError),
}

/// Whole seconds, rounded up.
fn seconds(span: Duration) -> i64 {
    let begun = u64::from(span.subsec_nanos() > 0);
    number(span.as_secs().saturating_add(begun))
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[inline]
fn throttle_print(
    turn: &Turn<'_>,
    print: Print,
    ask: &Throttle<'_>,
) -> Result<ThrottleReply, EngineError> {
    let period_ns = ask.period_secs.saturating_mul(NANOS_PER_SEC);
    let mut policy = PolicyConfig::token_bucket(ask.count, Period::from_nanos(period_ns));
    policy.burst = Some(ask.limit());
    policy.inherit = Inherit::Time;
    // A cost beyond the largest is beyond every limit too.
    let cost = Cost::new(ask.cost).unwrap_or(Cost::MAX);
    let asked = EngineRequest::new(Key::Text(ask.key), cost);
    match turn.describe_print(print, &asked, &policy) {
        Ok(decision) => Ok(reply(&decision, ask.cost)),
        Err(AdhocError::Full) => Ok(full()),
        Err(AdhocError::Policy(error)) => Err(EngineError::Policy(error)),
    }
}

#[inline]
fn reply(decision: &Decision, cost: u64) -> ThrottleReply {
    let allowed = cost == 0 || decision.verdict == Verdict::Allow;
    let retry_after = decision.verdict.retry_after().filter(|_| !allowed);
    ThrottleReply {
        allowed,
        remaining: decision.remaining,
        retry_after: retry_after.map(duration),
        reset_after: duration(decision.reset_after),
    }
}

fn full() -> ThrottleReply {
    let wait = duration(RETRY_WHEN_FULL);
    ThrottleReply {
        allowed: false,
        remaining: 0,
        retry_after: Some(wait),
        reset_after: wait,
    }
}

/// Nearly every span fits in 64 bits, and a 128-bit division is a call.
#[inline]
fn duration(span: Span) -> Duration {
    match u64::try_from(span.as_nanos()) {
        Ok(nanos) => Duration::from_nanos(nanos),
        Err(_) => span.into(),
    }
}

/// Limit on commands that are decided together.
pub(crate) const BATCH_MAX: usize = 64;
/// With fewer commands, waiting for memory costs less than prefetching.
const BATCH_LEAST: usize = 4;
const SPACE: Space = Space::named("throttle");
const NANOS_PER_SEC: u64 = 1_000_000_000;
