//! All that a client has of one key: a lease for each policy, and requests that wait for all of them.
//!
//! A request passes when every policy passes it. As long as all leases have its cost it is decided here; otherwise it
//! waits for one answer that serves it in all policies or in none. A key that is not lent is left to whoever carries
//! questions. Not here: several keys, sockets.

mod join;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use tollgate_limit::{Instant, Span};

use crate::amount::after;
use crate::bundle::{BundleReply, Inquiry, LeaseTerms};
use crate::lessee::{
    Decided, DecidedBy, HeldLease, LeaseReceipt, Lessee, LesseeAnswer, LesseeFigures, Outlook,
    Setup,
};

pub use join::{JoinReceipt, Joined};

/// What is said of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinAnswer {
    /// It passes, by the leases at hand.
    Allow(JoinReceipt),
    /// It passes after that, and not before.
    Delay {
        /// For settling.
        receipt: JoinReceipt,
        /// How long.
        wait: Span,
    },
    /// It does not, and would not before that.
    Deny {
        /// How long.
        retry_after: Span,
    },
    /// It waits; [`Holding::poll_joined`] has the answer under this number.
    Wait(u64),
    /// The key is not lent: somebody must be asked for the decision.
    Ask,
    /// Nobody answers; so it was configured.
    Failed {
        /// Whether it passes.
        is_allowed: bool,
    },
}

/// All that a client has of one key.
#[derive(Debug)]
pub struct Holding {
    setup: Setup,
    state: State,
    line: join::JoinQueue,
    /// When terms are asked for next, where they are not known or may have changed.
    asks_at: Instant,
    /// Whether terms are to be asked for.
    is_asking: bool,
    /// Counts of leases that are no more.
    past: LesseeFigures,
}

#[derive(Debug)]
enum State {
    /// Nobody has said yet what the key is lent by.
    Unknown {
        /// Since when somebody waits for it.
        since: Option<Instant>,
    },
    /// It is not lent.
    Asked {
        /// A refusal that holds until then.
        deny_until: Instant,
    },
    /// By its policies.
    Lent(Vec<(u64, Lessee)>),
}

impl Holding {
    /// A client that holds nothing of the key of this setup, and does by it until it is told terms.
    pub fn new(setup: Setup, now: Instant) -> Self {
        Self {
            setup,
            state: State::Unknown { since: None },
            line: join::JoinQueue::default(),
            asks_at: now,
            is_asking: false,
            past: LesseeFigures::default(),
        }
    }

    /// Decides a request, or puts it in line. Allocates nothing while the one lease of the key suffices.
    #[inline]
    pub fn check(&mut self, cost: u64, now: Instant) -> JoinAnswer {
        if let State::Lent(each) = &mut self.state
            && let [(_, only)] = &mut **each
        {
            let answer = only.check(cost, now);
            return self.line.said(answer, cost);
        }
        self.check_slowly(cost, now)
    }

    /// Decides unless somebody would have to be waited for.
    pub fn check_at_once(&mut self, cost: u64, now: Instant) -> Option<JoinAnswer> {
        let waits = match &mut self.state {
            State::Unknown { .. } => true,
            State::Asked { deny_until } => now >= *deny_until,
            State::Lent(each) => {
                let mut outlooks = each.iter_mut().map(|(_, of)| of.outlook(cost, now));
                outlooks.any(|outlook| outlook == Outlook::Dry)
            }
        };
        (!waits).then(|| self.check(cost, now))
    }

    /// Decides without ever waiting; what would wait is refused, and more is asked for.
    pub fn try_check(&mut self, cost: u64, now: Instant) -> JoinAnswer {
        let trip = Span::from_nanos(u128::from(self.setup.trip_ns));
        match &mut self.state {
            State::Lent(each) => {
                for (_, lessee) in &mut *each {
                    if lessee.outlook(cost, now) == Outlook::Dry {
                        lessee.handle_nudge(now);
                        lessee.want(cost, now);
                        return JoinAnswer::Deny { retry_after: trip };
                    }
                }
                if let [(_, only)] = &mut **each {
                    let answer = only.try_check(cost, now);
                    return self.line.said(answer, cost);
                }
                self.check(cost, now)
            }
            State::Unknown { since } => {
                since.get_or_insert(now);
                self.is_asking |= now >= self.asks_at;
                JoinAnswer::Deny { retry_after: trip }
            }
            State::Asked { .. } => self.check_slowly(cost, now),
        }
    }

    fn check_slowly(&mut self, cost: u64, now: Instant) -> JoinAnswer {
        match &mut self.state {
            State::Unknown { since } => {
                if self.line.len() >= crate::WAITING_MAX {
                    return self.fail();
                }
                since.get_or_insert(now);
                self.is_asking |= now >= self.asks_at;
                JoinAnswer::Wait(self.line.unknown(cost))
            }
            State::Asked { deny_until } => {
                if now < *deny_until {
                    let left = u128::from(deny_until.nanos_since(now));
                    return JoinAnswer::Deny {
                        retry_after: Span::from_nanos(left),
                    };
                }
                JoinAnswer::Ask
            }
            State::Lent(each) => self.line.several(each, cost, now),
        }
    }

