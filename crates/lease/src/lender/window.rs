//! What a grantor of a window needs beside that of a bucket: the time of day, other windows, receipts.
//!
//! Not here: the counting (`window`), and what is lent (`pool`).

use tollgate_limit::{Charge, Cost, Instant};

use super::Lender;
use crate::ModeKey;
use crate::pool::Pool;
use crate::window::{LeaseWindow, WindowClock};

impl Lender {
    /// Whether keys are counted by a window, so that it must know the time of day.
    pub const fn has_window(&self) -> bool {
        self.setup.window.is_some()
    }

    /// Hears that `now` it is `day` by the clock, read right after; whoever asks next does so at `asked`.
    ///
    /// Call it before every other call. Terms do not depend on it, so that a clock that is set ends no lease; windows
    /// do.
    pub fn tell_time(&mut self, now: Instant, day: Instant, asked: Instant) {
        self.clock = WindowClock {
            ahead: i128::from(day.as_nanos()) - i128::from(now.as_nanos()),
            asked: Some(asked),
        };
    }

    /// Hears that the time of day was set: what a window has used up by `from` it has used up at `to`. Terms do not
    /// depend on it.
    pub fn move_time(&mut self, from: Instant, to: Instant) {
        self.pools.each_mut(|_, pool| pool.move_time(from, to));
    }

    /// Counts by another window from here on. What is lent stays lent.
    pub fn recount(&mut self, window: &LeaseWindow, now: Instant) {
        let is_same = self.setup.window.as_ref().is_none_or(|was| was.is(window));
        if is_same {
            return;
        }
        self.setup.limits = window.limits();
        self.setup.window = Some(window.clone());
        self.terms = self.setup.terms();
        let clock = self.truly();
        for key in self.pools.keys() {
            if let Some(pool) = self.pools.get_mut(key) {
                pool.tell_time(clock);
                pool.recount(window, &self.terms, now);
            }
            self.drain(key);
        }
    }

    /// Charges what a request of a key that was decided here really cost.
    pub fn settle(&mut self, key: ModeKey, receipt: &Charge, actual: Cost, now: Instant) {
        self.look(now);
        if let Some(pool) = self.known(key) {
            pool.settle_receipt(receipt, actual, now);
        }
    }

    /// The pool of a key that is kept, as whoever asks finds it.
    pub(super) fn known(&mut self, key: ModeKey) -> Option<&mut Pool> {
        let pool = self.pools.get_mut(key)?;
        pool.tell_time(self.clock);
        Some(pool)
    }

    /// The pool of a key for a client that speaks: what it tells has been by now, whenever whoever asks began to.
    pub(super) fn lending(&mut self, key: ModeKey, now: Instant) -> &mut Pool {
        let clock = self.truly();
        let pool = self.pool(key, now);
        pool.tell_time(clock);
        pool
    }

    pub(super) fn truly(&self) -> WindowClock {
        WindowClock {
            asked: None,
            ..self.clock
        }
    }
}
