//! Redis' clock against ours. Decisions go by the clock of the node; this says how far that can be trusted.

use core::time::Duration;
use std::sync::Weak;
use std::time::SystemTime;

use redis::{Cmd, Value};
use tokio::time::{Instant, sleep};

use crate::engine::Inner;

/// How often the clocks are compared.
const EVERY: Duration = Duration::from_secs(10);
/// How long to wait for an answer.
const TIME: Duration = Duration::from_secs(1);
/// Clocks further apart than this are worth a warning.
pub const APART_MAX: Duration = Duration::from_secs(1);

/// A comparison of clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// How many nanoseconds Redis is ahead of us; negative where it is behind.
    pub ahead_ns: i64,
    /// By how much that may be wrong: half the way there and back.
    pub error: Duration,
}

impl Clock {
    /// Whether the clocks are surely further apart than [`APART_MAX`].
    pub fn is_apart(&self) -> bool {
        let apart = Duration::from_nanos(self.ahead_ns.unsigned_abs());
        apart.saturating_sub(self.error) > APART_MAX
    }
}

/// Compares clocks from time to time, as long as the engine is there.
pub(crate) async fn keep(inner: Weak<Inner>) {
    let mut wait = Duration::from_millis(100);
    loop {
        sleep(wait).await;
        let Some(inner) = inner.upgrade() else { return };
        inner.measure_clock(TIME).await;
        wait = EVERY;
    }
}

/// Compares clocks by one question.
pub(crate) async fn measure<F, A>(call: F) -> Option<Clock>
where
    F: FnOnce(Cmd) -> A,
    A: Future<Output = Option<Value>>,
{
    let (start, wall) = (Instant::now(), since_epoch());
    let Value::Array(parts) = call(redis::cmd("TIME")).await? else {
        return None;
    };
    let there = |part: &Value| match part {
        Value::BulkString(digits) => core::str::from_utf8(digits).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    let [seconds, micros] = &parts[..] else {
        return None;
    };
    let theirs = Duration::from_secs(there(seconds)?) + Duration::from_micros(there(micros)?);
    let error = start.elapsed() / 2;
    let ours = wall + error;
    let nanos = |span: Duration| i64::try_from(span.as_nanos()).ok();
    Some(Clock {
        ahead_ns: nanos(theirs)?.saturating_sub(nanos(ours)?),
        error,
    })
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_apart_only_beyond_what_may_be_wrong() {
        let clock = |ms: i64, error| Clock {
            ahead_ns: ms * 1_000_000,
            error: Duration::from_millis(error),
        };
        assert!(!clock(1_400, 500).is_apart());
        assert!(clock(1_600, 500).is_apart() && clock(-1_600, 500).is_apart());
    }
}