    /// The next thing to say, where there is something.
    pub fn poll_inquiry(&mut self, now: Instant) -> Option<Inquiry> {
        if std::mem::take(&mut self.is_asking) {
            self.asks_at = after(now, self.setup.timeout_ns / 4);
            return Some(Inquiry::new());
        }
        let State::Lent(each) = &mut self.state else {
            return None;
        };
        let said: Inquiry = each
            .iter_mut()
            .filter_map(|(tag, lessee)| Some((*tag, lessee.poll_send()?)))
            .collect();
        (!said.is_empty()).then_some(said)
    }

    /// Whether there is something to say.
    #[inline]
    pub fn has_something_to_say(&self) -> bool {
        let says = match &self.state {
            State::Lent(each) => each.iter().any(|(_, lessee)| lessee.has_sends()),
            State::Unknown { .. } | State::Asked { .. } => false,
        };
        says || self.is_asking
    }

    /// The next request that waited and is decided.
    pub fn poll_joined(&mut self) -> Option<Joined> {
        self.line.poll()
    }

    /// Takes an answer.
    pub fn handle_reply(&mut self, reply: &BundleReply, now: Instant) {
        match reply {
            BundleReply::Ask => {
                if !matches!(self.state, State::Asked { .. }) {
                    self.retire();
                    self.state = State::Asked { deny_until: now };
                    self.line.leave_to_others();
                }
                self.asks_at = after(now, ASK_AGAIN_NS);
            }
            BundleReply::Lent { terms, each } => {
                self.agree(terms, each.iter().map(|(tag, _)| *tag), now);
                let State::Lent(held) = &mut self.state else {
                    return;
                };
                for (tag, grant) in each {
                    let lessee = held.iter_mut().find(|(of, _)| of == tag);
                    if let (Some((_, lessee)), Some(grant)) = (lessee, grant) {
                        lessee.handle_grant(grant, now);
                    }
                }
                self.line.hear(held, now);
            }
        }
    }

    /// The grantor wishes to hear of this client.
    pub fn handle_nudge(&mut self, now: Instant) {
        self.each(|lessee| lessee.handle_nudge(now));
    }

    /// Another grantor is there: questions that are out are said again, unchanged.
    pub fn handle_failover(&mut self, now: Instant) {
        let is_waiting = matches!(self.state, State::Unknown { since: Some(_) });
        self.is_asking |= is_waiting;
        self.each(|lessee| lessee.handle_failover(now));
    }

