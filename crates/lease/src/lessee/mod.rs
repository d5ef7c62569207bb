//! The client's side of one key: it decides by itself while its lease lasts, and asks when it is dry.
//!
//! Call [`Lessee::check`] for each request; drain [`Lessee::poll_send`] and [`Lessee::poll_decided`] after every call,
//! and call [`Lessee::handle_timeout`] no later than [`Lessee::poll_timeout`] says. `now` is a monotonic clock that
//! counts suspend; a step back voids what is held. Messages may be lost, doubled, late and out of order. Not here:
//! several keys, sockets, who the grantor is.

mod apply;
mod ask;
mod clock;
mod promise;
mod spend;

use std::collections::VecDeque;

use tollgate_gossip::ModeKey;
use tollgate_limit::{Instant, Span};

use crate::demand::Demand;
use crate::message::{Question, Stamp};
use crate::promise::Promise;

/// Requests that wait at a time; those beyond are answered as if the grantor were away.
pub const WAITING_MAX: usize = 1024;

/// What a client says when nobody answers and its lease has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Refuse.
    Deny,
    /// Admit everything.
    Allow,
    /// Admit from a private bucket; clients times its rate is what may be admitted too much.
    Safe {
        /// Tokens per second.
        per_second: u64,
        /// Tokens at once.
        burst: u64,
    },
}

/// Who the client is and how it behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Who it is.
    pub client: u64,
    /// Which incarnation; must grow with each start.
    pub boot: u64,
    /// What is limited.
    pub key: ModeKey,
    /// By how much its clock may run wrong, in millionths.
    pub drift_ppm: u32,
    /// How often it looks at its clock; twice that is kept off every term.
    pub look_ns: u64,
    /// After which time without an answer the grantor counts as away.
    pub timeout_ns: u64,
    /// A first guess of a round trip.
    pub trip_ns: u64,
    /// The term it expects before it has heard of one.
    pub term_ns: u64,
    /// Uses in a term below which no lease is wished.
    pub uses_min: u64,
    /// What it says when nobody answers.
    pub on_failure: OnFailure,
    /// The longest that a request may wait for its cost to come back to the lease; zero where none does.
    pub max_wait_ns: u64,
    /// The number of the last question that this boot has asked about the key before, where it has: a grantor ignores
    /// smaller ones.
    pub seq: u64,
}

impl Setup {
    /// A client with the usual settings.
    pub const fn new(client: u64, boot: u64, key: ModeKey) -> Self {
        Self {
            client,
            boot,
            key,
            drift_ppm: 500,
            look_ns: 10_000_000,
            timeout_ns: 200_000_000,
            trip_ns: 2_000_000,
            term_ns: 2_000_000_000,
            uses_min: 8,
            on_failure: OnFailure::Deny,
            max_wait_ns: 0,
            seq: 0,
        }
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LesseeAnswer {
    /// It passes; the receipt is for settling.
    Allow(LeaseReceipt),
    /// It passes after that, and not before: its cost is on its way.
    Delay {
        /// For settling.
        receipt: LeaseReceipt,
        /// How long.
        wait: Span,
    },
    /// It does not, and would not before that.
    Deny {
        /// How long.
        retry_after: Span,
    },
    /// The grantor is asked; [`Lessee::poll_decided`] has the answer under this number.
    Wait(u64),
    /// Nobody answers; so it was configured.
    Failed {
        /// Whether it passes.
        is_allowed: bool,
    },
}

/// The answer to a request that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The request.
    pub number: u64,
    /// Its cost.
    pub cost: u64,
    /// Whether it passes.
    pub is_allowed: bool,
    /// Where it was decided.
    pub by: DecidedBy,
    /// For what was refused: how long to wait.
    pub retry_after: Span,
    /// For what passes: after which time, and not before.
    pub wait: Span,
    /// What it took from the lease, where it did.
    pub receipt: Option<LeaseReceipt>,
}

/// How a request would fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// The lease has its cost.
    Ready,
    /// It would be refused here.
    Denied {
        /// For how long.
        retry_after: Span,
    },
    /// It would wait for the grantor.
    Dry,
    /// Nobody answers.
    Away,
}

