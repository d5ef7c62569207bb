//! One request, or those that came in together: the contracts they are asked of, and the time they came.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use arc_swap::Guard;
use smallvec::SmallVec;
use tollgate_contract::{Contract, Contracts, NamedPolicy};
use tollgate_limit::{Cost, Instant, Refusing, Span, Status};
use tollgate_node::{Answer, Key, Node, Receipt, Scope, Violation, Within};

use super::later::{Notes, Verb};
use super::{Engine, EngineError, Opened, SealError, Sender};
use crate::meter::{Decided, Door, Judgement};

/// What a request asks.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Who or what is counted.
    pub key: Key<'a>,
    /// Tokens it takes; zero is a peek.
    pub cost: Cost,
    /// Which contracts are asked.
    pub scope: Scope<'a>,
    /// The caller's id of the operation, where it must happen once.
    pub id: Option<&'a str>,
}

impl<'a> Ask<'a> {
    /// Asks every contract that binds the key.
    pub const fn new(key: Key<'a>, cost: Cost) -> Self {
        Self {
            key,
            cost,
            scope: Scope::All,
            id: None,
        }
    }
}

/// One request, or those that came in together.
pub struct Turn<'e> {
    pub(super) engine: &'e Engine,
    pub(super) node: Guard<Arc<Node>>,
    pub(super) now: Instant,
    pub(super) door: Door,
    /// Where some decisions come later.
    pub(super) notes: Option<&'e Notes>,
    pub(super) sender: Cell<Sender>,
}

/// A receipt that can be settled.
pub(super) struct Receivable {
    pub(super) receipt: Receipt,
    pub(super) number: u64,
    pub(super) expires: Instant,
}

impl<'e> Turn<'e> {
    pub(super) const fn new(engine: &'e Engine, node: Guard<Arc<Node>>, now: Instant) -> Self {
        Self {
            engine,
            node,
            now,
            door: Door::Http,
            notes: None,
            sender: Cell::new(Sender::ANYONE),
        }
    }

    /// A turn by the contracts and at the time of the notes it keeps.
    pub(super) fn noting(engine: &'e Engine, notes: &'e Notes) -> Self {
        let (node, now) = notes.began();
        Self {
            notes: Some(notes),
            ..Self::new(engine, Guard::from_inner(node), now)
        }
    }

    /// The same turn, taken by whoever came through this door; HTTP where nothing is said.
    #[must_use]
    pub fn by(mut self, door: Door) -> Self {
        self.door = door;
        self
    }

    /// Whether something that was asked has to be waited for: then the answer so far is worth nothing.
    #[inline]
    pub fn waits(&self) -> bool {
        self.notes.is_some_and(|notes| notes.open() > 0)
    }