    /// Looks after leases and questions.
    pub fn handle_timeout(&mut self, now: Instant) {
        match &mut self.state {
            State::Unknown { since } => {
                let Some(begun) = *since else {
                    return;
                };
                if now.nanos_since(begun) >= self.setup.timeout_ns {
                    *since = None;
                    self.line.fail_unknown(self.setup.on_failure);
                } else {
                    self.is_asking |= now >= self.asks_at;
                }
            }
            State::Asked { .. } => self.is_asking |= now >= self.asks_at,
            State::Lent(each) => {
                for (_, lessee) in &mut *each {
                    lessee.handle_timeout(now);
                }
                self.line.hear(each, now);
            }
        }
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Unknown { since } => since.map(|since| {
                let end = after(since, self.setup.timeout_ns);
                self.asks_at.min(end)
            }),
            State::Asked { .. } => Some(self.asks_at),
            State::Lent(each) => {
                let due = each.iter().filter_map(|(_, lessee)| lessee.poll_timeout());
                due.min()
            }
        }
    }

    /// A request that was asked for elsewhere was refused for so long.
    pub fn handle_refusal(&mut self, retry_after: Span, now: Instant) {
        if let State::Asked { deny_until } = &mut self.state {
            let nanos = u64::try_from(retry_after.as_nanos()).unwrap_or(u64::MAX);
            *deny_until = after(now, nanos.min(REFUSED_NS_MAX));
        }
    }

    /// Charges what a request really cost.
    pub fn settle(&mut self, receipt: &JoinReceipt, cost: u64, now: Instant) {
        let State::Lent(each) = &mut self.state else {
            return;
        };
        for ((_, lessee), receipt) in each.iter_mut().zip(receipt.each()) {
            lessee.settle(*receipt, cost, now);
        }
    }

    /// Gives everything back.
    pub fn release(&mut self, now: Instant) {
        self.each(|lessee| lessee.release(now));
    }

    /// Whether somebody waits for a decision.
    pub fn has_waiting(&self) -> bool {
        !self.line.is_empty()
    }

    /// The largest number of a question that was asked about the key; a later holding of it has to begin there.
    pub fn seq(&self) -> u64 {
        let mut seq = self.setup.seq;
        if let State::Lent(each) = &self.state {
            for (_, lessee) in each {
                seq = seq.max(lessee.seq());
            }
        }
        seq
    }

    /// What is held of each policy, by its tag.
    pub fn held(&self, now: Instant) -> Vec<(u64, HeldLease)> {
        match &self.state {
            State::Lent(each) => {
                let held = each.iter().map(|(tag, lessee)| (*tag, lessee.held(now)));
                held.collect()
            }
            State::Unknown { .. } | State::Asked { .. } => Vec::new(),
        }
    }

    /// Whether a lease is held, or somebody waits.
    pub fn is_busy(&self, now: Instant) -> bool {
        let holds = match &self.state {
            State::Lent(each) => each
                .iter()
                .any(|(_, lessee)| lessee.held(now).depth > 0 || lessee.poll_timeout().is_some()),
            State::Unknown { since } => since.is_some(),
            State::Asked { .. } => false,
        };
        holds || !self.line.is_empty()
    }

    /// Whole tokens that a request could take at once; `None` where the key is not lent.
    pub fn peek(&self, now: Instant) -> Option<u64> {
        let State::Lent(each) = &self.state else {
            return None;
        };
        each.iter().map(|(_, lessee)| lessee.peek(now)).min()
    }

    /// Of the leases, the one that lets a request of that cost wait longest, or that has the least: its tag, and the
    /// whole tokens in it. `None` where the key is not lent.
    pub fn tightest(&self, cost: u64, now: Instant) -> Option<(u64, u64)> {
        let State::Lent(each) = &self.state else {
            return None;
        };
        let rank = |(tag, lessee): &(u64, Lessee)| {
            let until = lessee.until_ready(cost, now);
            (until.is_some(), Reverse(until), lessee.peek(now), *tag)
        };
        let tightest = each.iter().map(rank).min();
        tightest.map(|(_, _, tokens, tag)| (tag, tokens))
    }

    /// How long until a request of that cost could pass from leases alone.
    pub fn until_ready(&self, cost: u64, now: Instant) -> Option<Span> {
        let State::Lent(each) = &self.state else {
            return None;
        };
        let each = each.iter().map(|(_, lessee)| lessee.until_ready(cost, now));
        each.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// What was counted.
    pub fn figures(&self) -> LesseeFigures {
        let mut sum = self.past;
        if let State::Lent(each) = &self.state {
            for (_, lessee) in each {
                sum.add(&lessee.figures());
            }
        }
        sum
    }

    fn each(&mut self, mut act: impl FnMut(&mut Lessee)) {
        if let State::Lent(each) = &mut self.state {
            for (_, lessee) in each {
                act(lessee);
            }
        }
    }

    const fn fail(&self) -> JoinAnswer {
        let is_allowed = matches!(self.setup.on_failure, crate::OnFailure::Allow);
        JoinAnswer::Failed { is_allowed }
    }

    /// Has a lease for each of these policies from here on.
    fn agree(&mut self, terms: &LeaseTerms, tags: impl Iterator<Item = u64>, now: Instant) {
        let tags: Vec<u64> = tags.collect();
        // A promise is one lease's: of several each would have to keep it at its own time.
        let max_wait_ns = if tags.len() == 1 {
            terms.max_wait_ns
        } else {
            0
        };
        let setup = Setup {
            seq: self.seq(),
            drift_ppm: terms.drift_ppm,
            timeout_ns: terms.timeout_ns,
            term_ns: terms.term_ns,
            uses_min: terms.uses_min,
            on_failure: terms.on_failure,
            max_wait_ns,
            ..self.setup
        };
        self.setup = setup;
        if let State::Lent(each) = &mut self.state
            && each.iter().map(|(tag, _)| *tag).eq(tags.iter().copied())
        {
            for (_, lessee) in each {
                lessee.follow(&setup, now);
            }
            return;
        }
        let mut before = match std::mem::replace(&mut self.state, State::Lent(Vec::new())) {
            State::Lent(each) => each.into_iter().collect::<BTreeMap<_, _>>(),
            State::Unknown { .. } | State::Asked { .. } => BTreeMap::new(),
        };
        let lessee = |tag: u64| {
            let held = before.remove(&tag);
            let mut lessee = held.unwrap_or_else(|| Lessee::new(setup, now));
            lessee.follow(&setup, now);
            (tag, lessee)
        };
        let mut each: Vec<_> = tags.into_iter().map(lessee).collect();
        for lessee in before.values() {
            self.past.add(&lessee.figures());
        }
        self.line.begin(&mut each, now);
        self.state = State::Lent(each);
    }

    /// Lets leases go that nobody lends any more.
    fn retire(&mut self) {
        self.setup.seq = self.seq();
        if let State::Lent(each) = &self.state {
            for (_, lessee) in each {
                self.past.add(&lessee.figures());
            }
        }
    }
}

/// How often it is asked whether a key is lent by now.
const ASK_AGAIN_NS: u64 = 10_000_000_000;
/// A refusal is not kept for longer.
const REFUSED_NS_MAX: u64 = 1_000_000_000;
