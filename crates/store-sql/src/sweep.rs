//! How rows that say nothing any more are dropped, the same for both databases. Not here: the statements.

use std::time::{Duration, SystemTime};

/// Rows that are looked at in one go.
pub(crate) const PAGE: i64 = 500;

/// How rows that say nothing any more are dropped.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// How often.
    pub every: Duration,
    /// Rows that were written so recently stay, by the clock of the database: a trace may play in another century.
    pub grace: Duration,
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            every: Duration::from_mins(1),
            grace: Duration::from_mins(10),
        }
    }
}

impl Sweep {
    pub(crate) fn grace_s(&self) -> i64 {
        i64::try_from(self.grace.as_secs()).unwrap_or(i64::MAX)
    }
}

/// The second that it is, by our clock.
pub(crate) fn now_s() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
