//! One request, or those that came in together: the contracts they are asked of, and the time they came.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use arc_swap::Guard;
use smallvec::SmallVec;
use tollgate_contract::{Contract, Contracts, NamedPolicy, OnFailure};
use tollgate_http::LimitReport;
use tollgate_limit::{Cost, Instant, KeyStatus, Refusing, Span};
use tollgate_node::{
    Answer, Debit, Key, Node, PolicyReadings, Receipt, ReceiptNumber, Scope, Spot, Violation,
    Within,
};

use super::later::{Begun, TicketState, Verb, settling};
use super::op::{Act, Op, OpOutcome, Settle, StartedOp};
use super::{Engine, EngineError, OpenedReceipt, Question, RemoteAnswer, RequestSender, SealError};
use crate::meter::{Decided, Door, Judgement};

/// What a request asks.
#[derive(Clone, Copy, Debug)]
pub struct EngineRequest<'a> {
    /// Who or what is counted.
    pub key: Key<'a>,
    /// Tokens it takes; zero is a peek.
    pub cost: Cost,
    /// Which contracts are asked.
    pub scope: Scope<'a>,
    /// The caller's id of the operation, where it must happen once.
    pub id: Option<&'a str>,
}

impl<'a> EngineRequest<'a> {
    /// Asks every contract that binds the key.
    pub const fn new(key: Key<'a>, cost: Cost) -> Self {
        Self {
            key,
            cost,
            scope: Scope::All,
            id: None,
        }
    }

    const fn debit(&self) -> Debit<'a> {
        let Self { key, cost, .. } = *self;
        Debit { key, cost }
    }
}

/// One request, or those that came in together.
pub struct Turn<'e> {
    pub(super) engine: &'e Engine,
    pub(super) node: Guard<Arc<Node>>,
    pub(super) now: Instant,
    pub(super) door: Door,
    /// Whether something may have to be waited for.
    pub(super) waits: bool,
    /// What policies told this node to do instead of asking, where those who decide could not be asked.
    pub(super) fell_back: Option<OnFailure>,
    pub(super) sender: Cell<RequestSender>,
}

/// A receipt that can be settled.
pub(super) struct Receivable {
    pub(super) receipt: Receipt,
    pub(super) number: u64,
    pub(super) expires: Instant,
}

impl<'e> Turn<'e> {
    pub(super) fn new(engine: &'e Engine, node: Guard<Arc<Node>>, now: Instant) -> Self {
        Self {
            engine,
            node,
            now,
            door: Door::Http,
            waits: engine.is_apart(),
            fell_back: None,
            sender: Cell::new(RequestSender::ANYONE),
        }
    }

    /// The same turn, taken by whoever came through this door; HTTP where nothing is said.
    #[must_use]
    pub fn by(mut self, door: Door) -> Self {
        self.door = door;
        self
    }

    /// Whether something may have to be waited for.
    #[inline]
    pub const fn waits(&self) -> bool {
        self.waits
    }

    /// What policies told this node to do instead of asking, where those who decide could not be asked.
    #[inline]
    pub const fn fell_back(&self) -> Option<OnFailure> {
        self.fell_back
    }

    /// The time of the turn.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The node that answers.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The node that answers, for whoever remembers something of it.
    pub fn snapshot(&self) -> &Arc<Node> {
        &self.node
    }

    /// Carries out an operation, or says what it waits for.
    #[inline]
    pub fn start(&self, op: &Op<'_>) -> StartedOp {
        match op {
            Op::Key(Act::Check, ask) if !self.waits => {
                StartedOp::Done(self.check(ask).map(OpOutcome::Answer))
            }
            _ => self.start_any(op),
        }
    }

    /// Decides one request here, and charges it.
    #[inline]
    pub fn check(&self, ask: &EngineRequest<'_>) -> Result<Answer, EngineError> {
        self.check_here(ask, None)
    }

