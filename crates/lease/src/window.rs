//! What a pool counts where it has a window or a log instead of a bucket: what was spent, by the time of day.
//!
//! The counting itself is `tollgate-limit`'s. Terms go by a clock that never steps, windows by the time of day, so that
//! a window knows how far one is ahead of the other. Not here: what is lent, which the pool's books have and no window.

use std::sync::Arc;

use tollgate_limit::{Cell, Charge, Cost, Instant, Lot, Outcome, Policy, PolicySet, Span, Verdict};

use crate::amount::{Limits, TOKEN};

/// A policy that counts by a window or a log.
#[derive(Clone, Debug)]
pub struct LeaseWindow {
    set: Arc<PolicySet>,
    limits: Limits,
}

impl LeaseWindow {
    /// What a policy counts by; `None` where that is a bucket.
    pub fn new(policy: &Policy) -> Option<Self> {
        let config = policy.config();
        if config.algorithm.is_bucket() {
            return None;
        }
        let limits = Limits::new(config.limit, config.period.nanos(), config.limit);
        Some(Self {
            set: Arc::new(PolicySet::new(vec![policy.clone()]).ok()?),
            limits: limits.ok()?,
        })
    }

    /// Its limit, which is its burst too, and its period.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether the other counts alike.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.set.policies() == other.set.policies()
    }
}

/// What time it is for a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowClock {
    /// How many nanoseconds the time of day is ahead of the time on which terms are counted.
    pub(crate) ahead: i128,
    /// The time of day for whoever asks: what is decided for it is counted then.
    pub(crate) asked: Option<Instant>,
}

/// What was spent of one key.
#[derive(Clone, Debug)]
pub(crate) struct WindowCount {
    window: LeaseWindow,
    cell: Cell<1>,
    pub(crate) clock: WindowClock,
}

impl WindowCount {
    pub(crate) fn new(window: LeaseWindow, clock: WindowClock) -> Self {
        let cell = Cell::fresh(&window.set);
        Self {
            window,
            cell,
            clock,
        }
    }

    pub(crate) const fn window(&self) -> &LeaseWindow {
        &self.window
    }

    /// The time of day at a time on the pool's clock.
    fn day(&self, at: Instant) -> Instant {
        shifted(at, self.clock.ahead)
    }

    /// The time at which what is decided now is counted.
    fn at(&self, now: Instant) -> Instant {
        self.clock.asked.unwrap_or_else(|| self.day(now))
    }

    /// Whole tokens that are not spent.
    pub(crate) fn left(&self, now: Instant) -> u64 {
        let peek = (self.window.set).probe(&self.cell, Cost::PEEK, self.at(now), Lot::ALWAYS);
        peek.decision.remaining
    }

    /// Counts what was spent up to and with `at`, whatever is left; parts of a token as a whole one.
    pub(crate) fn enter(&mut self, spent: i128, at: Instant) {
        self.book(ceil(spent), self.day(at));
    }

    /// Counts what is decided now.
    pub(crate) fn take(&mut self, tokens: u64, now: Instant) {
        self.book(tokens, self.at(now));
    }

    fn book(&mut self, tokens: u64, at: Instant) {
        if tokens == 0 {
            return;
        }
        let cost = tokens.min(Cost::MAX.tokens());
        let probe = (self.window.set).probe(&self.cell, Cost::PEEK, at, Lot::ALWAYS);
        let receipt = Charge {
            cost,
            charged: 1,
            ..probe.receipt
        };
        let mut taken = Outcome { receipt, ..probe };
        taken.decision.verdict = Verdict::Allow;
        self.window.set.commit(&mut self.cell, &taken);
    }

    /// Charges without asking, as far as the policy lets debts grow.
    pub(crate) fn charge(&mut self, cost: u64, now: Instant) {
        let (cost, at) = (bounded(cost), self.at(now));
        self.window.set.charge(&mut self.cell, cost, at);
    }

    /// Gives back what was taken last.
    pub(crate) fn refund(&mut self, cost: u64, now: Instant) {
        let (cost, at) = (bounded(cost), self.at(now));
        self.window.set.refund(&mut self.cell, cost, at);
    }

    /// Charges what a request really cost.
    pub(crate) fn settle(&mut self, receipt: &Charge, actual: Cost, now: Instant) {
        let receipt = Charge {
            charged: 1,
            ..*receipt
        };
        let at = self.at(now);
        (self.window.set).settle(&mut self.cell, &receipt, actual, at);
    }

    /// Forgets what was spent.
    pub(crate) fn reset(&mut self) {
        self.cell = Cell::fresh(&self.window.set);
    }

    /// Moves what was spent by `from` to another time of day, unless it was spent there already.
    pub(crate) fn move_time(&mut self, from: Instant, to: Instant) {
        let half = Span::from_nanos(u128::from(from.nanos_since(to) / 2));
        let is_due = if from < to {
            self.cell.at() < to && from < self.window.set.fresh_at(&self.cell)
        } else {
            to.saturating_add(half) < self.cell.at()
        };
        if is_due {
            self.window.set.shift(&mut self.cell, from, to);
        }
    }

    /// Counts by other numbers from here on.
    pub(crate) fn change(&mut self, window: LeaseWindow, now: Instant) {
        let at = self.day(now);
        self.cell = (window.set).inherit(&self.window.set, &[Some(0)], &self.cell, at);
        self.window = window;
    }

    /// How long until so much would fit, if nobody spends; `None` where it never would.
    pub(crate) fn wait_ns(&self, amount: i128, now: Instant) -> Option<u64> {
        let cost = bounded(ceil(amount));
        let probe = (self.window.set).probe(&self.cell, cost, self.at(now), Lot::ALWAYS);
        match probe.decision.verdict {
            Verdict::Never => None,
            verdict => {
                let wait = verdict.retry_after().unwrap_or(Span::ZERO).as_nanos();
                Some(u64::try_from(wait).unwrap_or(u64::MAX))
            }
        }
    }

    /// When the window of `now` ends, less a little for clocks that are not read together; `None` where counts fade.
    pub(crate) fn end(&self, now: Instant) -> Option<Instant> {
        let ends = self.window.set.policies().iter();
        let end = ends.filter_map(|policy| policy.window_end(self.day(now)));
        end.min()
            .map(|end| shifted(end, -self.clock.ahead - MARGIN_NS))
    }

    /// Until nothing is left of what was spent.
    pub(crate) fn fresh_after(&self, now: Instant) -> Span {
        self.window.set.reset_after(&self.cell, self.at(now))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.cell.heap_bytes()
    }
}

/// Whole tokens that hold an amount.
fn ceil(amount: i128) -> u64 {
    let whole = amount.max(0).saturating_add(TOKEN - 1) / TOKEN;
    u64::try_from(whole).unwrap_or(u64::MAX)
}

fn bounded(cost: u64) -> Cost {
    Cost::new(cost).unwrap_or(Cost::MAX)
}

fn shifted(at: Instant, by: i128) -> Instant {
    let nanos = i128::from(at.as_nanos()).saturating_add(by).max(0);
    Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// So much before the end of a window every lease of it is over, for two readings of two clocks are never of one
/// instant.
const MARGIN_NS: i128 = 1_000_000;