    /// What is asked from here on belongs to another request. What was asked before has been answered.
    #[inline]
    pub fn go_on(&self) {
        if let Some(notes) = self.notes {
            notes.forget_from(0);
        }
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

    /// Decides one request and charges it.
    #[inline]
    pub fn check(&self, ask: &Ask<'_>) -> Result<Answer, EngineError> {
        if let Some(notes) = self.notes {
            return self.check_noted(notes, ask, None);
        }
        self.check_now(ask)
    }

    /// Decides the only thing that a request asks, and charges it. Whoever asks more, before or after, asks [`Self::check`].
    #[inline]
    pub fn check_only(&self, ask: &Ask<'_>) -> Result<Answer, EngineError> {
        if let Some(notes) = self.notes {
            return self.check_only_noted(notes, ask);
        }
        self.check_now(ask)
    }

    #[inline]
    fn check_now(&self, ask: &Ask<'_>) -> Result<Answer, EngineError> {
        match self.banned(ask) {
            None => self.check_here(ask),
            Some(answer) => self.note(ask, Ok(answer), false),
        }
    }

    #[inline]
    pub(super) fn check_here(&self, ask: &Ask<'_>) -> Result<Answer, EngineError> {
        let is_again = self.is_again(ask);
        let answer = self.within(ask.scope).and_then(|within| {
            let Some(id) = ask.id else {
                return Ok(within.check(ask.key, ask.cost, self.now));
            };
            let done = within.check_once(&self.operation(id)?, (ask.key, ask.cost), self.now);
            done.map_err(EngineError::Id)
        });
        self.note(ask, answer, is_again)
    }

    /// Decides many requests in order, and hands each answer over with its place; faster than one by one.
    pub fn check_many(
        &self,
        asks: &[Ask<'_>],
        mut answer: impl FnMut(usize, Result<Answer, EngineError>),
    ) {
        if self.notes.is_some() || self.engine.has_bans() {
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
        ask: &Ask<'_>,
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

    /// Decides one request and charges it, to be settled within `ttl` under `ask.id`.
    pub fn reserve(&self, ask: &Ask<'_>, ttl: Span) -> Result<Answer, EngineError> {
        match self.notes {
            Some(notes) => self.check_noted(notes, ask, Some(ttl)),
            None => match self.banned(ask) {
                None => self.reserve_here(ask, ttl),
                Some(answer) => self.note(ask, Ok(answer), false),
            },
        }
    }

    pub(super) fn reserve_here(&self, ask: &Ask<'_>, ttl: Span) -> Result<Answer, EngineError> {
        let is_again = self.is_again(ask);
        let answer = self.within(ask.scope).and_then(|within| {
            let id = self.operation(ask.id.unwrap_or_default())?;
            let done = within.reserve(&id, (ask.key, ask.cost), ttl, self.now);
            done.map_err(EngineError::Id)
        });
        self.note(ask, answer, is_again)
    }

    /// Settles a reservation at its actual cost.
    pub fn commit(&self, id: &str, actual: Cost) -> Result<(), EngineError> {
        if let Some(notes) = self.notes {
            return self.commit_noted(notes, id, actual);
        }
        let settle = |receipt: &Receipt| {
            self.node.settle(receipt, actual, self.now);
            self.count_settled(receipt, actual);
        };
        let done = self
            .node
            .commit_by(&self.reservation(id)?, actual, self.now, settle);
        done.map_err(EngineError::Id)
    }

    /// Gives a reservation back in full.
    pub fn cancel(&self, id: &str) -> Result<(), EngineError> {
        self.commit(id, Cost::PEEK)
    }

    /// Charges the difference between `actual` and what was charged, by a sealed receipt.
    ///
    /// A receipt is settled once: again at the same cost does nothing, at another is refused.
    pub fn settle(&self, receipt: &str, actual: Cost, id: Option<&str>) -> Result<(), EngineError> {
        let receivable = self.receivable(receipt)?;
        if let Some(notes) = self.notes {
            return self.settle_noted(notes, &receivable, (actual, id));
        }
        let Receivable {
            receipt,
            number,
            expires,
        } = receivable;
        let id = id.map(|id| self.operation(id)).transpose()?;
        let settle = || {
            let times = (expires, self.now);
            self.node.settle_numbered_by(number, actual, times, || {
                self.node.settle(&receipt, actual, self.now);
                self.count_settled(&receipt, actual);
            })
        };
        let Some(id) = id else {
            return settle().map_err(EngineError::Id);
        };
        let mut done = Ok(());
        let once = self.node.do_once(&id, self.now, || done = settle());
        once.and(done).map_err(EngineError::Id)
    }

    /// A sealed receipt, where it can be settled.
    fn receivable(&self, sealed: &str) -> Result<Receivable, EngineError> {
        let opened = self.engine.seal().open(sealed);
        let opened = opened.map_err(EngineError::Receipt)?;
        let sender = self.sender();
        if opened.caller != sender.caller && !sender.settles_all {
            return Err(EngineError::Receipt(SealError::Broken));
        }
        let Opened {
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

    /// Gives what an answer took back in full, before anybody has its receipt.
    pub fn give_back(&self, receipt: &Receipt) {
        if let Some(notes) = self.notes {
            return self.give_back_noted(notes, receipt);
        }
        self.node.settle(receipt, Cost::PEEK, self.now);
        self.count_settled(receipt, Cost::PEEK);
    }

    /// Charges without asking. Says whether every contract had room for the key.
    pub fn charge(&self, ask: &Ask<'_>) -> Result<bool, EngineError> {
        if let Some(notes) = self.notes {
            let here = || self.charge_here(ask);
            return self.write_noted(notes, (Verb::Charge, ask), here);
        }
        self.charge_here(ask)
    }

    fn charge_here(&self, ask: &Ask<'_>) -> Result<bool, EngineError> {
        let within = self.within(ask.scope)?;
        self.count_write(&Verb::Charge, ask);
        let Some(id) = ask.id else {
            return Ok(within.charge(ask.key, ask.cost, self.now));
        };
        let done = within.charge_once(&self.operation(id)?, (ask.key, ask.cost), self.now);
        done.map(|()| true).map_err(EngineError::Id)
    }

    /// Gives tokens back, the last taken first.
    pub fn refund(&self, ask: &Ask<'_>) -> Result<(), EngineError> {
        if let Some(notes) = self.notes {
            let here = || self.refund_here(ask).map(|()| true);
            return self.write_noted(notes, (Verb::Refund, ask), here).map(drop);
        }
        self.refund_here(ask)
    }

    fn refund_here(&self, ask: &Ask<'_>) -> Result<(), EngineError> {
        let within = self.within(ask.scope)?;
        self.count_write(&Verb::Refund, ask);
        let Some(id) = ask.id else {
            within.refund(ask.key, ask.cost, self.now);
            return Ok(());
        };
        let done = within.refund_once(&self.operation(id)?, (ask.key, ask.cost), self.now);
        done.map_err(EngineError::Id)
    }

    /// Forgets everything about a key. The cost is not looked at.
    pub fn reset(&self, ask: &Ask<'_>) -> Result<(), EngineError> {
        if let Some(notes) = self.notes {
            let here = || self.reset_here(ask).map(|()| true);
            return self.write_noted(notes, (Verb::Reset, ask), here).map(drop);
        }
        self.reset_here(ask)
    }

    fn reset_here(&self, ask: &Ask<'_>) -> Result<(), EngineError> {
        let within = self.within(ask.scope)?;
        let Some(id) = ask.id else {
            within.reset(ask.key);
            return Ok(());
        };
        let done = within.reset_once(&self.operation(id)?, ask.key, self.now);
        done.map_err(EngineError::Id)
    }

    /// How every policy that binds a key stands, in order.
    pub fn standings<'a>(&'a self, key: Key<'a>) -> Vec<Standing<'a>> {
        let standings = self.standings_of(&Ask::new(key, Cost::PEEK));
        standings.unwrap_or_default()
    }

    /// How every policy that a question is asked of stands, in order. Its cost and id are not looked at.
    pub fn standings_of<'a>(&'a self, ask: &Ask<'a>) -> Result<Vec<Standing<'a>>, EngineError> {
        let within = self.within(ask.scope)?;
        if let Some(notes) = self.notes
            && let Some(standings) = self.standings_noted(notes, within, ask)
        {
            return Ok(standings);
        }
        Ok(self.standings_in(within, ask.key))
    }

    fn standings_in<'a>(&self, within: Within<'a>, key: Key<'_>) -> Vec<Standing<'a>> {
        let mut standings = Vec::new();
        let mut read = within.status(key, self.now);
        let node = read.node;
        for (place, statuses) in std::mem::take(&mut read.each) {
            let Some(contract) = node.contracts().get(place) else {
                continue;
            };
            let statuses = statuses.into_iter().enumerate();
            standings.extend(statuses.filter_map(|(nth, status)| {
                Some(Standing {
                    contract,
                    policy: read.policy(place, contract, nth)?,
                    status,
                })
            }));
        }
        standings
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

    /// The contracts that gave an answer; `None` where it is from before, remembered by its id.
    pub fn contracts_of(&self, answer: &Answer) -> Option<&Contracts> {
        self.node.giver(answer).map(Node::contracts)
    }
}

/// How one policy stands for a key.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    /// The contract.
    pub contract: &'a Contract,
    /// The policy.
    pub policy: Cow<'a, NamedPolicy>,
    /// How it stands.
    pub status: Status,
}

/// How long a receipt can be settled: a quarter of an hour.
const RECEIPT_VALID: Span = Span::from_nanos(900 * 1_000_000_000);
