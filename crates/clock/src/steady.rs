//! The clock of lease terms: monotonic, also while the machine sleeps, and common to all processes of a machine.

use tollgate_limit::Instant;

use crate::system::{Ticker, since_boot};

/// The time since the machine was started, its sleep included: the processor's counter, set by the system's clock every
/// few milliseconds. Two readings by different threads may be some microseconds apart in the wrong order.
#[derive(Debug)]
pub struct SteadyClock(Ticker);

impl SteadyClock {
    /// Agrees with the system's clock now.
    pub fn new() -> Self {
        Self(Ticker::new(since_boot, COMPARE_EVERY))
    }

    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.0.nanos())
    }
}

impl Default for SteadyClock {
    fn default() -> Self {
        Self::new()
    }
}

/// Nanoseconds for which the counter is used without comparing it.
const COMPARE_EVERY: u64 = 5_000_000;
