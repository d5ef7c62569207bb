//! The time of day for limiters: the machine's, or a test's.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tollgate_limit::{Instant, Span};

use crate::course::{ClockReading, ClockStanding, Course};

/// A source of time, in nanoseconds since the UNIX epoch.
///
/// It should not run backwards. If it does, keys charged at a later time stay at that time: nothing is refilled twice.
pub trait Clock: Send + Sync {
    fn now(&self) -> Instant;

    /// The same where nothing else has to be done to know it: for those who have something to do instead of that.
    #[inline]
    fn at_once(&self) -> Option<Instant> {
        Some(self.now())
    }

    /// Lets `span` pass for a thread that may block.
    fn sleep_blocking(&self, span: Duration);

    /// Lets `span` pass for a task.
    #[cfg(feature = "tokio")]
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send;
}

/// The machine's time: the processor's counter, set by the clock that never jumps, and by the wall clock once a second.
///
/// A wall clock that is steered forward is followed at once, one that is steered back by at most a thousandth, so that
/// a correction never stops refills. One that is *set* takes a step, which is not followed: it may be wrong, and a
/// clock that goes forty days ahead and back would fill every bucket. Time then goes on as before, until the wall clock
/// comes back or [`Self::follow`] is called. A machine that slept has not stepped.
#[derive(Debug)]
pub struct SystemClock {
    steady: Ticker,
    /// What is added to the counter, wrapping: the sum of what the steady clock and the course add.
    ahead: AtomicU64,
    /// Counter time from which somebody has to look at another clock first.
    until: AtomicU64,
    watch: Mutex<Watch>,
}

/// How the wall clock is followed.
#[derive(Debug)]
struct Watch {
    course: Course,
    /// Steady time of the next look.
    look_at: u64,
}

impl SystemClock {
    /// Agrees with the wall clock now.
    pub fn new() -> Self {
        let steady = Ticker::new(since_boot, LOOK_EVERY);
        let watch = Watch {
            course: Course::new(look(&steady)),
            look_at: steady.nanos().saturating_add(LOOK_EVERY),
        };
        let clock = Self {
            steady,
            ahead: AtomicU64::new(0),
            until: AtomicU64::new(0),
            watch: Mutex::new(watch),
        };
        clock.publish(&clock.watch.lock());
        clock
    }

    /// How it differs from the wall clock, which is read if that is due.
    pub fn standing(&self) -> ClockStanding {
        let mut watch = self.watch.lock();
        let steady = self.steady.nanos();
        if steady >= watch.look_at {
            self.look(&mut watch);
        }
        watch.course.standing(steady)
    }

    /// Follows the step at once, forward or back. Returns by how many nanoseconds.
    ///
    /// What was charged before keeps its time, so the caller moves that as well, or accepts that buckets fill by a step
    /// ahead, and do not fill for as long as a step back. `Node::move_time` moves a node's.
    pub fn follow(&self) -> i64 {
        let mut watch = self.watch.lock();
        let by = watch.course.follow();
        self.publish(&watch);
        by
    }

    /// The time now, once other clocks were looked at that are to be. Nobody waits for who does that already.
    #[cold]
    #[inline(never)]
    fn catch_up(&self) -> Instant {
        if let Some(mut watch) = self.watch.try_lock() {
            if self.steady.nanos() >= watch.look_at {
                self.look(&mut watch);
            }
            self.publish(&watch);
        }
        let ahead = self.ahead.load(Relaxed);
        Instant::from_nanos(self.steady.counter().wrapping_add(ahead))
    }

    /// Looks at the wall clock.
    fn look(&self, watch: &mut Watch) {
        let look = look(&self.steady);
        watch.course.look(look);
        watch.look_at = look.after.saturating_add(LOOK_EVERY);
        self.publish(watch);
    }

    /// Lets others know what to add to the counter, and until when.
    fn publish(&self, watch: &Watch) {
        let offset = self.steady.offset.load(Relaxed);
        let look_at = watch.look_at.wrapping_sub(offset);
        let compare_at = self.steady.compare_at.load(Relaxed);
        let ahead = offset.wrapping_add(watch.course.lead());
        self.ahead.store(ahead, Relaxed);
        self.until.store(compare_at.min(look_at), Relaxed);
    }
}

/// Reads the wall clock. The thread may lose the processor meanwhile.
fn look(steady: &Ticker) -> ClockReading {
    ClockReading {
        before: steady.nanos(),
        wall: wall_nanos(),
        after: steady.nanos(),
    }
}

