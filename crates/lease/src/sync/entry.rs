//! One key at one node: its bucket as it is at the centre, or as it is believed to be elsewhere.
//!
//! Not here: which node is the centre, when it is told, and keys.

use std::collections::BTreeMap;

use tollgate_gossip::{Key, NodeId, Writer};
use tollgate_limit::Instant;
use tollgate_mode::Weigh;

use super::bucket::Bucket;
use super::config::{Keep, SyncConfig};
use super::wire::{Answer, Report, Sum};
use crate::amount::{Limits, mites, tokens};

/// One key.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) bucket: Bucket,
    pub(super) centre: NodeId,
    /// Later than that of the entry of this key before.
    session: u64,
    said: Sum,
    heard: Sum,
    /// Where this node is the centre, since when.
    since: Instant,
    /// Where this node is the centre, when it last heard of the key.
    pub(super) touched: Instant,
    by_writer: BTreeMap<Writer, Heard>,
    /// All that was spent as this centre knows.
    pub(super) spent: u64,
}

/// What a centre knows of one boot of a node.
#[derive(Clone, Copy, Debug)]
struct Heard {
    session: u64,
    sum: Sum,
    at: Instant,
}

/// Spending that a centre had no tokens for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Over {
    /// Mites below zero.
    pub(super) debt: i128,
    /// Mites of this spending among them.
    pub(super) more: i128,
}

impl Weigh for Entry {
    fn heap_bytes(&self) -> u64 {
        (self.by_writer.len() * WRITER_BYTES) as u64
    }
}

impl Entry {
    /// A key that was never seen.
    pub(super) fn new(limits: &Limits, centre: NodeId, session: u64, now: Instant) -> Self {
        Self {
            bucket: Bucket::full(limits, now),
            centre,
            session,
            said: Sum::default(),
            heard: Sum::default(),
            since: now,
            touched: now,
            by_writer: BTreeMap::new(),
            spent: 0,
        }
    }

    /// Takes tokens here.
    pub(super) fn spend(&mut self, cost: u64, is_centre: bool) {
        self.bucket.level = self.bucket.level.saturating_sub(mites(cost));
        self.said.spent = self.said.spent.saturating_add(cost);
        self.settle(is_centre);
    }

    /// Gives tokens back here.
    pub(super) fn give_back(&mut self, cost: u64, depth: i128, is_centre: bool) {
        self.bucket.level = self.bucket.level.saturating_add(mites(cost)).min(depth);
        self.said.back = self.said.back.saturating_add(cost);
        self.settle(is_centre);
    }

    /// A centre has heard what it says itself.
    fn settle(&mut self, is_centre: bool) {
        if is_centre {
            self.spent = self
                .spent
                .saturating_add(self.said.beyond(self.heard).spent);
            self.heard = self.said;
        }
    }

    /// Another node is the centre from here on, perhaps this one, which then goes on from what it believes.
    pub(super) fn set_centre(&mut self, centre: NodeId, is_centre: bool, now: Instant) {
        self.centre = centre;
        self.since = now;
        self.touched = now;
        self.by_writer.clear();
        self.spent = 0;
        self.settle(is_centre);
    }

    /// Goes to another time, as the clock was set.
    pub(super) fn move_time(&mut self, limits: &Limits, from: Instant, to: Instant) {
        self.bucket.move_time(limits, from, to);
        let heard = self.by_writer.values_mut().map(|heard| &mut heard.at);
        for at in heard.chain([&mut self.since, &mut self.touched]) {
            *at = moved(*at, from, to);
        }
    }

    /// What was done here and no centre has confirmed.
    pub(super) const fn untold(&self) -> Sum {
        self.said.beyond(self.heard)
    }

    /// Tokens spent here.
    pub(super) const fn said(&self) -> u64 {
        self.said.spent
    }

    /// What to tell the centre.
    pub(super) fn report(&self, key: Key) -> Report {
        let untold = self.untold();
        let level = self.bucket.level.saturating_add(mites(untold.spent));
        Report {
            key,
            session: self.session,
            said: self.said,
            heard: self.heard,
            level: level.saturating_sub(mites(untold.back)),
        }
    }

