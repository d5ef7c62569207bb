//! The clock that terms are counted on: it only ever goes on, also while the machine sleeps, and is common to all processes of a machine.

use rustix::time::{ClockId, clock_gettime};
use tollgate_limit::Instant;

use crate::clock::Ticker;

/// The time since the machine was started, its sleep included: the processor's counter, set by the system's clock every few
/// milliseconds. Two readings by different threads may be some microseconds apart in the wrong order.
#[derive(Debug)]
pub struct SteadyClock(Ticker);

impl SteadyClock {
    /// A clock that agrees with the system's now.
    pub fn new() -> Self {
        Self(Ticker::new(since_boot, COMPARE_EVERY))
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Instant {
        self.0.now()
    }
}

impl Default for SteadyClock {
    fn default() -> Self {
        Self::new()
    }
}

fn since_boot() -> u64 {
    #[cfg(target_os = "linux")]
    let time = clock_gettime(ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// How long the counter is believed without looking.
const COMPARE_EVERY: u64 = 5_000_000;
