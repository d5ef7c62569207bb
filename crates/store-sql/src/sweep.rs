//! Deletion of expired rows, the same for both databases. Not here: the statements.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use tollgate_store::StoreRequest;

/// Rows of a page.
pub(crate) const PAGE: i64 = 500;

#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub every: Duration,
    /// Rows written within this time, by the clock of the database, stay: a trace may be from another century.
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

/// The time for sweeping: that of the last request, whose clock ignores jumps of the machine's, or until there
/// is one that of the start, by the monotonic clock. A row that is expired only by a jumped clock stays.
#[derive(Debug)]
pub(crate) struct Now {
    /// The second of the last request; 0 before the first.
    asked_s: AtomicI64,
    started: Instant,
    started_s: i64,
}

impl Now {
    pub(crate) fn start() -> Self {
        Self {
            asked_s: AtomicI64::new(0),
            started: Instant::now(),
            started_s: wall_s(),
        }
    }

    pub(crate) fn hear(&self, asks: &[StoreRequest]) {
        if let Some(ask) = asks.last() {
            self.hear_time(ask.now.as_nanos() / 1_000_000_000);
        }
    }

    fn hear_time(&self, second: u64) {
        let second = i64::try_from(second).unwrap_or(i64::MAX);
        self.asked_s.store(second, Relaxed);
    }

    pub(crate) fn second(&self) -> i64 {
        self.at(wall_s())
    }

    fn at(&self, wall_s: i64) -> i64 {
        let known = match self.asked_s.load(Relaxed) {
            0 => {
                let since = i64::try_from(self.started.elapsed().as_secs());
                self.started_s.saturating_add(since.unwrap_or(i64::MAX))
            }
            asked => asked,
        };
        // Requests of a trace may be in the future.
        known.min(wall_s)
    }
}

/// By the machine's clock.
fn wall_s() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAYS_40: i64 = 40 * 86_400;

    #[test]
    fn a_clock_that_jumped_is_followed_only_once_asks_follow_it() {
        let now = Now::start();
        let started = now.started_s;
        assert!(now.at(started + DAYS_40) <= started + 60);
        assert_eq!(now.at(started - DAYS_40), started - DAYS_40);
        let asked = |second: i64| now.hear_time(second.unsigned_abs());
        asked(started + 5);
        assert_eq!(now.at(started + DAYS_40), started + 5);
        asked(started + DAYS_40);
        assert_eq!(now.at(started + DAYS_40 + 1), started + DAYS_40);
        assert_eq!(now.at(started + 6), started + 6);
    }
}