/// Where a request that waited was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// By the grantor, from its pool.
    Grantor,
    /// Here, from the lease.
    Lease,
    /// Nowhere: nobody answered.
    Nobody,
}

/// What a request took, and from which lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseReceipt {
    cost: u64,
    /// How many leases were voided before.
    epoch: u64,
}

/// What a client holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldLease {
    /// Its level; below zero it is owed.
    pub level: i128,
    /// Its rate.
    pub rate: i128,
    /// What its level cannot exceed.
    pub depth: i128,
    /// What it has returned in this session.
    pub give: i128,
    /// Its session.
    pub session: Stamp,
    /// The last grant it applied.
    pub got: Stamp,
    /// Its last question.
    pub seq: u64,
    /// Whether an answer to that would count.
    pub is_open: bool,
}

/// What a client counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LesseeFigures {
    /// Requests decided from the lease at once.
    pub local: u64,
    /// Requests that pass after a wait, once their cost has come back to the lease.
    pub promised: u64,
    /// Requests that waited for the grantor.
    pub waited: u64,
    /// Requests refused without asking.
    pub denied: u64,
    /// Requests that nobody answered.
    pub failed: u64,
    /// Messages sent.
    pub sent: u64,
    /// Answers that came twice, too late or for another.
    pub stale: u64,
    /// Steps back of the clock that were seen.
    pub steps: u64,
}

impl LesseeFigures {
    /// Adds those of another.
    pub const fn add(&mut self, other: &Self) {
        self.local += other.local;
        self.promised += other.promised;
        self.waited += other.waited;
        self.denied += other.denied;
        self.failed += other.failed;
        self.sent += other.sent;
        self.stale += other.stale;
        self.steps += other.steps;
    }
}

/// The client's side of one key.
#[derive(Clone, Debug)]
pub struct Lessee {
    setup: Setup,
    lease: Lease,
    /// What was returned in this session.
    give: i128,
    got: Stamp,
    seq: u64,
    pending: Option<Pending>,
    deny_until: Instant,
    /// Whether the grantor would promise more to requests that ask one by one, whatever it said to refuse.
    is_welcome: bool,
    demand: Heard,
    line: Line,
    /// A round trip, smoothed.
    trip_ns: u64,
    /// Whether nobody answers.
    is_away: bool,
    safe: Safe,
    out: VecDeque<Question>,
    figures: LesseeFigures,
}

/// The lease at hand.
#[derive(Clone, Copy, Debug)]
struct Lease {
    level: i128,
    rate: i128,
    depth: i128,
    /// Below that, no refill can be turned away before the next look.
    brim: i128,
    /// At which level it asks for more.
    low: i128,
    /// Its end on this clock.
    until: Instant,
    /// When it is renewed.
    renew: Instant,
    /// Up to when it is filled.
    filled: Instant,
    /// The last time the clock was looked at.
    clock: Instant,
    session: Stamp,
    term_ns: u64,
    /// How many leases were voided.
    epoch: u64,
    promise: Promise,
    /// Whether the grantor wishes a cut, for which nothing may be promised.
    is_held: bool,
}

