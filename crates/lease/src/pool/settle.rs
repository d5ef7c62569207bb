//! What a question says of the past: its place in the order, what the client holds, what it gives back (G2, G3).
//!
//! Not here: what it is given.

use tollgate_limit::Instant;
use tollgate_mode::planted;

use super::{Pool, Record};
use crate::amount::mites;
use crate::message::{Grant, Question, Stamp};

/// A question's place among those of its client.
pub(super) enum Order {
    /// Older than the last one.
    Stale,
    /// The last one again; its answer, if it had one.
    Again(Option<Grant>),
    /// The next one.
    Next,
}

/// What a client holds by its own word, as far as that is believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated {
    pub(super) rate: i128,
    pub(super) depth: i128,
    /// When what was reserved before would end.
    pub(super) until: Instant,
    pub(super) lent: i128,
    /// The session, if it goes on.
    pub(super) session: Option<Stamp>,
    pub(super) prior: Stamp,
    pub(super) nudged: Instant,
    pub(super) shorts: u32,
}

impl Stated {
    const fn nothing(now: Instant) -> Self {
        Self {
            rate: 0,
            depth: 0,
            until: now,
            lent: 0,
            session: None,
            prior: Stamp {
                generation: 0,
                seq: 0,
            },
            nudged: Instant::from_nanos(0),
            shorts: 0,
        }
    }
}

impl Pool {
    pub(super) fn order(&mut self, question: &Question) -> Order {
        let Some(record) = self.busy.records.get(&question.client) else {
            return Order::Next;
        };
        let last = (record.booked.boot, record.seq);
        let answer = record.answer;
        if question.boot > last.0 {
            // The old incarnation is dead: its room comes back, its tokens do not.
            let client = question.client;
            planted!(
                "lease-29",
                self.forfeit(client, self.level.at),
                self.lose(client)
            );
            return Order::Next;
        }
        match (question.boot, question.seq).cmp(&last) {
            core::cmp::Ordering::Less => Order::Stale,
            core::cmp::Ordering::Equal => Order::Again(answer),
            core::cmp::Ordering::Greater => Order::Next,
        }
    }

    /// Takes the client's record off the books, believes what it says within that, and credits what it gives back.
    pub(super) fn settle(&mut self, question: &Question, now: Instant) -> Stated {
        let mut stated = Stated::nothing(now);
        match self.take(question.client) {
            Some(record) if record.booked.session == question.session => {
                self.go_on(question, &record, &mut stated);
            }
            Some(record) => {
                (stated.nudged, stated.until) = (record.nudged, record.until);
                if self.is_restated(question) {
                    self.restate(question, Some(&record), &mut stated);
                } else if record.prior == question.session && record.prior != Stamp::default() {
                    stated.rate = question.rate.min(record.booked.rate);
                    stated.depth = question.cap.min(record.booked.depth);
                    stated.prior = record.prior;
                    self.enter(record.booked.depth - stated.depth, now);
                } else {
                    self.enter(record.booked.depth, now);
                }
                self.credit(planted!(
                    "lease-14",
                    0,
                    question.give.min(record.booked.depth)
                ));
            }
            None if self.is_restated(question) => self.restate(question, None, &mut stated),
            None => {
                self.credit(planted!("lease-11", 0, question.give.min(mites(1_000))));
                (stated.rate, stated.depth) =
                    planted!("lease-13", (0, 0), (question.rate, question.cap));
            }
        }
        if self.count.is_some() {
            self.reckon(stated.depth);
        }
        stated
    }

    /// The same session: what is stated counts up to what was reserved, and the rest is free.
    fn go_on(&mut self, question: &Question, record: &Record, stated: &mut Stated) {
        let booked = &record.booked;
        stated.rate = question.rate.min(booked.rate);
        stated.depth = question.cap.min(booked.depth);
        let refilled = self.level.at.nanos_since(record.heard);
        let refilled = booked.rate.saturating_mul(i128::from(refilled));
        let lent = record.lent.saturating_add(refilled).min(mites(u64::MAX));
        // A grant that a later question does not acknowledge was never applied, and never will be.
        let is_lost = question.got != booked.stamp;
        let refund = if is_lost { booked.tokens } else { 0 };
        let given = planted!("lease-6", question.give - booked.give, question.give);
        let owed = refund.saturating_add(given.max(0));
        let credit = owed.min(booked.depth - stated.depth).min(lent);
        self.busy.figures.clamped += u64::from(credit < owed);
        self.credit(credit);
        let told = planted!("lease-27", self.level.at, record.heard);
        self.enter(booked.depth - stated.depth - credit, told);
        stated.lent = lent - credit;
        stated.until = record.until;
        stated.session = Some(booked.session);
        stated.nudged = record.nudged;
        stated.shorts = record.shorts;
    }

    /// Whether a client may hold what a predecessor lent it.
    fn is_restated(&self, question: &Question) -> bool {
        let is_foreign = question.session.generation != self.generation;
        self.unknown.is_some() && is_foreign && question.session.seq > 0
    }

    /// Carves what is stated out of what is unknown; what was carved before goes back to it first.
    fn restate(&mut self, question: &Question, before: Option<&Record>, stated: &mut Stated) {
        let Some(unknown) = self.unknown.as_mut() else {
            return;
        };
        if let Some(record) = before {
            unknown.rate += record.booked.rate;
            unknown.depth += record.booked.depth;
        }
        stated.rate = question.rate.min(unknown.rate);
        stated.depth = question.cap.min(unknown.depth);
        unknown.rate -= stated.rate;
        unknown.depth -= stated.depth;
        stated.until = stated.until.max(unknown.until);
        stated.prior = question.session;
    }

    /// Puts tokens back into the pool.
    fn credit(&mut self, tokens: i128) {
        self.level.tokens = self.level.tokens.saturating_add(tokens);
    }
}
