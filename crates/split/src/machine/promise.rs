//! Messages that are told at once when they may go, and then go without asking again.
//!
//! A promise counts on what comes back here and on nothing else, so that nobody can break it. Tokens that are borrowed later cannot
//! hasten a message that was told its time; they let those go at once that come after it. A machine either promises or
//! tells of departures, and one that promises has no adaptor: a rate that was promised cannot be taken away. It may hire some. Not
//! here: how long is too long.

use tollgate_limit::{Instant, Span};

use super::Machine;

impl Machine {
    /// When a message of that cost that comes now may go; `None` where it never may.
    pub fn foresee(&mut self, cost: u64, now: Instant) -> Option<Instant> {
        self.catch_up(now);
        let is_fit = (1..=u64::from(self.config.cost_max)).contains(&cost);
        let grains = is_fit.then(|| self.limits.messages(cost))?;
        self.bucket.promise(grains)
    }

    /// A message came, and goes at the time that is returned; `None` where it never may.
    pub fn take(&mut self, cost: u64, now: Instant) -> Option<Instant> {
        let Some(goes) = self.foresee(cost, now) else {
            self.counts.refused += cost;
            return None;
        };
        self.bucket.promised(self.limits.messages(cost), goes);
        self.counts.arrived += cost;
        let waits = goes > self.now;
        self.counts.waited += if waits { cost } else { 0 };
        self.asked_for(cost, !waits);
        self.ask(self.now);
        Some(goes)
    }

    /// Nothing could be promised in time: others may have more.
    pub fn miss(&mut self, now: Instant) {
        self.catch_up(now);
        self.asked_for(1, false);
        self.ask(self.now);
    }

    /// Messages have gone without asking. What they cost beyond `debt_max` messages of debt is forgotten.
    pub fn charge(&mut self, cost: u64, debt_max: Option<u64>, now: Instant) {
        self.catch_up(now);
        let most = debt_max.unwrap_or(DEBT_MAX).min(DEBT_MAX);
        let free = self.limits.messages(most);
        let free = free.saturating_sub(self.bucket.owed());
        let cost = self.limits.messages(cost);
        let cost = cost.min(free.saturating_add(self.bucket.tokens()));
        if let Some(paid) = self.bucket.promise(cost) {
            self.bucket.promised(cost, paid);
        }
        self.ask(self.now);
    }

    /// Messages that were admitted do not go.
    pub fn refund(&mut self, cost: u64, now: Instant) {
        self.catch_up(now);
        self.bucket.refund(self.limits.messages(cost));
    }

    /// Forgets everything that this node counted.
    pub fn reset(&mut self, now: Instant) {
        self.catch_up(now);
        self.bucket.reset();
    }

    /// Whether it is as if no message had ever come, and nobody waits for anything from here.
    pub fn is_fresh(&mut self, now: Instant) -> bool {
        self.catch_up(now);
        let is_idle = self.queued() == 0 && !self.asks.is_open() && self.bucket.reserved() == 0;
        let has_all = self.bucket.missing() == 0 && self.hires.is_idle();
        is_idle && self.holds.len() == 0 && has_all
    }

    /// How long until it is full again, if nothing comes.
    pub fn full_after(&mut self, now: Instant) -> Span {
        self.catch_up(now);
        let missing = self.bucket.missing().saturating_add(self.bucket.owed());
        self.bucket.takes(missing)
    }

    /// Everything up to now has happened.
    fn catch_up(&mut self, now: Instant) {
        let now = self.clock(now);
        self.run(now);
        self.bucket.pass(now);
    }
}

/// Messages that may be owed.
const DEBT_MAX: u64 = 1 << 20;
