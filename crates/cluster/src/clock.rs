//! Time that never goes back, made from a monotonic clock that may still step back, and how far the time of day is
//! ahead of it.
//!
//! Timers and gaps are measured in it, so that setting a clock back stops nothing. Not here: reading a clock.

use tollgate_limit::{Instant, Span};

/// The last reading, the nanoseconds since the start, and the offset of the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterClock {
    now: Instant,
    mono: u64,
    ahead: i64,
}

impl ClusterClock {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            now,
            mono: 0,
            ahead: 0,
        }
    }

    /// A step back counts as no time at all.
    pub(crate) const fn set(&mut self, now: Instant) {
        self.mono = self.mono.saturating_add(now.nanos_since(self.now));
        self.now = now;
    }

    pub(crate) const fn set_day(&mut self, day: Instant, now: Instant) {
        self.set(now);
        self.ahead = day.as_nanos().wrapping_sub(now.as_nanos()).cast_signed();
    }

    pub(crate) const fn mono(&self) -> u64 {
        self.mono
    }

    /// Nanoseconds from the start to `now`.
    pub(crate) const fn mono_at(&self, now: Instant) -> u64 {
        self.mono.saturating_add(now.nanos_since(self.now))
    }

    /// The time of day, in milliseconds since the epoch.
    pub(crate) fn day_ms(&self) -> u64 {
        self.day_ms_at(self.mono)
    }

    /// The same at `mono` nanoseconds after the start.
    pub(crate) fn day_ms_at(&self, mono: u64) -> u64 {
        let at = self.at(mono).as_nanos();
        at.wrapping_add_signed(self.ahead) / 1_000_000
    }

    /// The reading of the clock at `mono` nanoseconds after the start.
    pub(crate) fn at(&self, mono: u64) -> Instant {
        if mono >= self.mono {
            return self
                .now
                .saturating_add(Span::from_nanos(u128::from(mono - self.mono)));
        }
        Instant::from_nanos(self.now.as_nanos().saturating_sub(self.mono - mono))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on() {
        let at = Instant::from_nanos;
        let mut clock = ClusterClock::new(at(1000));
        clock.set(at(1500));
        assert_eq!(clock.mono(), 500);
        clock.set(at(100));
        assert_eq!(clock.mono(), 500);
        assert_eq!(clock.at(700), at(300));
        clock.set(at(300));
        assert_eq!(clock.mono(), 700);
        assert_eq!(clock.at(600), at(200));
        assert_eq!(clock.mono_at(at(400)), 800);
    }

    #[test]
    fn a_time_of_day_that_is_set_passes_no_time() {
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        let mut clock = ClusterClock::new(at(5_000));
        clock.set_day(at(5_000), at(10));
        assert_eq!((clock.mono(), clock.day_ms()), (0, 5_000_000));
        for day in [9_000, 3_000] {
            clock.set_day(at(day), at(11));
            assert_eq!((clock.mono(), clock.day_ms()), (1_000_000_000, day * 1_000));
        }
    }
}
