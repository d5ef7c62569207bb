//! The older scheme: every client has the whole bucket and tells a centre now and then what it spent.
//!
//! Described in chapter 37, "Design a Distributed Rate Limiter", of the system design text that `docs/lease.md` cites;
//! it admits too much, by up to [`SyncConfig::over_max`], and says so. The centre either keeps debts, or forgets them
//! as the printed code does. Not here: anything that bounds it better; that is a lease.

use tollgate_limit::Instant;

use crate::amount::{Limits, mites, tokens};

/// What becomes of spending that the centre has no tokens for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It is owed.
    Debt,
    /// It is forgotten, as in the printed code: the level never goes below zero.
    Nothing,
}

/// How clients synchronise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncConfig {
    /// The bucket.
    pub limits: Limits,
    /// How often a client speaks.
    pub interval_ns: u64,
    /// What becomes of debts.
    pub keep: Keep,
}

impl SyncConfig {
    /// Tokens that `clients` may admit too many in their first burst, if a round trip takes that long: each but one has
    /// the burst and what comes back until it is heard.
    pub fn over_max(&self, clients: u64, trip_ns: u64) -> u64 {
        let time = i128::from(self.interval_ns.saturating_add(trip_ns));
        let refill = self.limits.rate().saturating_add(1).saturating_mul(time);
        let each = self.limits.depth().saturating_add(refill);
        tokens(each.saturating_mul(i128::from(clients.saturating_sub(1)))).saturating_add(1)
    }

    /// Whether even one client loses, because the centre is full before it hears of what was spent.
    pub fn is_shallow(&self) -> bool {
        let refill = self
            .limits
            .rate()
            .saturating_mul(i128::from(self.interval_ns));
        self.limits.depth() < refill
    }
}

/// The bucket of all.
#[derive(Clone, Copy, Debug)]
pub struct Centre {
    config: SyncConfig,
    bucket: Bucket,
}

/// The bucket as one client knows it.
#[derive(Clone, Copy, Debug)]
pub struct Replica {
    config: SyncConfig,
    bucket: Bucket,
    /// Spent since the last message.
    spent: u64,
    /// When to speak next.
    next: Instant,
}

/// A level that fills with time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Mites; below zero it is owed.
    pub(crate) level: i128,
    /// What the last refill had beyond whole mites.
    pub(crate) part: u64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn full(limits: &Limits, now: Instant) -> Self {
        Self {
            level: limits.depth(),
            part: 0,
            at: now,
        }
    }

    /// Goes to another time, as the clock was set: it fills by nothing.
    pub(crate) fn move_time(&mut self, limits: &Limits, from: Instant, to: Instant) {
        self.fill(limits, from);
        self.at = to;
    }

    pub(crate) fn fill(&mut self, limits: &Limits, now: Instant) {
        let elapsed = now.nanos_since(self.at);
        self.at = self.at.max(now);
        let earned = limits.refill(elapsed, &mut self.part);
        self.level = self.level.saturating_add(earned).min(limits.depth());
    }
}

impl Centre {
    /// A full bucket.
    pub fn new(config: SyncConfig, now: Instant) -> Self {
        Self {
            config,
            bucket: Bucket::full(&config.limits, now),
        }
    }

    /// Takes what a client spent, and answers with the level; below zero it is owed.
    pub fn handle_spent(&mut self, spent: u64, now: Instant) -> i128 {
        self.bucket.fill(&self.config.limits, now);
        let level = self.bucket.level.saturating_sub(mites(spent));
        self.bucket.level = match self.config.keep {
            Keep::Debt => level,
            Keep::Nothing => level.max(0),
        };
        self.bucket.level
    }
}

impl Replica {
    /// A full bucket.
    pub fn new(config: SyncConfig, now: Instant) -> Self {
        Self {
            config,
            bucket: Bucket::full(&config.limits, now),
            spent: 0,
            next: crate::amount::after(now, config.interval_ns),
        }
    }

    /// Whether a request passes, as far as this client knows.
    pub fn check(&mut self, cost: u64, now: Instant) -> bool {
        self.bucket.fill(&self.config.limits, now);
        let passes = self.bucket.level >= mites(cost);
        if passes {
            self.bucket.level -= mites(cost);
            self.spent = self.spent.saturating_add(cost);
        }
        passes
    }

    /// Whole tokens that it believes to have.
    pub fn peek(&self, now: Instant) -> u64 {
        let mut bucket = self.bucket;
        bucket.fill(&self.config.limits, now);
        tokens(bucket.level)
    }

    /// What to tell the centre, when it is time.
    pub fn poll_spent(&mut self, now: Instant) -> Option<u64> {
        if now < self.next {
            return None;
        }
        self.next = crate::amount::after(now, self.config.interval_ns);
        Some(core::mem::take(&mut self.spent))
    }

    /// When to speak next.
    pub const fn poll_timeout(&self) -> Instant {
        self.next
    }

    /// Takes the centre's answer: its level, less what was spent since.
    pub fn handle_level(&mut self, level: i128, now: Instant) {
        self.bucket.fill(&self.config.limits, now);
        self.bucket.level = level.saturating_sub(mites(self.spent));
    }
}