/// The question that is out.
#[derive(Clone, Copy, Debug)]
struct Pending {
    question: Question,
    /// When it was first sent; `None` where the clock stepped back since.
    at: Option<Instant>,
    /// How many leases were voided by then.
    epoch: u64,
    first: Instant,
    sent: Instant,
    tries: u32,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
struct Heard {
    demand: Demand,
    /// The demand that was told last.
    told: u64,
    /// Tokens asked for since the last message.
    seen: u64,
    /// Tokens not yet counted in the demand.
    fresh: u64,
    /// Tokens spent beyond what was held, to be told.
    owed: u64,
    looked: Instant,
}

/// Requests that wait.
#[derive(Clone, Debug, Default)]
struct Line {
    waiting: VecDeque<Waiter>,
    decided: VecDeque<Decided>,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    number: u64,
    cost: u64,
    /// Whether the question that is out counts it.
    is_stated: bool,
}

/// The private bucket for when nobody answers, in nanoseconds of refill.
#[derive(Clone, Copy, Debug)]
struct Safe {
    level: i128,
    at: Instant,
}

impl Lessee {
    /// A client that holds nothing.
    pub fn new(setup: Setup, now: Instant) -> Self {
        Self {
            setup,
            lease: Lease::none(setup.term_ns, now),
            give: 0,
            got: Stamp::default(),
            seq: setup.seq,
            pending: None,
            deny_until: now,
            is_welcome: false,
            demand: Heard {
                demand: Demand::new(now),
                told: 0,
                seen: 0,
                fresh: 0,
                owed: 0,
                looked: now,
            },
            line: Line::default(),
            trip_ns: setup.trip_ns,
            is_away: false,
            safe: Safe::full(setup.on_failure, now),
            out: VecDeque::new(),
            figures: LesseeFigures::default(),
        }
    }

    /// Goes by other terms from here on; what it holds and has promised stays.
    pub fn follow(&mut self, setup: &Setup, now: Instant) {
        if setup.on_failure != self.setup.on_failure {
            self.safe = Safe::full(setup.on_failure, now);
        }
        self.setup = *setup;
    }

    /// The next message to send, oldest first.
    pub fn poll_send(&mut self) -> Option<Question> {
        let question = self.out.pop_front()?;
        self.figures.sent += 1;
        Some(question)
    }

    /// Whether there is something to send.
    #[inline]
    pub fn has_sends(&self) -> bool {
        !self.out.is_empty()
    }

    /// The next request that waited and is decided.
    pub fn poll_decided(&mut self) -> Option<Decided> {
        self.line.decided.pop_front()
    }

    /// When to call [`Self::handle_timeout`] next; `None` while there is nothing to look after.
    pub fn poll_timeout(&self) -> Option<Instant> {
        // A question is dated by this clock as well, so that a step back must be seen while it is out.
        let look = (self.lease.depth > 0 || self.pending.is_some())
            .then(|| crate::amount::after(self.lease.clock, self.setup.look_ns));
        let retry = self.pending.as_ref().map(|pending| self.retry_at(pending));
        match (look, retry) {
            (Some(look), Some(retry)) => Some(look.min(retry)),
            (one, other) => one.or(other),
        }
    }

    /// What it would hold at `now`.
    pub fn held(&self, now: Instant) -> HeldLease {
        let mut lease = self.lease;
        let is_over = now < lease.clock || now >= lease.until;
        if is_over {
            (lease.level, lease.rate, lease.depth) = (0, 0, 0);
        } else {
            lease.fill_beside(now, self.cap(), &self.setup);
        }
        let voided = if is_over { self.lease.level.max(0) } else { 0 };
        HeldLease {
            level: lease.level,
            rate: lease.rate,
            depth: lease.depth.min(self.cap()),
            give: self.give + voided,
            session: lease.session,
            got: self.got,
            seq: self.seq,
            is_open: self.pending.is_some(),
        }
    }

    /// The number of its last question.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// What was counted.
    pub const fn figures(&self) -> LesseeFigures {
        self.figures
    }

    /// What the level may not exceed: what was promised needs room too.
    fn top(&self, now: Instant) -> i128 {
        self.cap() - self.lease.promise.bound(now)
    }

    /// What the level and what was promised may not exceed: less while a question is out (C5).
    fn cap(&self) -> i128 {
        let cap = self.pending.as_ref().map(|pending| pending.question.cap);
        cap.map_or(self.lease.depth, |cap| cap.min(self.lease.depth))
    }
}

const MILLION: i128 = 1_000_000;
