//! Messages that are told at once when they may go, and then go without asking again.
//!
//! A promise counts on what comes back here and on nothing else, so that nobody can break it. Tokens that are borrowed
//! later cannot hasten a message that was told its time; they let those go at once that come after it. A machine either
//! promises or tells of departures, and one that promises has no adaptor: a rate that was promised cannot be taken
//! away. It may hire some. Not here: how long is too long.

use tollgate_limit::{Instant, Span};

use super::SplitMachine;
use super::hire::MILLI_PER_NANO;
use crate::limits::TopicLimits;
use crate::topics::Resumed;

/// A machine that nothing happened to.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) limits: TopicLimits,
    pub(crate) cost_max: u64,
    pub(crate) depth: u128,
    pub(crate) refill: u128,
    /// Below that it asks for tokens.
    pub(crate) low: u128,
    /// From when on it fills; it is empty before.
    pub(crate) from: Instant,
}

impl SplitMachine {
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

    /// What was charged beyond what there was and has yet to come back.
    pub fn owed(&mut self, now: Instant) -> u128 {
        self.catch_up(now);
        self.bucket.owed()
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

    /// The tokens of a machine of which there is nothing else to know: nobody waits here or for anything from here.
    pub(crate) fn rests(&mut self, now: Instant) -> Option<u128> {
        self.catch_up(now);
        let is_idle = self.queued() == 0 && !self.asks.is_open() && self.bucket.reserved() == 0;
        let owes = self.holds.len() > 0 || self.bucket.held() > 0;
        let is_whole = self.hires.is_idle() && self.hires.tick_at.is_none();
        let rests = is_idle && !owes && is_whole && !self.follow.is_on();
        rests.then(|| self.bucket.tokens())
    }

    /// Goes on as a machine that rested, with those tokens.
    pub(crate) fn resume(&mut self, from: &Resumed, now: Instant) {
        self.catch_up(now);
        let tokens = self.bucket.tokens();
        let _ = self.bucket.take(tokens.saturating_sub(from.tokens));
        // Some came back before it was full for the first time.
        self.bucket.put(from.tokens.saturating_sub(tokens));
        if from.asked > 0 {
            self.asked_for(from.asked, true);
            self.hires.pace.begin(from.since);
        }
    }

    /// What a machine that nothing happened to rests at, and from when on.
    pub(crate) fn at_rest(&mut self) -> Rest {
        let start = self.now;
        self.catch_up(start);
        let ends = self.next_end().into_iter().chain([self.bucket.dry()]);
        let from = ends.fold(start, Instant::max);
        let (cost_max, low) = (u64::from(self.config.cost_max), self.low());
        self.catch_up(from);
        Rest {
            limits: self.limits,
            cost_max,
            depth: self.bucket.room(),
            refill: self.bucket.refill(),
            low,
            from,
        }
    }

    /// Messages that came in the time before now.
    pub(crate) fn asked_lately(&mut self, nanos: u64) -> u64 {
        let milli = u128::from(self.demand());
        let messages = milli * u128::from(nanos) / MILLI_PER_NANO;
        u64::try_from(messages).unwrap_or(u64::MAX)
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