    /// The same; with a `ttl` to be settled within it under `ask.id`.
    #[inline]
    pub(super) fn check_here(
        &self,
        ask: &EngineRequest<'_>,
        ttl: Option<Span>,
    ) -> Result<Answer, EngineError> {
        if let Some(answer) = self.banned(ask) {
            return self.note(ask, Ok(answer), false);
        }
        let is_again = self.is_again(ask);
        let answer = self.within(ask.scope).and_then(|within| {
            let asked = ask.debit();
            let done = match (ask.id, ttl) {
                (None, None) => return Ok(within.check(ask.key, ask.cost, self.now)),
                (Some(id), None) => within.check_once(&self.operation(id)?, asked, self.now),
                (id, Some(ttl)) => {
                    let id = self.operation(id.unwrap_or_default())?;
                    within.reserve(&id, asked, ttl, self.now)
                }
            };
            done.map_err(EngineError::Id)
        });
        self.note(ask, answer, is_again)
    }

    /// Decides many requests here, in order, and hands each answer over with its place; faster than one by one.
    pub fn check_many(
        &self,
        asks: &[EngineRequest<'_>],
        mut answer: impl FnMut(usize, Result<Answer, EngineError>),
    ) {
        if self.engine.has_bans() {
            let each = asks.iter().enumerate();
            return each.for_each(|(place, ask)| answer(place, self.check(ask)));
        }
        let mut run: SmallVec<[(Key<'_>, Cost); 32]> = SmallVec::new();
        let mut place = 0;
        while let Some(rest) = asks.get(place..).filter(|rest| !rest.is_empty()) {
            let together = rest.iter().take(run.inline_size());
            let together = together.take_while(|ask| ask.scope == Scope::All && ask.id.is_none());
            run.clear();
            run.extend(together.map(|ask| (ask.key, ask.cost)));
            if let ([], Some(ask)) = (&*run, rest.first()) {
                answer(place, self.check(ask));
                place += 1;
                continue;
            }
            self.node.check_many(&run, self.now, |decided| {
                if let Some(ask) = asks.get(place) {
                    answer(place, self.note(ask, Ok(decided), false));
                }
                place += 1;
            });
        }
    }

    /// Tells the meter what was decided, by whichever policies; statistics too, unless it is said again.
    #[inline]
    pub(super) fn note(
        &self,
        ask: &EngineRequest<'_>,
        answer: Result<Answer, EngineError>,
        is_again: bool,
    ) -> Result<Answer, EngineError> {
        let key = ask.key;
        if let Ok(answer) = &answer
            && !is_again
        {
            self.count(ask, answer);
            if answer.is_unmatched() {
                self.tell_unmatched(ask);
            }
        }
        let decided = match &answer {
            Ok(answer) => Decided::of(self.door, key, answer, self.now),
            Err(_) => Decided {
                door: self.door,
                key,
                judgement: Judgement::Failed,
                contract: None,
                now: self.now,
            },
        };
        self.engine.meter().decided(&decided);
        if self.engine.tail().is_watched() {
            self.show(ask, decided.judgement, answer.as_ref().ok());
        }
        answer
    }

    /// Settles a reservation at its actual cost.
    pub(super) fn begin_commit(&self, id: &str, actual: Cost) -> Begun {
        let mut left = None;
        let settle = |receipt: &Receipt| left = self.settle_or_ask(receipt, actual);
        let id = self.reservation(id)?;
        let done = self.node.commit_by(&id, actual, self.now, settle);
        done.map_err(EngineError::Id)?;
        Ok(TicketState::left(left))
    }

    /// Settles a sealed receipt once: again at the same cost does nothing, at another is refused.
    pub(super) fn begin_settle(&self, settle: &Settle<'_>) -> Begun {
        let Receivable {
            receipt,
            number,
            expires,
        } = self.receivable(settle.receipt)?;
        let (actual, id) = (
            settle.actual,
            settle.id.map(|id| self.operation(id)).transpose()?,
        );
        let mut left = None;
        let mut settle = || {
            let run = || left = self.settle_or_ask(&receipt, actual);
            let number = ReceiptNumber { number, expires };
            self.node.settle_numbered_by(number, actual, self.now, run)
        };
        let done = match id {
            None => settle(),
            Some(id) => {
                let mut done = Ok(());
                let once = self.node.do_once(&id, self.now, || done = settle());
                once.and(done)
            }
        };
        done.map_err(EngineError::Id)?;
        Ok(TicketState::left(left))
    }

    /// Settles a receipt where this node can, and returns what has to be asked otherwise.
    pub(super) fn settle_or_ask(&self, receipt: &Receipt, actual: Cost) -> Option<Question> {
        self.count_settled(receipt, actual);
        let elsewhere = self.engine.elsewhere().filter(|_| self.waits);
        let question = elsewhere.and_then(|elsewhere| {
            let question = settling(&self.node, receipt, actual)?;
            let is_here = elsewhere.is_here(&self.node, &question.spots);
            (!is_here).then_some(question)
        });
        if question.is_none() {
            self.node.settle(receipt, actual, self.now);
        }
        question
    }

    /// A sealed receipt, where it can be settled.
    pub(super) fn receivable(&self, sealed: &str) -> Result<Receivable, EngineError> {
        let opened = self.engine.seal().open(sealed);
        let opened = opened.map_err(EngineError::Receipt)?;
        let sender = self.sender();
        if opened.caller != sender.caller && !sender.settles_all {
            return Err(EngineError::Receipt(SealError::Broken));
        }
        let OpenedReceipt {
            receipt, number, ..
        } = opened;
        let made = receipt.bookings().iter().map(|booking| booking.receipt.at);
        let expires = made.min().unwrap_or_default().saturating_add(RECEIPT_VALID);
        let mut bookings = receipt.bookings().iter();
        let is_known = bookings.any(|booking| self.node.spot_of(booking).is_some());
        if expires <= self.now || !is_known {
            return Err(EngineError::Receipt(SealError::Gone));
        }
        Ok(Receivable {
            receipt,
            number,
            expires,
        })
    }

    /// Changes a key here without asking. Says whether every contract had room for it.
    pub(super) fn write(&self, verb: &Verb, ask: &EngineRequest<'_>) -> Result<bool, EngineError> {
        let within = self.within(ask.scope)?;
        if *verb != Verb::Reset && !self.is_again(ask) {
            self.count_write(verb, ask);
        }
        let (asked, now) = (ask.debit(), self.now);
        let Some(id) = ask.id else {
            return Ok(match verb {
                Verb::Charge => within.charge(ask.key, ask.cost, now),
                Verb::Refund => {
                    within.refund(ask.key, ask.cost, now);
                    true
                }
                _ => {
                    within.reset(ask.key);
                    true
                }
            });
        };
        let id = self.operation(id)?;
        let done = match verb {
            Verb::Charge => within.charge_once(&id, asked, now),
            Verb::Refund => within.refund_once(&id, asked, now),
            _ => within.reset_once(&id, ask.key, now),
        };
        done.map(|()| true).map_err(EngineError::Id)
    }

    /// How every policy that a question is asked of stands, in order, as far as it was read elsewhere; else as it
    /// stands here.
    pub fn standings<'a>(
        &'a self,
        ask: &EngineRequest<'a>,
        said: Option<RemoteAnswer>,
    ) -> Result<Vec<PolicyStanding<'a>>, EngineError> {
        let within = self.within(ask.scope)?;
        let mut read = match said {
            Some(RemoteAnswer::Statuses(each)) => self.read_elsewhere(within, ask, each),
            _ => within.status(ask.key, self.now),
        };
        let standings = read.policies();
        let standings = standings.map(|(contract, policy, _, status)| PolicyStanding {
            contract,
            policy,
            status,
        });
        Ok(standings.collect())
    }

    /// What was read elsewhere of each spot of a key.
    pub(super) fn read_elsewhere<'a, T>(
        &'a self,
        within: Within<'_>,
        ask: &EngineRequest<'_>,
        each: Vec<Vec<T>>,
    ) -> PolicyReadings<'a, T> {
        let spots = within.spots(ask.key);
        let own = |spot: &Spot| Some((spot.contract, self.node.terms_at(spot, self.now)?));
        PolicyReadings {
            node: self.node(),
            terms: spots.iter().filter_map(own).collect(),
            each: spots.iter().map(|spot| spot.contract).zip(each).collect(),
        }
    }

    /// Whether a contract binds a key.
    pub fn is_bound(&self, key: Key<'_>) -> bool {
        let within = self.within(Scope::All);
        within.is_ok_and(|within| !within.spots(key).is_empty())
    }

    pub(super) fn within<'a>(&'a self, scope: Scope<'a>) -> Result<Within<'a>, EngineError> {
        self.node.within(scope).map_err(|_| {
            let id = match scope {
                Scope::Contract(id) => id,
                Scope::All | Scope::Domain(_) => "",
            };
            EngineError::UnknownContract(id.to_owned())
        })
    }

    /// The receipt of an answer as callers keep it; `None` where nothing was charged.
    pub fn receipt(&self, answer: &Answer) -> Option<String> {
        self.engine
            .seal()
            .seal(&answer.receipt, self.sender().caller)
    }

    /// The policy that an answer tells of, with its contract: the one that refused, or that has the least left.
    pub fn named<'a>(&'a self, answer: &'a Answer) -> Option<(&'a Contract, &'a NamedPolicy)> {
        let place = answer.contract?;
        let contract = self.contracts_of(answer)?.get(place)?;
        let policy = answer.policies_of(place, contract).get(answer.policy)?;
        Some((contract, policy))
    }

    /// The policy that refused, with its contract.
    pub fn refuser<'a>(&'a self, answer: &'a Answer) -> Option<(&'a Contract, &'a NamedPolicy)> {
        self.named(answer).filter(|_| !answer.is_allowed())
    }

    /// The most tokens that the policy an answer tells of can hold.
    pub fn capacity(&self, answer: &Answer) -> u64 {
        let named = self.named(answer);
        named.map_or(answer.limit, |(_, named)| named.policy.capacity())
    }

    /// The names of all policies that refused, in order.
    pub fn violated<'a>(&'a self, answer: &'a Answer) -> Vec<&'a str> {
        let violations = self.violations(answer);
        violations.map(|(_, policy, _)| policy).collect()
    }

    /// All policies that refused, in order: contract, policy, and how it stands.
    pub fn violations<'a>(
        &'a self,
        answer: &'a Answer,
    ) -> impl Iterator<Item = (&'a str, &'a str, Refusing)> {
        let contracts = self.contracts_of(answer);
        let named = move |Violation { contract, said }| {
            let of = contracts?.get(contract)?;
            let named = answer.policies_of(contract, of).get(said.policy)?;
            Some((&*of.id, &*named.name, said))
        };
        answer.violations().into_iter().filter_map(named)
    }

    /// The name of that policy.
    pub fn policy_name<'a>(&'a self, answer: &'a Answer) -> Option<&'a str> {
        self.named(answer).map(|(_, policy)| &*policy.name)
    }

    /// How the policies stand that gave an answer: header fields, status and body of a refusal. Where one contract with
    /// one policy binds the key, and something is left, the answer says everything: no cell is looked up again and
    /// nothing is allocated.
    #[inline]
    pub fn report<'t>(&'t self, answer: &'t Answer) -> LimitReport<'t> {
        LimitReport::of(self.node(), answer, self.now)
    }

    /// The contracts that gave an answer; `None` where it is from before, remembered by its id.
    pub fn contracts_of(&self, answer: &Answer) -> Option<&Contracts> {
        self.node.giver(answer).map(Node::contracts)
    }
}

/// How one policy stands for a key.
#[derive(Clone, Debug)]
pub struct PolicyStanding<'a> {
    /// The contract.
    pub contract: &'a Contract,
    /// The policy.
    pub policy: Cow<'a, NamedPolicy>,
    /// How it stands.
    pub status: KeyStatus,
}

/// How long a receipt can be settled: a quarter of an hour.
const RECEIPT_VALID: Span = Span::from_nanos(900 * 1_000_000_000);
