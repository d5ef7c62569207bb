//! Quotas of data planes out of one pool: reports in, assignments out. What an RLQS server does for one key.
//!
//! An assignment is a bucket that the data plane uses by itself until its time to live is over. It may start full
//! whenever it is another one than before, so that many tokens are drawn from the pool for it, and its depth and rate
//! are kept for it in the same books as leases. Reports say nothing of what is held, and no assignment is acknowledged:
//! a bucket counts until it surely is gone. `docs/rlqs.md` has the rules and why they suffice.
//!
//! Call [`KeyQuota::handle_report`] for what a data plane says and [`KeyQuota::handle_due`] when [`KeyQuota::due`] says
//! so, and carry out what they return in order. Not here: clocks, streams, which key a bucket of Envoy is, what is
//! unlimited.

mod plane;
mod strategy;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tollgate_limit::Instant;
use tollgate_mode::planted;

use crate::amount::{Limits, after, tokens};
use crate::pool::Pool;
use plane::{Act, Plane};

pub use strategy::QuotaBucket;

/// How quotas are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaRules {
    /// For how long an assignment lives, in seconds: Envoy does not look at parts of one.
    pub ttl_s: u32,
    /// The longest time that a message may be under way. The stream must end when it takes longer.
    pub delivery_ns: u64,
    /// How long ago a stream may have been seen to be there when [`KeyQuota`] is called about it.
    pub stale_ns: u64,
    /// How far off the clock of a data plane may be, in parts per million.
    pub drift_ppm: u32,
}

impl Default for QuotaRules {
    fn default() -> Self {
        Self {
            ttl_s: 10,
            delivery_ns: 1_000_000_000,
            stale_ns: 250_000_000,
            drift_ppm: 500,
        }
    }
}

impl QuotaRules {
    /// The time to live in nanoseconds, by the clock of the data plane.
    pub(crate) fn ttl_ns(&self) -> u64 {
        u64::from(self.ttl_s) * SECOND_NS
    }

    /// The drift of a clock over the time to live.
    fn drift_ns(&self) -> u64 {
        self.ttl_ns() / 1_000_000 * u64::from(self.drift_ppm)
    }

    /// How long after its sending an assignment may be in use.
    pub fn hold_ns(&self) -> u64 {
        // Twice, as one over (1 - drift) is a little more than 1 + drift.
        let longest = self.ttl_ns().saturating_add(2 * self.drift_ns());
        longest.saturating_add(planted!("lease-17", self.delivery_ns, 0))
    }

    /// How long after its sending an assignment has surely arrived, if the stream is said to be there.
    pub(crate) fn sure_ns(&self) -> u64 {
        self.delivery_ns.saturating_add(self.stale_ns)
    }

    /// How long after its sending an assignment is surely in use still when another one arrives.
    pub(crate) fn extend_ns(&self) -> u64 {
        let shortest = self.ttl_ns().saturating_sub(self.drift_ns());
        shortest.saturating_sub(planted!("lease-19", self.delivery_ns, 0))
    }

    /// What all data planes may admit too many because whoever begins took them at their word, in tokens: once what it
    /// assigned to those who reported, and once what those still use who did not.
    pub fn restated_over_max(&self, limits: &Limits) -> u64 {
        let refilled = limits.rate().saturating_mul(i128::from(self.hold_ns()));
        tokens(limits.depth().saturating_add(refilled)).saturating_add(1)
    }

    /// What all data planes may admit too many because an assignment arrived `late_ns` later than
    /// [`Self::delivery_ns`]: that bucket once more, and its rate for so long; the bucket whose place it takes is in
    /// use for as long. In tokens, rounded up.
    pub fn over_max(&self, bucket: &QuotaBucket, late_ns: u64) -> u64 {
        if late_ns == 0 {
            return 0;
        }
        let late = u128::from(bucket.tokens_per_fill) * u128::from(late_ns);
        let filled = late.div_ceil(u128::from(bucket.interval_s.max(1)) * u128::from(SECOND_NS));
        u64::from(bucket.max_tokens).saturating_add(u64::try_from(filled).unwrap_or(u64::MAX))
    }
}

/// What a data plane says of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaReport {
    /// The time since its last report, as it says; zero where it does not say.
    pub elapsed_ns: u64,
    /// Requests that passed.
    pub allowed: u64,
    /// Requests that were refused.
    pub denied: u64,
}

/// What a data plane is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Use this bucket for so many seconds. If it is the one in use, only its time begins anew.
    Assign(QuotaBucket, u32),
    /// Refuse everything for so many seconds.
    Deny(u32),
    /// Forget the bucket until there is a request again.
    Abandon,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaFigures {
    /// Reports that were taken.
    pub reports: u64,
    /// Buckets that were new to a data plane, and drawn from the pool.
    pub changed: u64,
    /// Buckets that were left as they were.
    pub extended: u64,
    /// Times that there was nothing to assign.
    pub denied: u64,
    /// Buckets that nobody used.
    pub abandoned: u64,
    /// Buckets that data planes said they use, and were assigned for that.
    pub restated: u64,
}

