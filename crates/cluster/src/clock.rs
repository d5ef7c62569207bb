//! Time that never goes back, made of wall time that may.
//!
//! Timers and gaps are measured in it, so that a clock that is set back stops nothing. Not here: reading a clock.

use tollgate_limit::{Instant, Span};

/// Wall time as it was told last, and the nanoseconds that passed since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    wall: Instant,
    mono: u64,
}

impl Clock {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { wall: now, mono: 0 }
    }

    /// Takes the time; a step back counts as no time at all.
    pub(crate) const fn set(&mut self, now: Instant) {
        self.mono = self.mono.saturating_add(now.nanos_since(self.wall));
        self.wall = now;
    }

    /// Nanoseconds since the start.
    pub(crate) const fn mono(&self) -> u64 {
        self.mono
    }

    /// What the nanoseconds since the start will be at that time.
    pub(crate) const fn mono_at(&self, now: Instant) -> u64 {
        self.mono.saturating_add(now.nanos_since(self.wall))
    }

    /// Milliseconds since the epoch.
    pub(crate) const fn wall_ms(&self) -> u64 {
        self.wall.as_nanos() / 1_000_000
    }

    /// What the wall shows that many nanoseconds after the start.
    pub(crate) fn wall_at(&self, mono: u64) -> Instant {
        if mono >= self.mono {
            return self
                .wall
                .saturating_add(Span::from_nanos(u128::from(mono - self.mono)));
        }
        Instant::from_nanos(self.wall.as_nanos().saturating_sub(self.mono - mono))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on() {
        let at = Instant::from_nanos;
        let mut clock = Clock::new(at(1000));
        clock.set(at(1500));
        assert_eq!(clock.mono(), 500);
        clock.set(at(100));
        assert_eq!(clock.mono(), 500);
        assert_eq!(clock.wall_at(700), at(300));
        clock.set(at(300));
        assert_eq!(clock.mono(), 700);
        assert_eq!(clock.wall_at(600), at(200));
        assert_eq!(clock.mono_at(at(400)), 800);
    }
}
