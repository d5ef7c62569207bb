//! What a pool lends of: a bucket that fills, or a window in which is counted what was spent.
//!
//! Of a window what is lent counts as if it were spent this very instant: the level is what the window would still
//! admit, less all that is reserved. What a client spent is entered when it is told, and what nobody told of when its
//! term has ended, both later than it was. Leases of a fixed window end with it. Not here: the counting (`window`).

use std::sync::Arc;

use tollgate_limit::{Charge, Cost, Instant};
use tollgate_mode::planted;

use super::{ASKED_NS, Lend, Pool, PoolTerms};
use crate::amount::{TOKEN, after, mites, wait_ns};
use crate::share::{SharedDemand, SharingRule, mark};
use crate::window::{LeaseWindow, WindowClock, WindowCount};

impl Pool {
    /// The same pool, of a window. Only tokens are lent of it.
    #[must_use]
    pub(crate) fn counting(mut self, window: &LeaseWindow, clock: WindowClock) -> Self {
        let (limits, mut rules) = (window.limits(), self.terms.rules);
        rules.lend = Lend::Tokens;
        let terms = PoolTerms { limits, rules };
        if terms != *self.terms {
            self.terms = Arc::new(terms);
        }
        self.count = Some(Box::new(WindowCount::new(window.clone(), clock)));
        if let Some(until) = self.learns_until() {
            self = self.until(until);
        }
        if let Some(unknown) = self.unknown.as_mut() {
            (unknown.rate, unknown.depth) = (0, self.terms.limits.depth());
        }
        self.reckon(0);
        self
    }

    /// Hears what time it is for its window.
    pub(crate) fn tell_time(&mut self, clock: WindowClock) {
        if let Some(count) = self.count.as_mut() {
            count.clock = clock;
        }
    }

    /// The time of day was set.
    pub(crate) fn move_time(&mut self, from: Instant, to: Instant) {
        if let Some(count) = self.count.as_mut() {
            count.move_time(from, to);
        }
    }

    /// Counts by another window from here on.
    pub(crate) fn recount(&mut self, window: &LeaseWindow, terms: &Arc<PoolTerms>, now: Instant) {
        self.advance(now);
        if let Some(count) = self.count.as_mut() {
            count.change(window.clone(), self.level.at);
            self.change_to(Arc::clone(terms), now);
        }
    }

    /// Charges what a request that was decided here really cost.
    pub(crate) fn settle_receipt(&mut self, receipt: &Charge, actual: Cost, now: Instant) {
        self.advance(now);
        if let Some(count) = self.count.as_mut() {
            count.settle(receipt, actual, self.level.at);
            self.reckon(0);
        }
    }

    /// Bytes behind a window.
    pub(super) fn count_bytes(&self) -> usize {
        self.count.as_ref().map_or(0, |count| count.heap_bytes())
    }

    /// Works out what a window has that is neither spent nor reserved, nor held beside the books.
    pub(super) fn reckon(&mut self, held: i128) {
        if let Some(count) = self.count.as_ref() {
            let lent = self.busy.sums.depth + self.unknown().1 + held;
            self.level.tokens = mites(count.left(self.level.at)) - planted!("lease-24", lent, 0);
        }
    }

    /// Takes tokens for requests that are decided here.
    pub(super) fn pay(&mut self, tokens: u64) {
        self.level.tokens = self.level.tokens.saturating_sub(mites(tokens));
        if let Some(count) = self.count.as_mut() {
            count.take(tokens, self.level.at);
        }
    }

    /// Counts in a window what was lent and is spent, or may be. A bucket was charged when it was lent.
    pub(super) fn enter(&mut self, spent: i128, at: Instant) {
        if let Some(count) = self.count.as_mut() {
            count.enter(spent, at);
        }
    }

    /// Forgets what was spent.
    pub(super) fn forget(&mut self) {
        self.level.tokens = self.top();
        if let Some(count) = self.count.as_mut() {
            count.reset();
        }
    }

    /// How long until the pool has that level, if nobody speaks; `None` where it never has.
    pub(super) fn wait_ns(&self, level: i128) -> Option<u64> {
        let (rate, depth) = self.unknown();
        if let Some(count) = self.count.as_ref() {
            return count.wait_ns(level + self.busy.sums.depth + depth, self.level.at);
        }
        let missing = (level - self.level.tokens).max(0);
        wait_ns(
            &self.terms.limits,
            missing,
            self.busy.sums.rate + rate,
            self.level.part,
        )
    }

    /// For how long a lease is given now.
    pub(crate) fn term_ns(&self) -> u64 {
        let now = self.level.at;
        let end = after(now, self.terms.rules.term_ns);
        planted!("lease-26", self.cut(now, end), end).nanos_since(now)
    }

    /// When a lease that was given at `given` and lasts until `end` is over: a fixed window ends it.
    pub(super) fn cut(&self, given: Instant, end: Instant) -> Instant {
        let window = self.count.as_ref().and_then(|count| count.end(given));
        window.map_or(end, |window| window.min(end))
    }

    /// The most demand of one client that counts: all there is of a bucket's rate, or all of a window in a term.
    pub(super) fn want_max(&self) -> u64 {
        let usual = self.terms.limits.want();
        match self.count {
            None => usual,
            Some(_) => usual.max(self.terms.limits.want_in(self.terms.rules.term_ns)),
        }
    }

    /// What of some tokens can be lent: of a window whole ones, as long as it is worth it.
    pub(super) fn lendable(&self, tokens: i128) -> i128 {
        match self.count {
            None => tokens,
            Some(_) if self.term_ns() < TERM_MIN_NS => 0,
            Some(_) => tokens / TOKEN * TOKEN,
        }
    }

    /// What of the depth that is due is lent at a time. Of a window little: what is spent counts from when it is told,
    /// so that a window is longer by the time in which a lease is spent.
    pub(super) fn portion(&self, depth: i128) -> i128 {
        match self.count {
            None => depth,
            Some(_) => (depth / 8).max(mites(4).min(depth / 2)),
        }
    }

    /// Who shares, when someone with that demand is among them.
    pub(super) fn crowd(&self, want: u64) -> SharedDemand<'_> {
        let wanted = self.busy.sums.want.saturating_add(want);
        let mut crowd = SharedDemand {
            limits: &self.terms.limits,
            rules: &self.terms.rules,
            want: wanted,
            asked: self.asked.rate(self.level.at, ASKED_NS),
            mark: u64::MAX,
            wanted,
        };
        if self.terms.rules.share == SharingRule::Client && !crowd.is_calm() {
            let own = self.busy.records.values().map(|record| record.want);
            let mut wants: Vec<u64> = own.chain([want]).filter(|want| *want > 0).collect();
            crowd.mark = mark(
                &mut wants,
                self.terms.limits.want().saturating_sub(crowd.asked),
            );
            crowd.want = wants.iter().map(|want| (*want).min(crowd.mark)).sum();
        }
        crowd
    }
}

/// What ends so soon is over before a client has it.
const TERM_MIN_NS: u64 = 50_000_000;
