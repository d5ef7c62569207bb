//! Throttlecrab's service: one throttle command in a call.

use tollgate_wire::resp::{Dialect, NEVER_SECS, Throttle};
use tollgate_wire::throttlecrab::{ThrottleRequest, ThrottleResponse};

use super::status::{Code, Status};
use crate::engine::Turn;
use crate::settings::Limits;
use crate::throttle;
use crate::value::short;

/// Decides one request.
pub(super) fn throttle(
    turn: &Turn<'_>,
    request: &ThrottleRequest,
    limits: &Limits,
) -> Result<ThrottleResponse, Status> {
    let key = short(&request.key, limits.key_bytes_max);
    let command = command(request, &key)?;
    let reply = throttle::throttle(turn, &command)?;
    let retry_after = match reply.retry_after {
        _ if reply.allowed => 0,
        Some(after) => seconds(after),
        None => number(NEVER_SECS.unsigned_abs()),
    };
    Ok(ThrottleResponse {
        allowed: reply.allowed,
        limit: number(command.limit()),
        remaining: number(reply.remaining),
        retry_after,
        reset_after: seconds(reply.reset_after),
    })
}

fn command<'a>(request: &ThrottleRequest, key: &'a str) -> Result<Throttle<'a>, Status> {
    let at_least = |name: &str, value: i32, least: u64| {
        let value = u64::try_from(value).ok().filter(|value| *value >= least);
        value.ok_or_else(|| {
            let what = format!("`{name}` is at least {least}");
            Status::new(Code::InvalidArgument, what)
        })
    };
    Ok(Throttle {
        dialect: Dialect::Throttlecrab,
        key: key.as_bytes(),
        max_burst: at_least("max_burst", request.max_burst, 1)?,
        count: at_least("count_per_period", request.count_per_period, 1)?,
        period_secs: at_least("period", request.period, 1)?,
        cost: at_least("quantity", request.quantity, 0)?,
    })
}

/// Whole seconds, rounded up.
fn seconds(span: std::time::Duration) -> i32 {
    let begun = u64::from(span.subsec_nanos() > 0);
    number(span.as_secs().saturating_add(begun))
}

/// A number as the messages have it: what is too large for them is the largest they can say.
fn number(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