    /// At the centre: takes what a node says, and what to answer; nothing where it said more since.
    pub(super) fn handle_report(
        &mut self,
        config: &SyncConfig,
        (writer, of): (Writer, &Report),
        now: Instant,
    ) -> Option<(Answer, Over)> {
        self.bucket.fill(&config.limits, now);
        let before = self.by_writer.get(&writer);
        if before.is_some_and(|before| before.session > of.session) {
            return None;
        }
        let before = before.filter(|before| before.session == of.session);
        let known = before.map(|before| before.sum.max(of.heard));
        let known = known.unwrap_or_else(|| {
            self.meet(config, of, now);
            of.heard
        });
        let sum = known.max(of.said);
        self.remember(writer, of.session, sum, now);
        let over = self.apply(config, sum.beyond(known));
        let level = Answer {
            key: of.key,
            session: of.session,
            heard: sum,
            level: self.bucket.level,
        };
        Some((level, over))
    }

    /// A centre that has just begun knows less than those who spoke with the one before.
    fn meet(&mut self, config: &SyncConfig, of: &Report, now: Instant) {
        if now.nanos_since(self.since) <= config.interval_ns.saturating_mul(MEETS_INTERVALS) {
            self.bucket.level = self.bucket.level.min(of.level);
        }
    }

    fn apply(&mut self, config: &SyncConfig, news: Sum) -> Over {
        let (had, depth) = (self.bucket.level, config.limits.depth());
        self.spent = self.spent.saturating_add(news.spent);
        let level = had.saturating_sub(mites(news.spent));
        let over = Over {
            debt: level.min(0).saturating_neg(),
            more: mites(news.spent).saturating_sub(had.max(0)).max(0),
        };
        let level = match config.keep {
            Keep::Debt => level,
            Keep::Nothing => level.max(had.min(0)),
        };
        self.bucket.level = level.saturating_add(mites(news.back)).min(depth);
        over
    }

    fn remember(&mut self, writer: Writer, session: u64, sum: Sum, now: Instant) {
        self.touched = now;
        let at = now;
        self.by_writer.insert(writer, Heard { session, sum, at });
        if self.by_writer.len() > WRITERS_MAX {
            let oldest = self.by_writer.iter().min_by_key(|(_, heard)| heard.at);
            if let Some(writer) = oldest.map(|(writer, _)| *writer) {
                self.by_writer.remove(&writer);
            }
        }
    }

    /// Elsewhere: takes the centre's level, less what it does not include. Whether it includes everything; nothing
    /// where it is none of this entry or older than what is known.
    pub(super) fn handle_level(
        &mut self,
        limits: &Limits,
        of: &Answer,
        now: Instant,
    ) -> Option<bool> {
        let fits = of.heard.is_within(self.said) && self.heard.is_within(of.heard);
        if of.session != self.session || !fits {
            return None;
        }
        self.bucket.fill(limits, now);
        self.heard = of.heard;
        let untold = self.untold();
        let level = of.level.saturating_sub(mites(untold.spent));
        self.bucket.level = level.saturating_add(mites(untold.back)).min(limits.depth());
        Some(untold == Sum::default())
    }

    /// Whole tokens owed, rounded up.
    pub(super) fn debt(&self) -> u64 {
        owed(self.bucket.level.min(0).saturating_neg())
    }
}

/// What was so long before one time, as long before another.
pub(super) const fn moved(at: Instant, from: Instant, to: Instant) -> Instant {
    Instant::from_nanos(to.as_nanos().saturating_sub(from.nanos_since(at)))
}

/// Whole tokens of a debt, rounded up.
pub(super) fn owed(debt: i128) -> u64 {
    tokens(debt.saturating_add(crate::amount::TOKEN - 1))
}

/// For so many intervals a centre that has just begun believes the lowest level of those it hears for the first time.
const MEETS_INTERVALS: u64 = 3;
/// Boots of nodes that a centre remembers for each key; the one it has not heard for longest is forgotten first.
const WRITERS_MAX: usize = 1 << 10;

/// About what a centre knows of a node.
const WRITER_BYTES: usize = 48;