/// The processor's counter, set by another clock periodically.
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
    /// Agrees with the other clock now.
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

    /// The other clock's time now, in nanoseconds.
    #[inline]
    pub(crate) fn nanos(&self) -> u64 {
        let counter = self.counter();
        let due = self.compare_at.load(Relaxed);
        if counter >= due {
            self.compare(due);
        }
        counter.wrapping_add(self.offset.load(Relaxed))
    }

    /// The counter in nanoseconds.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // Nanoseconds since the machine started.
    #[allow(clippy::inline_always)] // A part of every decision.
    fn counter(&self) -> u64 {
        ((u128::from(self.ticks.raw()) * u128::from(self.rate)) >> RATE_BITS) as u64
    }

    /// Reads the other clock, unless another thread is doing so.
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
            self.correct(ClockReading {
                before,
                wall,
                after: self.counter(),
            });
        }
    }

    /// Corrects the offset by one reading of the other clock: ahead at once, back by a thousandth.
    ///
    /// The thread may lose the processor meanwhile, so the other clock is only known to have been read between the two
    /// readings of the counter; a difference within them is no error.
    fn correct(&self, look: ClockReading) {
        let offset = self.offset.load(Relaxed);
        let behind = look.wall.saturating_sub(look.after.wrapping_add(offset));
        let ahead = look.before.wrapping_add(offset).saturating_sub(look.wall);
        let back = ahead.min(self.every / 1_000);
        self.offset
            .store(offset.wrapping_add(behind).wrapping_sub(back), Relaxed);
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Instant {
        self.at_once().unwrap_or_else(|| self.catch_up())
    }

    /// `None` too after the year 2262, which spares a look at whether the sum is an instant.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A part of every decision.
    fn at_once(&self) -> Option<Instant> {
        let counter = self.steady.counter();
        if counter >= self.until.load(Relaxed) {
            return None;
        }
        let nanos = counter.wrapping_add(self.ahead.load(Relaxed));
        (nanos.cast_signed() >= 0).then(|| Instant::from_nanos(nanos))
    }

    fn sleep_blocking(&self, span: Duration) {
        std::thread::sleep(span);
    }

    #[cfg(feature = "tokio")]
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(span)
    }
}

/// A clock that stands still until it is moved. Sleeping moves it.
#[derive(Debug, Default)]
pub struct FakeClock(AtomicU64);

impl FakeClock {
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

    #[inline]
    fn at_once(&self) -> Option<Instant> {
        (**self).at_once()
    }

    fn sleep_blocking(&self, span: Duration) {
        (**self).sleep_blocking(span);
    }

    #[cfg(feature = "tokio")]
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send {
        (**self).sleep(span)
    }
}

/// The epoch itself for clocks set before it.
fn wall_nanos() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The time since the machine was started, its sleep included, in nanoseconds.
pub(crate) fn since_boot() -> u64 {
    #[cfg(target_os = "linux")]
    let time = clock_gettime(ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// Ticks of which the clock knows the nanoseconds, as a power of two: exact for counters above 4 MHz.
const RATE_BITS: u32 = 56;
/// Nanoseconds between two readings of the wall clock, and of the clock that never jumps.
const LOOK_EVERY: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_keeps_to_the_wall_clock() {
        let clock = SystemClock::new();
        let ahead = i128::from(clock.now().as_nanos()) - i128::from(wall_nanos());
        assert!(ahead.abs() < 1_000_000_000, "{ahead} ns apart");
    }

    #[test]
    fn only_one_thread_compares_when_that_is_due() {
        let clock = Ticker::new(since_boot, LOOK_EVERY);
        clock.compare_at.store(0, Relaxed);
        // As far behind as a machine that started a moment ago can be.
        clock.offset.fetch_sub(since_boot() / 2, Relaxed);
        let before = clock.nanos();
        let due = clock.compare_at.load(Relaxed);
        assert!(due > 0, "the next comparison is planned");
        clock.compare(0);
        assert_eq!(
            clock.compare_at.load(Relaxed),
            due,
            "a comparison that was due before is done"
        );
        assert!(since_boot().abs_diff(before) < 1_000_000_000);
    }

    #[test]
    fn a_step_is_told_and_followed_when_it_is_told_to() {
        let clock = SystemClock::new();
        let hour = 3_600_000_000_000;
        // As if the wall clock had been an hour behind so far.
        clock.watch.lock().course = Course::new(ClockReading {
            before: clock.steady.nanos(),
            wall: wall_nanos() - hour,
            after: clock.steady.nanos(),
        });
        clock.look(&mut clock.watch.lock());
        let now = clock.now().as_nanos();
        assert!(
            wall_nanos() - now > hour - 1_000_000_000,
            "it is not followed"
        );
        let step = clock.standing().step.unwrap();
        assert!(step.by_ns.abs_diff(hour.cast_signed()) < 1_000_000_000);
        clock.follow();
        assert!(wall_nanos().abs_diff(clock.now().as_nanos()) < 1_000_000_000);
        assert_eq!(clock.standing().step, None);
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
