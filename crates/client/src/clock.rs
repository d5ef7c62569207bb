//! Where a limiter gets the time from: the machine, or a test.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_limit::{Instant, Span};

/// A source of time, in nanoseconds since the UNIX epoch.
///
/// It should not run backwards. Where it does, keys charged at a later time stay at that time: nothing is refilled
/// twice.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Instant;

    /// Lets `span` pass for a thread that may block.
    fn sleep_blocking(&self, span: Duration);

    /// Lets `span` pass for a task.
    #[cfg(feature = "tokio")]
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send;
}

/// The machine's time: the processor's counter, set by the wall clock once a second.
///
/// A wall clock that jumps forward is followed at once. One that jumps back is followed slowly, by at most a
/// thousandth, so that a correction never stops refills.
#[derive(Debug)]
pub struct SystemClock(Ticker);

impl SystemClock {
    /// A clock that agrees with the wall clock now.
    pub fn new() -> Self {
        Self(Ticker::new(wall_nanos, COMPARE_EVERY))
    }
}

/// The processor's counter, set by another clock now and then.
#[derive(Debug)]
pub(crate) struct Ticker {
    ticks: quanta::Clock,
    /// Nanoseconds in 2^56 ticks.
    rate: u64,
    /// The other clock's time less counter time, in nanoseconds, wrapping.
    offset: AtomicU64,
    /// Counter time of the next comparison with the other clock.
    compare_at: AtomicU64,
    /// The other clock, in nanoseconds.
    other: fn() -> u64,
    /// Nanoseconds between two comparisons.
    every: u64,
}

impl Ticker {
    /// A counter that agrees with the other clock now.
    pub(crate) fn new(other: fn() -> u64, every: u64) -> Self {
        let ticks = quanta::Clock::new();
        let clock = Self {
            rate: ticks.delta_as_nanos(0, 1 << RATE_BITS),
            ticks,
            offset: AtomicU64::new(0),
            compare_at: AtomicU64::new(0),
            other,
            every,
        };
        let counter = clock.counter();
        clock.offset.store(other().wrapping_sub(counter), Relaxed);
        clock
            .compare_at
            .store(counter.saturating_add(every), Relaxed);
        clock
    }

    /// The time now.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        let counter = self.counter();
        let due = self.compare_at.load(Relaxed);
        if counter >= due {
            self.compare(due);
        }
        Instant::from_nanos(counter.wrapping_add(self.offset.load(Relaxed)))
    }

    /// The counter in nanoseconds.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // Nanoseconds since the machine started.
    fn counter(&self) -> u64 {
        ((u128::from(self.ticks.raw()) * u128::from(self.rate)) >> RATE_BITS) as u64
    }

    /// Looks at the other clock, where nobody else is doing so.
    #[cold]
    fn compare(&self, due: u64) {
        let before = self.counter();
        let next = before.saturating_add(self.every);
        if self
            .compare_at
            .compare_exchange(due, next, Relaxed, Relaxed)
            .is_ok()
        {
            let wall = (self.other)();
            self.correct(Look {
                before,
                wall,
                after: self.counter(),
            });
        }
    }

    /// Corrects the offset by one look at the wall clock.
    ///
    /// A thread may lose the processor while it looks, so the wall clock is only known to have been read between the
    /// two readings of the counter; what fits in between is no error.
    fn correct(&self, look: Look) {
        let offset = self.offset.load(Relaxed);
        let behind = look.wall.saturating_sub(look.after.wrapping_add(offset));
        let ahead = look.before.wrapping_add(offset).saturating_sub(look.wall);
        let back = ahead.min(self.every / 1_000);
        self.offset
            .store(offset.wrapping_add(behind).wrapping_sub(back), Relaxed);
    }
}

/// One look at the wall clock, between two readings of the counter.
#[derive(Clone, Copy)]
struct Look {
    before: u64,
    wall: u64,
    after: u64,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep_blocking(&self, span: Duration) {
        std::thread::sleep(span);
    }

    #[cfg(feature = "tokio")]
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(span)
    }
}

/// A clock that stands still until it is told to move. Sleeping moves it.
#[derive(Debug, Default)]
pub struct FakeClock(AtomicU64);

