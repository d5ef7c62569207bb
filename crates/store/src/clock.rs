//! Compares an engine's clock with the node's. Decisions use the clock of the node; this bounds its error.
//!
//! Not here: queries for the time, and reading clocks.

use core::time::Duration;

/// Clocks further apart than this are worth a warning.
pub const APART_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockComparison {
    /// Nanoseconds that the engine is ahead of this node; negative if it is behind.
    pub ahead_ns: i64,
    /// Error bound: half the round trip.
    pub error: Duration,
}

impl ClockComparison {
    /// `theirs` was requested at `asked` by this node's clock, and returned after `took`. Times are since
    /// 1970; `None` if they are beyond the year 2262.
    pub fn of(theirs: Duration, asked: Duration, took: Duration) -> Option<Self> {
        let error = took / 2;
        let nanos = |span: Duration| i64::try_from(span.as_nanos()).ok();
        Some(Self {
            ahead_ns: nanos(theirs)?.saturating_sub(nanos(asked.saturating_add(error))?),
            error,
        })
    }

    /// Whether the clocks differ for sure by more than [`APART_MAX`].
    pub fn is_apart(&self) -> bool {
        let apart = Duration::from_nanos(self.ahead_ns.unsigned_abs());
        apart.saturating_sub(self.error) > APART_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn clocks_are_apart_only_beyond_what_may_be_wrong() {
        let clock = |ahead_ms: i64, error| ClockComparison {
            ahead_ns: ahead_ms * 1_000_000,
            error: ms(error),
        };
        assert!(!clock(1_400, 500).is_apart());
        assert!(clock(1_600, 500).is_apart() && clock(-1_600, 500).is_apart());
    }

    #[test]
    fn a_time_is_taken_to_be_of_the_middle_of_the_way() {
        let clock = ClockComparison::of(ms(5_000), ms(3_000), ms(100)).unwrap();
        assert_eq!((clock.ahead_ns, clock.error), (1_950_000_000, ms(50)));
        let clock = ClockComparison::of(ms(1_000), ms(3_000), ms(0)).unwrap();
        assert_eq!((clock.ahead_ns, clock.error), (-2_000_000_000, ms(0)));
        assert_eq!(ClockComparison::of(Duration::MAX, ms(0), ms(0)), None);
    }
}
