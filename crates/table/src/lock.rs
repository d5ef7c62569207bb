//! A lock that a hot key does not bring down.
//!
//! It is held for some ten nanoseconds and let go by a plain store, which is why it is a spin lock: one that can sleep
//! needs a second atomic exchange to let go, a third of the price of a decision. Who finds it taken pauses, twice as
//! long each time, before looking again; meanwhile the holder keeps the cache line and gets many short operations done,
//! so two threads on one key do about as much as one. A holder that lost its processor is not spun for: after some
//! microseconds a waiter gives its own processor away between two looks.
//!
//! Not here: fairness, and poisoning. A panic in a caller's closure leaves a cell as the closure left it, and pages are
//! never touched while a closure runs.

use std::hint::spin_loop;
use std::thread::yield_now;

use spin::mutex::{SpinMutex, SpinMutexGuard};

/// A lock that shares a cache line with what it guards: of a page, no more than half a line.
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Lock<T>(SpinMutex<T>);

/// The right to use what a lock guards.
pub(crate) type Guard<'a, T> = SpinMutexGuard<'a, T>;

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(SpinMutex::new(value))
    }

    /// Waits for the value.
    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.lock_contended(),
        }
    }

    /// The value if nobody else holds it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock()
    }

    #[cold]
    fn lock_contended(&self) -> Guard<'_, T> {
        for round in 0_u32.. {
            for _ in 0..1_u32 << (ROUND_FIRST + round).min(ROUND_LONGEST) {
                spin_loop();
            }
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            if round >= ROUNDS {
                yield_now();
            }
        }
        self.0.lock()
    }
}

/// How often a waiter looks before it gives its processor away.
const ROUNDS: u32 = 8;
/// The first pause, as a power of two of spins: long enough for the holder to do some more while it has the line.
const ROUND_FIRST: u32 = 6;
/// The longest pause between two looks, as a power of two of spins.
const ROUND_LONGEST: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_of_the_holder_does_not_lock_others_out() {
        let lock = Lock::new(1);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.lock();
            panic!("as a caller may");
        }));
        assert!(result.is_err());
        assert_eq!(*lock.lock(), 1);
    }

    #[test]
    fn a_taken_lock_is_not_waited_for_when_only_tried() {
        let lock = Lock::new(());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}
