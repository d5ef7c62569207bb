//! Queries Redis for its time, at intervals.

use core::time::Duration;
use std::sync::Weak;
use std::time::SystemTime;

use redis::{Cmd, Value};
use tokio::time::{Instant, sleep};
use tollgate_store::ClockComparison;

use crate::engine::EngineInner;

/// How often the clocks are compared.
const EVERY: Duration = Duration::from_secs(10);
/// Deadline of a comparison.
const TIME: Duration = Duration::from_secs(1);
/// Compares clocks until the engine is dropped.
pub(crate) async fn keep(inner: Weak<EngineInner>) {
    let mut wait = Duration::from_millis(100);
    loop {
        sleep(wait).await;
        let Some(inner) = inner.upgrade() else { return };
        inner.measure_clock(TIME).await;
        wait = EVERY;
    }
}

pub(crate) async fn measure<F, A>(call: F) -> Option<ClockComparison>
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
    ClockComparison::of(theirs, wall, start.elapsed())
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
