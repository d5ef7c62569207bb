//! A clock that does not do what sleepers expect.

use std::time::Duration;

use tollgate_client::{Clock, FakeClock, Instant};

/// What becomes of those who sleep.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every test needs both")]
pub(crate) enum Sleep {
    /// They never wake up.
    Forever,
    /// They wake up at the time at which they fell asleep.
    NotAtAll,
}

/// A clock on which sleeping does not move the time.
#[derive(Debug)]
pub(crate) struct StubbornClock {
    time: FakeClock,
    sleep: Sleep,
}

impl StubbornClock {
    pub(crate) fn new(sleep: Sleep) -> Self {
        Self {
            time: FakeClock::default(),
            sleep,
        }
    }
}

impl Clock for StubbornClock {
    fn now(&self) -> Instant {
        self.time.now()
    }

    fn sleep_blocking(&self, _: Duration) {
        assert!(
            matches!(self.sleep, Sleep::NotAtAll),
            "a test must not block for ever"
        );
    }

    async fn sleep(&self, _: Duration) {
        match self.sleep {
            Sleep::Forever => std::future::pending().await,
            Sleep::NotAtAll => {}
        }
    }
}
