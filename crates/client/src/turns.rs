//! Places of those who wait, and what becomes of a wait that is given up.
//!
//! Not here: how long to wait (`wait`), nor an order among those who do.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use tollgate_kit::{GOLDEN, scramble};
#[cfg(feature = "tower")]
use tollgate_limit::Verdict;
use tollgate_node::Answer;
#[cfg(feature = "tower")]
use tollgate_node::Receipt;

use crate::limiter::Limiter;
use tollgate_clock::Clock;

/// How many wait for a limiter, and the draws that spread them out.
///
/// On a cache line of its own, so that waiting does not slow down those who need not.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Turns {
    waiting: AtomicUsize,
    draws: AtomicU64,
}

impl Turns {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            draws: AtomicU64::new(seed),
        }
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// A number from 0 to `most`, each about as likely (splitmix64).
    pub(crate) fn draw(&self, most: u64) -> u64 {
        let mixed = scramble(self.draws.fetch_add(GOLDEN, Relaxed));
        most.checked_add(1).map_or(mixed, |below| mixed % below)
    }
}

/// One of the places that may be taken at once; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct WaiterSlot(Arc<Turns>);

impl WaiterSlot {
    /// A place, where fewer than `most` are taken.
    pub(crate) fn take(turns: &Arc<Turns>, most: usize) -> Option<Self> {
        let one_more = |taken: usize| (taken < most).then_some(taken + 1);
        let taken = turns.waiting.fetch_update(Relaxed, Relaxed, one_more);
        taken.ok().map(|_| Self(Arc::clone(turns)))
    }
}

impl Drop for WaiterSlot {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

/// An admitted request that still has to wait. Dropped before its time, it gives its charge back.
#[derive(Debug)]
pub(crate) struct WaitingRequest<L, C>
where
    L: Deref<Target = Limiter<C>>,
    C: Clock,
{
    limiter: L,
    answer: Answer,
    clock: PhantomData<fn() -> C>,
}

impl<L, C> WaitingRequest<L, C>
where
    L: Deref<Target = Limiter<C>>,
    C: Clock,
{
    pub(crate) const fn new(limiter: L, answer: Answer) -> Self {
        Self {
            limiter,
            answer,
            clock: PhantomData,
        }
    }

    /// The limiter that admitted it.
    #[cfg(feature = "tower")]
    pub(crate) fn limiter(&self) -> &Limiter<C> {
        &self.limiter
    }

    /// The charge is given back, and the answer is a denial for as long as the wait would have been.
    #[cfg(feature = "tower")]
    pub(crate) fn give_back(self) -> Answer {
        let verdict = Verdict::Deny {
            retry_after: self.answer.verdict.wait(),
        };
        Answer {
            verdict,
            receipt: uncharged(self.answer.receipt.clone()),
            ..self.answer.clone()
        }
    }

    /// The wait is over: the charge stands.
    pub(crate) fn keep(mut self) -> Answer {
        // Without the receipt there is nothing to give back.
        let receipt = std::mem::take(&mut self.answer.receipt);
        Answer {
            receipt,
            ..self.answer.clone()
        }
    }
}

impl<L, C> Drop for WaitingRequest<L, C>
where
    L: Deref<Target = Limiter<C>>,
    C: Clock,
{
    fn drop(&mut self) {
        self.limiter.settle(&self.answer.receipt, 0);
    }
}

/// The receipt of a request that was refused by the same contracts.
#[cfg(feature = "tower")]
fn uncharged(mut receipt: Receipt) -> Receipt {
    for booking in receipt.bookings_mut() {
        booking.receipt.charged = 0;
    }
    receipt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_within_bounds_and_differ() {
        let turns = Turns::new(7);
        let draws: Vec<u64> = (0..1_000).map(|_| turns.draw(99)).collect();
        assert!(draws.iter().all(|draw| *draw <= 99));
        for tenth in 0..10 {
            let count = draws.iter().filter(|draw| **draw / 10 == tenth).count();
            assert!((50..200).contains(&count), "{count} draws in tenth {tenth}");
        }
        assert_eq!(turns.draw(0), 0);
        assert_ne!(turns.draw(u64::MAX), turns.draw(u64::MAX));
    }

    #[test]
    fn places_are_given_back_when_they_are_dropped() {
        let turns = Arc::new(Turns::new(0));
        let first = WaiterSlot::take(&turns, 1);
        assert!(first.is_some());
        assert!(WaiterSlot::take(&turns, 1).is_none());
        assert_eq!(turns.waiting(), 1);
        drop(first);
        assert_eq!(turns.waiting(), 0);
        assert!(WaiterSlot::take(&turns, 1).is_some());
    }

    #[test]
    fn nobody_waits_where_nobody_may() {
        assert!(WaiterSlot::take(&Arc::new(Turns::new(0)), 0).is_none());
    }
}
