//! What the pool promises to requests that wait for what comes back to it: it keeps the rate that it promised by, and
//! leaves room.
//!
//! Where nothing is lent nor was since, the level alone says all, and waits are those of one bucket to the nanosecond.
//! A lease that gets less than its share because of promises that go on and on calls for rate: then promises are made
//! by the rest, once those that are out allow it. A successor says nothing for a term, in which whatever was promised
//! is let through: so nobody may wait longer than a term. Not here: who waits.

use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;

use super::Pool;
use crate::amount::{after, mites, part, wait_ns};
use crate::message::Waits;
use crate::promise::Promise;
use crate::share::ONE;

/// What is promised and not let through yet, and what it holds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promised {
    pub(super) promise: Promise,
    /// Since when something is out all the time.
    pub(super) since: Instant,
    /// The most of the rate that may be lent meanwhile.
    pub(super) lent_max: i128,
    /// Whether something was lent since.
    pub(super) is_shared: bool,
    /// Of the rate, what is called for until then: no more than the rest is promised by.
    pub(super) called: i128,
    pub(super) called_until: Instant,
}

impl Promised {
    pub(super) const fn nothing() -> Self {
        Self {
            promise: Promise::none(),
            since: Instant::from_nanos(0),
            lent_max: 0,
            is_shared: false,
            called: 0,
            called_until: Instant::from_nanos(0),
        }
    }

    /// Whether it holds anything up.
    pub(super) fn counts(&self, now: Instant) -> bool {
        self.promise.is_out(now) || now < self.called_until
    }
}

impl Pool {
    /// Whether something is out.
    pub(super) fn is_promised(&self) -> bool {
        self.busy.promised.promise.is_out(self.level.at)
    }

    /// The most that is out; a tick more, as times are rounded.
    pub(super) fn promised_all(&self) -> i128 {
        let Promised { promise, .. } = &self.busy.promised;
        if !self.is_promised() {
            return 0;
        }
        let bound = promise.bound(self.level.at);
        planted!("lease-35", bound.saturating_add(promise.rate), 0)
    }

    /// What the level may not exceed.
    pub(super) fn top(&self) -> i128 {
        let kept = if self.busy.promised.is_shared {
            self.promised_all()
        } else {
            0
        };
        self.room() - kept
    }

    /// When the last that is promised is let through, if that is ahead and not after `now`: until then the level leaves
    /// room.
    pub(super) fn kept_until(&self, now: Instant) -> Option<Instant> {
        let until = self.busy.promised.promise.until;
        let is_ahead = self.busy.promised.is_shared && self.level.at < until && until <= now;
        planted!("lease-37", is_ahead, false).then_some(until)
    }

    /// The rate of which leases may have what is not lent.
    pub(super) fn rate_max(&self) -> i128 {
        let all = self.terms.limits.rate();
        if self.is_promised() {
            planted!("lease-34", all.min(self.busy.promised.lent_max), all)
        } else {
            all
        }
    }

    /// From here on promises leave room.
    pub(super) fn share_promised(&mut self) {
        self.busy.promised.is_shared |= self.is_promised();
    }

    /// Somebody would be lent so much in all of the rate, if it were not promised. What is promised for a moment is
    /// waited for.
    pub(super) fn call(&mut self, lent: i128) {
        let now = self.level.at;
        if now.nanos_since(self.busy.promised.since) < self.terms.rules.max_wait_ns {
            return;
        }
        let all = self.terms.limits.rate();
        let most = all - part(all, self.terms.rules.pool_rate, ONE);
        let called = self.called().max(lent.min(most));
        self.busy.promised.called = called;
        self.busy.promised.called_until = after(now, self.terms.rules.term_ns);
    }

    fn called(&self) -> i128 {
        if self.level.at < self.busy.promised.called_until {
            self.busy.promised.called
        } else {
            0
        }
    }

    /// After which times requests of that cost pass, at most so many; `None` where not even the first may wait.
    pub(super) fn waits(&self, cost: u64, count: u64) -> Option<Waits> {
        let (first_ns, gap_ns) = self.line(cost)?;
        let left = self.terms.rules.max_wait_ns.checked_sub(first_ns)?;
        let more = left.checked_div(gap_ns).unwrap_or(u64::MAX);
        let waits = Waits {
            count: count.min(more.saturating_add(1)),
            first_ns,
            gap_ns,
        };
        let fits = || self.with(cost, &waits).1 <= self.room();
        (waits.count > 0 && (!self.would_share() || fits())).then_some(waits)
    }

    /// Promises to let requests pass after these times.
    pub(super) fn promise(&mut self, cost: u64, waits: &Waits) {
        let (promise, _) = self.with(cost, waits);
        if !self.is_promised() {
            self.busy.promised.since = self.level.at;
        }
        self.busy.promised.is_shared = self.would_share();
        self.busy.promised.lent_max = self.spoken_for().min(self.rate_max());
        self.busy.promised.promise = promise;
        self.pay(cost.saturating_mul(waits.count));
        self.busy.figures.promised += waits.count;
    }

    /// What is lent of the rate, or is called for.
    fn spoken_for(&self) -> i128 {
        self.busy.sums.rate.max(self.called())
    }

    /// Whether what is promised next leaves room: something is lent, or was since the first that is out.
    fn would_share(&self) -> bool {
        let was_shared = self.is_promised() && self.busy.promised.is_shared;
        let is_lent = self.busy.sums.depth > 0 || self.unknown.is_some();
        was_shared || is_lent || self.spoken_for() > 0
    }

    /// How long until the last that is promised is let through.
    pub(super) fn promised_ns(&self) -> u64 {
        self.busy.promised.promise.until.nanos_since(self.level.at)
    }

    /// When the next request of that cost would pass, and how long after each other those behind it would.
    pub(super) fn line(&self, cost: u64) -> Option<(u64, u64)> {
        let is_learning = self.unknown.is_some() || self.count.is_some();
        if self.terms.rules.max_wait_ns == 0 || is_learning || cost > self.terms.limits.burst() {
            return None;
        }
        let lent = self.spoken_for();
        let is_out = self.is_promised();
        if is_out && self.busy.promised.lent_max < lent {
            return None;
        }
        let price = mites(cost);
        let takes = |amount: i128, part: u64| wait_ns(&self.terms.limits, amount, lent, part);
        let first = takes(price - self.level.tokens, self.level.part)?;
        let gap = takes(price, 0)?;
        let in_turn = self.promised_ns().saturating_add(gap);
        let is_late = planted!(
            "lease-36",
            is_out && self.busy.promised.is_shared && first < in_turn,
            false
        );
        Some((if is_late { in_turn } else { first }, gap))
    }

    /// What would be promised in all, and the level and it together.
    fn with(&self, cost: u64, waits: &Waits) -> (Promise, i128) {
        let now = self.level.at;
        // Rounded up: a limit may have a part of a mite more each time.
        let rate = self.terms.limits.rate() + 1 - self.spoken_for();
        let price = mites(cost);
        let until = after(now, waits.last_ns());
        let promise = self.busy.promised.promise.with(price, rate, until, now);
        let paid = mites(cost.saturating_mul(waits.count));
        let bound = promise.bound(now).saturating_add(promise.rate);
        let level = self.level.tokens.saturating_sub(paid);
        (promise, level.saturating_add(bound))
    }
}

/// A wait as others say it.
pub(super) fn span(nanos: u64) -> Span {
    Span::from_nanos(u128::from(nanos))
}
