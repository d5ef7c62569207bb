//! Decisions by policies that requests describe themselves: the throttle commands.
//!
//! `CL.THROTTLE` and `THROTTLE` share their keys, through whichever door they come. Not here: how each says its answer
//! (`tollgate_wire::resp`).

use std::time::Duration;

use tollgate_limit::{Cost, Decision, Inherit, Period, PolicyConfig, Span, Verdict};
use tollgate_node::{AdhocError, Key, Space};
use tollgate_table::Print;
use tollgate_wire::resp::{Throttle, ThrottleReply};

use crate::engine::{Ask, EngineError, RETRY_WHEN_FULL, Turn};

/// Decides one throttle command.
///
/// The key's bucket holds [`Throttle::limit`] tokens and is refilled continuously. When a key comes with other numbers,
/// the time at which its bucket is full stays, as both originals have it. A cost of zero takes nothing and is never
/// limited.
#[inline]
pub fn throttle(turn: &Turn<'_>, ask: &Throttle<'_>) -> Result<ThrottleReply, EngineError> {
    let print = turn.adhoc().print(SPACE, None, Key::Text(ask.key));
    throttle_print(turn, print, ask)
}

/// Decides up to [`BATCH_MAX`] throttle commands in order, and hands over each reply; faster than one by one.
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
    let asked = Ask::new(Key::Text(ask.key), cost);
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

/// Nearly every span fits in 64 bits, and dividing twice as many is a call.
#[inline]
fn duration(span: Span) -> Duration {
    match u64::try_from(span.as_nanos()) {
        Ok(nanos) => Duration::from_nanos(nanos),
        Err(_) => span.into(),
    }
}

/// The most commands that are decided together.
pub(crate) const BATCH_MAX: usize = 64;
/// Fewer commands wait less for memory than fetching it ahead costs.
const BATCH_LEAST: usize = 4;
const SPACE: Space = Space::named("throttle");
const NANOS_PER_SEC: u64 = 1_000_000_000;
