//! The clock that terms are counted on: it only ever goes on, also while the machine sleeps, and is common to all
//! processes of a machine.

use tollgate_limit::Instant;

use crate::system::{Ticker, since_boot};

/// The time since the machine was started, its sleep included: the processor's counter, set by the system's clock every
/// few milliseconds. Two readings by different threads may be some microseconds apart in the wrong order.
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
        Instant::from_nanos(self.0.nanos())
    }
}

impl Default for SteadyClock {
    fn default() -> Self {
        Self::new()
    }
}

/// How long the counter is believed without looking.
const COMPARE_EVERY: u64 = 5_000_000;
