//! The scheme as it is printed: one key, its centre and a client; what nodes do ([`Syncing`](super::Syncing)) is
//! compared with it.
//!
//! Described in chapter 37, "Design a Distributed Rate Limiter", of the system design text that `docs/lease.md` cites;
//! it admits too much, by up to [`SyncConfig::over_max`], and says so. The centre either keeps debts, or forgets them
//! as the printed code does. Not here: anything that bounds it better; that is a lease.

use tollgate_limit::Instant;

use super::bucket::SyncBucket;
use super::config::{Overdraft, SyncConfig};
use crate::amount::{mites, tokens};

/// The bucket of all.
#[derive(Clone, Copy, Debug)]
pub struct Centre {
    config: SyncConfig,
    bucket: SyncBucket,
}

/// The bucket as one client knows it.
#[derive(Clone, Copy, Debug)]
pub struct Replica {
    config: SyncConfig,
    bucket: SyncBucket,
    /// Spent since the last message.
    spent: u64,
    /// When to speak next.
    next: Instant,
}

impl Centre {
    /// A full bucket.
    pub fn new(config: SyncConfig, now: Instant) -> Self {
        Self {
            config,
            bucket: SyncBucket::full(&config.limits, now),
        }
    }

    /// Takes what a client spent, and answers with the level; below zero it is owed.
    pub fn handle_spent(&mut self, spent: u64, now: Instant) -> i128 {
        self.bucket.fill(&self.config.limits, now);
        let level = self.bucket.level.saturating_sub(mites(spent));
        self.bucket.level = match self.config.keep {
            Overdraft::Debt => level,
            Overdraft::Nothing => level.max(0),
        };
        self.bucket.level
    }
}

impl Replica {
    /// A full bucket.
    pub fn new(config: SyncConfig, now: Instant) -> Self {
        Self {
            config,
            bucket: SyncBucket::full(&config.limits, now),
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