impl FakeClock {
    /// A clock that stands at `now`.
    pub const fn at(now: Instant) -> Self {
        Self(AtomicU64::new(now.as_nanos()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Duration) {
        let moved = |now| {
            Some(
                Instant::from_nanos(now)
                    .saturating_add(Span::from(span))
                    .as_nanos(),
            )
        };
        // The closure never declines, so the update never fails.
        let _ = self.0.fetch_update(Relaxed, Relaxed, moved);
    }

    /// Sets the clock, backwards too.
    pub fn set(&self, now: Instant) {
        self.0.store(now.as_nanos(), Relaxed);
    }
}

impl Clock for FakeClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Relaxed))
    }

    fn sleep_blocking(&self, span: Duration) {
        self.advance(span);
    }

    #[cfg(feature = "tokio")]
    async fn sleep(&self, span: Duration) {
        self.advance(span);
    }
}

impl<C: Clock> Clock for std::sync::Arc<C> {
    #[inline]
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn sleep_blocking(&self, span: Duration) {
        (**self).sleep_blocking(span);
    }

    #[cfg(feature = "tokio")]
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send {
        (**self).sleep(span)
    }
}

/// Wall time in nanoseconds since the epoch; the epoch itself for clocks set before it.
fn wall_nanos() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Ticks of which the clock knows the nanoseconds, as a power of two: exact for counters above 4 MHz.
const RATE_BITS: u32 = 56;
/// Nanoseconds between two looks at the wall clock.
const COMPARE_EVERY: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_keeps_to_the_wall_clock() {
        let clock = SystemClock::new();
        let ahead = i128::from(clock.now().as_nanos()) - i128::from(wall_nanos());
        assert!(ahead.abs() < 1_000_000_000, "{ahead} ns apart");
    }

    /// A clock whose counter stands at zero and whose offset is `offset`, after one look.
    fn offset_after(offset: u64, look: Look) -> u64 {
        let SystemClock(clock) = SystemClock::new();
        clock.offset.store(offset, Relaxed);
        clock.correct(look);
        clock.offset.load(Relaxed)
    }

    #[test]
    fn a_clock_that_is_ahead_gives_way_by_a_thousandth() {
        let look = Look {
            before: 0,
            wall: 10_000_000_000,
            after: 50,
        };
        assert_eq!(
            offset_after(15_000_000_000, look),
            15_000_000_000 - 1_000_000
        );
        assert_eq!(offset_after(10_000_000_007, look), 10_000_000_000);
    }

    #[test]
    fn a_clock_that_is_behind_catches_up_at_once() {
        let look = Look {
            before: 0,
            wall: 3_600_000_000_000,
            after: 50,
        };
        assert_eq!(offset_after(0, look), 3_600_000_000_000 - 50);
    }

    #[test]
    fn a_thread_that_was_held_up_while_looking_corrects_nothing() {
        let look = Look {
            before: 0,
            wall: 1_000_050_000,
            after: 100_000,
        };
        assert_eq!(offset_after(1_000_000_000, look), 1_000_000_000);
    }

    #[test]
    fn only_one_thread_looks_when_a_look_is_due() {
        let SystemClock(clock) = SystemClock::new();
        clock.compare_at.store(0, Relaxed);
        clock.offset.fetch_sub(3_600_000_000_000, Relaxed);
        let before = clock.now();
        let due = clock.compare_at.load(Relaxed);
        assert!(due > 0, "the next look is planned");
        clock.compare(0);
        assert_eq!(
            clock.compare_at.load(Relaxed),
            due,
            "a look that was due before is done"
        );
        assert!(i128::from(wall_nanos()) - i128::from(before.as_nanos()) < 1_000_000_000);
    }

    #[test]
    fn threads_that_sleep_on_one_fake_clock_all_move_it() {
        let clock = FakeClock::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| clock.advance(Duration::from_nanos(3))));
            }
        });
        assert_eq!(clock.now(), Instant::from_nanos(12_000));
    }

    #[test]
    fn sleeping_on_a_fake_clock_moves_it() {
        let clock = FakeClock::at(Instant::from_nanos(5));
        clock.sleep_blocking(Duration::from_nanos(7));
        assert_eq!(clock.now(), Instant::from_nanos(12));
    }
}
