//! The slot of a thread in every meter: its own, freed when the thread ends.
//!
//! The first slot is shared: threads beyond the last slot use it, and must add atomically there.

use std::cell::Cell;

use parking_lot::Mutex;

/// Slots for threads, including the shared one.
pub(crate) const SLOTS: usize = 128;
/// The slot that threads share when no other is free.
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

/// Free slots.
struct Free {
    returned: Vec<usize>,
    next: usize,
}

/// The slot of the current thread.
#[inline]
pub(crate) fn mine() -> usize {
    match SLOT.get() {
        NONE => first(),
        slot => slot,
    }
}

#[cold]
fn first() -> usize {
    // A thread that is ending may still count; then in the shared slot.
    let slot = LEASE.try_with(|lease| lease.0).unwrap_or(COMMON);
    SLOT.set(slot);
    slot
}

/// Freed when dropped.
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
