//! Times as text in answers.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Nanoseconds since the epoch.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// Nanoseconds since the epoch as `2026-12-31T23:00:00Z`.
pub(crate) fn told(nanos: u64) -> String {
    // `u64` nanoseconds end in the year 2554, which it supports.
    Timestamp::from_nanosecond(i128::from(nanos))
        .map_or_else(|_| String::new(), |time| time.to_string())
}

/// Reads such a text as nanoseconds since the epoch.
pub(crate) fn read(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
