//! The grantor's side of one key: the level of the pool, and what is reserved for whom.
//!
//! At every instant the level and all reserved depths are within the burst, and the pool's refill and all reserved
//! rates within the limit. A pool of a window has what was spent in it instead of a level. Call
//! [`Pool::handle_question`] with what clients say and carry back what it returns; drain [`Pool::poll_nudge`] after it.
//! Calls may be repeated, late and out of order. Not here: which node is the grantor, and that there is one only.

mod answer;
mod busy;
mod direct;
mod ledger;
mod nudge;
mod promise;
mod quota;
mod settle;
mod stock;

use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_mode::planted;

use crate::amount::{Limits, after};
use crate::demand::Decayed;
use crate::message::{Grant, Nudge, Stamp};
use crate::share::{ONE, SharingRule};
use crate::window::WindowCount;

use busy::MaybeBusy;
pub use ledger::{LEDGER_BYTES_MAX, LEDGER_LESSEES_MAX, decode_ledger, encode_ledger};
pub(crate) use quota::Reserved;

/// What a lease is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lend {
    /// A rate that is surely used, and tokens for the rest.
    Both,
    /// Tokens alone, by demand.
    Tokens,
    /// A rate alone: tokens are lent once, when the lease begins.
    Rate,
    /// So many tokens each time, whatever the demand.
    Fixed(u64),
}

/// How a grantor lends. Shares are in 2^-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// For how long a lease is given.
    pub term_ns: u64,
    /// Tokens of depth below which no lease is worth it.
    pub depth_min: u64,
    /// Uses in a term below which no lease is worth it.
    pub uses_min: u64,
    /// The least share of the rate that stays with the pool.
    pub pool_rate: u64,
    /// The share of the depth that may be lent.
    pub lent_depth: u64,
    /// The most lessees of a key.
    pub lessees_max: usize,
    /// A rate is lent so that the bucket of a client is full, and its refill lost, one time in that.
    pub spill: u64,
    /// Who gets how much where there is not enough for all.
    pub share: SharingRule,
    /// What is lent; anything but [`Lend::Both`] is here to be compared with.
    pub lend: Lend,
    /// How long requests wait at most for what is not there yet; zero where they are refused. No longer than a term.
    pub max_wait_ns: u64,
    /// Whether a successor has a full bucket once nothing of its predecessor's can be out. Then a burst may be admitted
    /// again.
    pub begins_full: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            term_ns: 2_000_000_000,
            depth_min: 2,
            uses_min: 8,
            pool_rate: ONE / 16,
            lent_depth: ONE / 2,
            lessees_max: 1024,
            spill: 100,
            share: SharingRule::Request,
            lend: Lend::Both,
            max_wait_ns: 0,
            begins_full: false,
        }
    }
}

/// What a grantor counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// Questions that came too late, and were ignored.
    pub stale: u64,
    /// Questions that came again, and were answered again.
    pub repeated: u64,
    /// Leases whose term ended with nothing said.
    pub ended: u64,
    /// Requests that passed at the grantor.
    pub served: u64,
    /// Of those, the ones that passed after a wait.
    pub promised: u64,
    /// Hints that were sent.
    pub nudges: u64,
    /// Returns that were cut to what was lent.
    pub clamped: u64,
}

impl PoolFigures {
    /// Nothing yet.
    pub(crate) const NOTHING: Self = Self {
        stale: 0,
        repeated: 0,
        ended: 0,
        served: 0,
        promised: 0,
        nudges: 0,
        clamped: 0,
    };
}

/// What is reserved for a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Booked {
    /// Its incarnation.
    pub boot: u64,
    /// Its session.
    pub session: Stamp,
    /// The rate.
    pub rate: i128,
    /// The depth.
    pub depth: i128,
    /// Tokens of the last grant, and which that was.
    pub tokens: i128,
    /// The last grant.
    pub stamp: Stamp,
    /// What it has returned as far as is known.
    pub give: i128,
}

/// The grantor's side of one key. A clone is the ledger that a successor may go on with.
#[derive(Clone, Debug)]
pub struct Pool {
    terms: Arc<PoolTerms>,
    generation: u64,
    level: Level,
    /// What was spent, where it is a window.
    count: Option<Box<WindowCount>>,
    asked: Decayed,
    unknown: Option<Box<Unknown>>,
    busy: MaybeBusy,
    /// Requests that passed.
    served: u64,
    /// Sessions so far, so that no two have one name: a late copy of a question may open a record that its first copy
    /// opened before.
    opened: u64,
}

/// What pools of one policy have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolTerms {
    pub(crate) limits: Limits,
    pub(crate) rules: Rules,
}

/// The pool's tokens at an instant; below zero they are owed. Of a window, what neither is spent nor may be.
#[derive(Clone, Copy, Debug)]
struct Level {
    tokens: i128,
    /// What came back beyond whole mites.
    part: u64,
    at: Instant,
}

/// Sums over all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    rate: i128,
    depth: i128,
    want: u64,
}

/// What may be out although nobody has said so: a successor begins with all of it.
#[derive(Clone, Copy, Debug)]
struct Unknown {
    rate: i128,
    depth: i128,
    until: Instant,
}

