//! Timeouts of a connection: long while idle, short while something is incomplete.
//!
//! Moving a timer costs as much as a decision, so it is moved only when something starts and does not end at once. An
//! idle connection is closed after one to two times the idle time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

pub(super) struct ConnectionTimeouts {
    sleep: Pin<Box<Sleep>>,
    idle: Duration,
    slow: Duration,
    is_short: bool,
    /// Whether something was done since the timer was set.
    is_active: bool,
}

/// Which timeout passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Nothing arrived for too long.
    Idle,
    /// Something stayed incomplete for too long.
    Slow,
}

impl ConnectionTimeouts {
    /// Starts with the short timeout.
    pub(super) fn new(idle: Duration, slow: Duration) -> Self {
        Self {
            sleep: Box::pin(sleep(slow)),
            idle,
            slow,
            is_short: true,
            is_active: true,
        }
    }

    /// Whether something is incomplete.
    pub(super) const fn is_short(&self) -> bool {
        self.is_short
    }

    /// Something has started, and must end soon.
    pub(super) fn begin(&mut self) {
        self.is_short = true;
        self.sleep.as_mut().reset(Instant::now() + self.slow);
    }

    /// Nothing is incomplete.
    pub(super) const fn rest(&mut self) {
        self.is_short = false;
        self.is_active = true;
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Over> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            if self.is_short {
                return Poll::Ready(Over::Slow);
            }
            if !self.is_active {
                return Poll::Ready(Over::Idle);
            }
            self.is_active = false;
            self.sleep.as_mut().reset(Instant::now() + self.idle);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    const IDLE: Duration = Duration::from_mins(5);
    const SLOW: Duration = Duration::from_secs(10);

    async fn over(patience: &mut ConnectionTimeouts) -> (Over, Duration) {
        let start = Instant::now();
        let over = poll_fn(|cx| patience.poll(cx)).await;
        (over, start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_half_done_ends_soon() {
        let mut patience = ConnectionTimeouts::new(IDLE, SLOW);
        let (why, when) = over(&mut patience).await;
        assert_eq!(why, Over::Slow);
        assert!(when >= SLOW && when < SLOW * 2, "{when:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_stays_its_time() {
        let mut patience = ConnectionTimeouts::new(IDLE, SLOW);
        patience.rest();
        let (why, when) = over(&mut patience).await;
        assert_eq!(why, Over::Idle);
        assert!(when >= IDLE && when < IDLE * 2, "{when:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_something_begins_anew() {
        let mut patience = ConnectionTimeouts::new(IDLE, SLOW);
        patience.rest();
        for _ in 0..10 {
            let nobody = tokio::time::timeout(IDLE / 2, over(&mut patience)).await;
            assert!(nobody.is_err());
            patience.begin();
            patience.rest();
        }
        assert_eq!(over(&mut patience).await.0, Over::Idle);
    }
}
