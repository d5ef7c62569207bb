//! Which part of every meter a thread writes: a place of its own, given back when the thread ends.
//!
//! The first place is everybody's: threads beyond the last place share it, and must add with care there.

use std::cell::Cell;

use parking_lot::Mutex;

/// Places for threads, the shared one among them.
pub(crate) const SLOTS: usize = 128;
/// The place that threads share when there is none left.
pub(super) const COMMON: usize = 0;

const NONE: usize = usize::MAX;

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(NONE) };
    static LEASE: Lease = Lease::take();
}

static FREE: Mutex<Free> = Mutex::new(Free {
    returned: Vec::new(),
    next: COMMON + 1,
});

/// Places that nobody has.
struct Free {
    returned: Vec<usize>,
    next: usize,
}

/// The place of the thread that asks.
#[inline]
pub(crate) fn mine() -> usize {
    match SLOT.get() {
        NONE => first(),
        slot => slot,
    }
}

#[cold]
fn first() -> usize {
    // A thread that ends may still count something; then it does so with everybody.
    let slot = LEASE.try_with(|lease| lease.0).unwrap_or(COMMON);
    SLOT.set(slot);
    slot
}

/// A place that is given back.
struct Lease(usize);

impl Lease {
    fn take() -> Self {
        let mut free = FREE.lock();
        if let Some(slot) = free.returned.pop() {
            return Self(slot);
        }
        if free.next == SLOTS {
            return Self(COMMON);
        }
        free.next += 1;
        Self(free.next - 1)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        SLOT.set(COMMON);
        if self.0 != COMMON {
            FREE.lock().returned.push(self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_live_at_once_have_different_places() {
        let barrier = std::sync::Barrier::new(20);
        let mut slots: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..20)
                .map(|_| {
                    scope.spawn(|| {
                        let slot = mine();
                        barrier.wait();
                        slot
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        slots.retain(|slot| *slot != COMMON);
        let all = slots.len();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), all);
    }
}