/// One lessee.
#[derive(Clone, Copy, Debug)]
struct Record {
    booked: Booked,
    /// The session of an earlier grantor under which it restated.
    prior: Stamp,
    seq: u64,
    until: Instant,
    want: u64,
    /// The most that this session may still return.
    lent: i128,
    answer: Option<Grant>,
    heard: Instant,
    nudged: Instant,
    /// Answers in a row that gave less than its share.
    shorts: u32,
}

impl Pool {
    /// A full bucket of which nothing is lent.
    pub fn new(limits: Limits, rules: Rules, generation: u64, now: Instant) -> Self {
        Self::by(Arc::new(PoolTerms { limits, rules }), generation, now)
    }

    /// The same by terms that others have too.
    pub(crate) fn by(terms: Arc<PoolTerms>, generation: u64, now: Instant) -> Self {
        let level = Level {
            tokens: terms.limits.depth(),
            part: 0,
            at: now,
        };
        Self {
            terms,
            generation,
            level,
            count: None,
            asked: Decayed::new(ASKED_NS, now),
            unknown: None,
            busy: MaybeBusy::default(),
            served: 0,
            opened: 0,
        }
    }

    /// The successor of a grantor whose books are lost. It has nothing, and everything may be out for a term; clients
    /// that say what they hold keep it. The predecessor must have stopped, and `generation` must be larger than its
    /// own.
    pub fn restating(limits: Limits, rules: Rules, generation: u64, now: Instant) -> Self {
        Self::restating_by(Arc::new(PoolTerms { limits, rules }), generation, now)
    }

    /// The same by terms that others have too.
    pub(crate) fn restating_by(terms: Arc<PoolTerms>, generation: u64, now: Instant) -> Self {
        let PoolTerms { limits, rules } = *terms;
        let mut pool = Self::by(terms, generation, now);
        let unknown = Box::new(Unknown {
            rate: limits.rate(),
            depth: limits.depth(),
            until: after(now, rules.term_ns),
        });
        pool.unknown = planted!("lease-4", planted!("lease-12", Some(unknown), None), None);
        pool.level.tokens = planted!("lease-12", 0, limits.depth());
        pool
    }

    /// The successor of a grantor whose books were kept: a clone of its pool from after its last answer.
    #[must_use]
    pub fn resume(mut self, generation: u64) -> Self {
        self.generation = generation;
        if let Some(busy) = self.busy.there() {
            busy.nudges.clear();
        }
        self
    }

    /// The same, whose sessions have names that come after so many.
    #[must_use]
    pub(crate) const fn opening_after(mut self, opened: u64) -> Self {
        self.opened = opened;
        self
    }

    /// Sessions so far.
    pub(crate) const fn opened(&self) -> u64 {
        self.opened
    }

    /// New limits, from the next answer on. What is lent stays lent until it is given back or ends; meanwhile the pool
    /// stays empty if need be. Every lessee is asked to speak.
    pub fn change(&mut self, limits: Limits, now: Instant) {
        let terms = PoolTerms {
            limits,
            ..*self.terms
        };
        self.change_to(Arc::new(terms), now);
    }

    /// The same by terms that others have too.
    pub(crate) fn change_to(&mut self, terms: Arc<PoolTerms>, now: Instant) {
        self.advance(now);
        self.terms = terms;
        self.level.part = 0;
        self.level.tokens = self.level.tokens.min(self.top());
        if let Some(busy) = self.busy.there() {
            busy.nudges = busy.records.keys().copied().collect();
            busy.figures.nudges += busy.nudges.len() as u64;
        }
    }

    /// Brings the pool to `now`, ending what ends meanwhile at its own time (G1).
    pub fn advance(&mut self, now: Instant) {
        while let Some(end) = self.next_end(now) {
            self.fill(end);
            self.end(end);
        }
        self.fill(now);
    }

    /// The next hint to send, oldest first.
    pub fn poll_nudge(&mut self, key: crate::ModeKey) -> Option<Nudge> {
        let client = self.busy.there()?.nudges.pop_front()?;
        // By the name that the client has for it, where it told one.
        let answer = self
            .busy
            .records
            .get(&client)
            .and_then(|record| record.answer);
        let key = answer.map_or(key, |answer| answer.key);
        Some(Nudge { client, key })
    }

    /// The pool's tokens, in mites.
    pub const fn level(&self) -> i128 {
        self.level.tokens
    }

    /// What is reserved for a client.
    pub fn booked(&self, client: u64) -> Option<Booked> {
        self.busy.records.get(&client).map(|record| record.booked)
    }

    /// All that is reserved, what nobody has restated yet apart: rate, then depth.
    pub fn reserved(&self) -> (i128, i128) {
        (self.busy.sums.rate, self.busy.sums.depth)
    }

    /// What may be out although nobody has said so: rate, then depth.
    pub fn unknown(&self) -> (i128, i128) {
        let unknown = self.unknown.as_ref();
        unknown.map_or((0, 0), |unknown| (unknown.rate, unknown.depth))
    }