impl QuotaFigures {
    /// Both together.
    #[must_use]
    pub const fn with(&self, other: &Self) -> Self {
        Self {
            reports: self.reports + other.reports,
            changed: self.changed + other.changed,
            extended: self.extended + other.extended,
            denied: self.denied + other.denied,
            abandoned: self.abandoned + other.abandoned,
            restated: self.restated + other.restated,
        }
    }
}

/// A subscription of a data plane. No two ever have the same, whichever node their streams end at: a bucket that one
/// has is not what another has.
pub type PlaneId = u128;

/// The data planes of one key.
#[derive(Clone, Debug)]
pub struct KeyQuota {
    rules: QuotaRules,
    /// Whether data planes are taken at their word while something of before may be out: what one says that it uses it
    /// goes on with.
    restates: bool,
    planes: BTreeMap<PlaneId, Plane>,
    /// Names in the pool so far, counted down from the largest.
    named: u64,
    figures: QuotaFigures,
}

impl KeyQuota {
    /// Nobody yet.
    pub const fn new(rules: QuotaRules, restates: bool) -> Self {
        Self {
            rules,
            restates,
            planes: BTreeMap::new(),
            named: 0,
            figures: QuotaFigures {
                reports: 0,
                changed: 0,
                extended: 0,
                denied: 0,
                abandoned: 0,
                restated: 0,
            },
        }
    }

    /// Takes a report, the first of which subscribes. `None` where what is in use must do for now.
    pub fn handle_report(
        &mut self,
        pool: &mut Pool,
        plane: PlaneId,
        report: &QuotaReport,
        now: Instant,
    ) -> Option<Action> {
        pool.advance(now);
        self.figures.reports += 1;
        let known = self.planes.remove(&plane);
        if known.is_none() && !pool.is_open() {
            self.figures.denied += 1;
            return Some(Action::Deny(1));
        }
        let mut held = known.unwrap_or_else(|| Plane::new(self.name(pool), now));
        held.hear(report, now);
        if self.restates
            && let Some(bucket) = held.restate(pool, &self.rules, report, now)
        {
            self.figures.restated += 1;
            self.planes.insert(plane, held);
            return Some(Action::Assign(bucket, self.rules.ttl_s));
        }
        self.turn(pool, plane, held, now)
    }

    /// Does what is due for one data plane, whose stream is there; nothing where nothing is. One that had nothing may
    /// get something, one that nobody uses is abandoned, and what it had before goes to others.
    pub fn handle_due(&mut self, pool: &mut Pool, plane: PlaneId, now: Instant) -> Option<Action> {
        pool.advance(now);
        let held = self.planes.get(&plane)?;
        if held.due(&self.rules) > now {
            return None;
        }
        let held = self.planes.remove(&plane)?;
        self.turn(pool, plane, held, now)
    }

    /// When something is to be done for one data plane; `None` where it is not subscribed.
    pub fn due(&self, plane: PlaneId) -> Option<Instant> {
        self.planes.get(&plane).map(|held| held.due(&self.rules))
    }

    /// The stream of a data plane has ended. What it was assigned stays in the books as long as it may be in use.
    pub fn leave(&mut self, plane: PlaneId) {
        self.planes.remove(&plane);
    }

    /// Forgets data planes that nobody looked after when they were to be abandoned: whoever has their stream is gone.
    pub fn forget_gone(&mut self, now: Instant) {
        let rules = &self.rules;
        self.planes.retain(|_, held| !held.is_gone(rules, now));
    }

    /// Data planes that are subscribed.
    pub fn planes(&self) -> usize {
        self.planes.len()
    }

    /// What was counted.
    pub const fn figures(&self) -> QuotaFigures {
        self.figures
    }

    /// Decides about one data plane and books it.
    fn turn(
        &mut self,
        pool: &mut Pool,
        plane: PlaneId,
        mut held: Plane,
        now: Instant,
    ) -> Option<Action> {
        held.settle(&self.rules, now);
        if held.is_idle(&self.rules, now) {
            held.book(pool, &self.rules, 0, now);
            self.figures.abandoned += 1;
            return Some(Action::Abandon);
        }
        let want = held.want(pool, &self.rules);
        let act = held.decide(pool, &self.rules, want, now);
        held.book(pool, &self.rules, want, now);
        let action = match act {
            Act::Change(bucket) => {
                self.figures.changed += 1;
                Some(Action::Assign(bucket, self.rules.ttl_s))
            }
            Act::Extend(bucket) => {
                self.figures.extended += 1;
                Some(Action::Assign(bucket, self.rules.ttl_s))
            }
            Act::Deny(seconds) => {
                self.figures.denied += 1;
                Some(Action::Deny(seconds))
            }
            Act::Wait => None,
        };
        self.planes.insert(plane, held);
        action
    }

    /// A name that nobody in the pool has.
    fn name(&mut self, pool: &Pool) -> u64 {
        loop {
            let name = u64::MAX - self.named;
            self.named += 1;
            if !pool.is_taken(name) {
                return name;
            }
        }
    }
}

/// An instant, a number of terms later.
pub(crate) fn terms_after(at: Instant, rules: &QuotaRules, terms: u64) -> Instant {
    after(at, rules.ttl_ns().saturating_mul(terms))
}

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