    /// Whether a predecessor's leases may still be out.
    pub const fn is_learning(&self) -> bool {
        self.unknown.is_some()
    }

    /// Lessees with a record.
    pub fn lessees(&self) -> usize {
        self.busy.records.len()
    }

    /// Whether nothing is lent and the bucket is full, so that it need not be kept.
    pub fn is_fresh(&self) -> bool {
        self.is_alone() && self.level.tokens >= self.terms.limits.depth()
    }

    /// Whether nobody has anything of it.
    fn is_alone(&self) -> bool {
        self.busy.records.is_empty() && self.unknown.is_none()
    }

    /// What was counted.
    pub fn figures(&self) -> PoolFigures {
        PoolFigures {
            served: self.served,
            ..self.busy.figures
        }
    }

    /// The most that the pool may have.
    fn room(&self) -> i128 {
        let lent = planted!("lease-1", self.busy.sums.depth + self.unknown().1, 0);
        (self.terms.limits.depth() - lent).max(0)
    }

    /// Fills until `now` at what is not reserved.
    fn fill(&mut self, now: Instant) {
        if self.count.is_some() {
            self.level.at = self.level.at.max(now);
            return self.reckon(0);
        }
        let elapsed = now.nanos_since(self.level.at);
        if elapsed == 0 {
            return;
        }
        self.level.at = now;
        let all = self.terms.limits.refill(elapsed, &mut self.level.part);
        let lent = (self.busy.sums.rate + self.unknown().0).saturating_mul(i128::from(elapsed));
        let earned = all.saturating_sub(lent).max(0);
        let top = self.top();
        let tokens = self.level.tokens.saturating_add(earned);
        self.level.tokens = tokens.min(top.max(self.level.tokens.min(0)));
        if tokens >= top {
            self.level.part = 0;
        }
    }

    /// The next time at which something ends, if it is not after `now`.
    fn next_end(&mut self, now: Instant) -> Option<Instant> {
        let unknown = self.learns_until();
        if self.busy.ends <= now {
            let untils = self.busy.records.values().map(|record| record.until);
            self.busy.ends = untils.min().unwrap_or(Instant::LAST);
        }
        let kept = self.kept_until(now);
        let end = unknown
            .into_iter()
            .chain(kept)
            .fold(self.busy.ends, Instant::min);
        (end <= now).then_some(end)
    }

    /// Ends what ends at `end`. Room and rate come back, tokens do not: they may have been spent.
    fn end(&mut self, end: Instant) {
        if let Some(unknown) = self.unknown.take_if(|unknown| unknown.until <= end) {
            if self.terms.rules.begins_full {
                self.forget();
            } else {
                self.enter(planted!("lease-28", unknown.depth, 0), before(end));
            }
        }
        let over = |record: &Record| record.until <= end;
        let mut clients = self.busy.records.iter().filter(|(_, record)| over(record));
        let client = clients.next().map(|(client, _)| *client);
        if let Some(client) = client {
            self.level.tokens += planted!("lease-2", 0, self.lent(client));
            planted!(
                "lease-25",
                self.forfeit(client, before(end)),
                self.lose(client)
            );
            self.busy.figures.ended += 1;
        }
    }

    /// What a lessee may not have spent, for the mutant that takes it back.
    #[cfg(feature = "planted")]
    fn lent(&self, client: u64) -> i128 {
        let record = self.busy.records.get(&client);
        record.map_or(0, |record| record.lent.min(record.booked.depth))
    }

    /// Takes a record off the books without counting what may have been spent, for the mutant that does.
    #[cfg(feature = "planted")]
    fn lose(&mut self, client: u64) {
        self.take(client);
    }

    /// Takes a record off the books of whose tokens nobody will tell: they were spent by `at`.
    fn forfeit(&mut self, client: u64, at: Instant) {
        if let Some(record) = self.take(client) {
            self.enter(record.booked.depth, at);
        }
    }

    /// Takes a record off the books.
    fn take(&mut self, client: u64) -> Option<Record> {
        let record = self.busy.there()?.records.remove(&client)?;
        self.hold(-record.booked.rate, -record.booked.depth);
        self.busy.sums.want = self.busy.sums.want.saturating_sub(record.want);
        Some(record)
    }

    /// Counts more as reserved, or less.
    fn hold(&mut self, rate: i128, depth: i128) {
        if (rate, depth) != (0, 0) {
            self.busy.sums.rate += rate;
            self.busy.sums.depth += depth;
        }
    }

    /// Enters a record in the books.
    fn put(&mut self, client: u64, record: &Record) {
        self.hold(record.booked.rate, record.booked.depth);
        self.busy.sums.want = self.busy.sums.want.saturating_add(record.want);
        self.busy.ends = self.busy.ends.min(record.until);
        self.busy.records.insert(client, *record);
        self.share_promised();
    }
}

/// The last instant before `end`, up to which what ends then can be spent.
const fn before(end: Instant) -> Instant {
    Instant::from_nanos(end.as_nanos().saturating_sub(1))
}

/// Over how long the demand of those without a lease is averaged.
const ASKED_NS: u64 = 1_000_000_000;
