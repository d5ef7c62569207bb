//! Beginning an operation in which somebody else may have a part: it is done, or it waits.

use tollgate_limit::{Cost, OperationId, Span, Verdict};
use tollgate_node::{Answer, Node};

use super::super::op::{Act, Op, OpOutcome, StartedOp};
use super::super::{EngineError, EngineRequest, Turn};
use super::ticket::{Ticket, TicketState};
use super::{Question, Verb};

/// An operation that has an id.
#[derive(Debug)]
pub(in super::super) struct Once {
    pub(super) id: OperationId,
    /// For how long it stays open, where it is a reservation.
    pub(super) ttl: Option<Span>,
}

/// What can be said of an operation that was begun.
pub(in super::super) type Begun = Result<TicketState, EngineError>;

impl Turn<'_> {
    /// Carries out an operation where something may have to be waited for.
    pub(in super::super) fn start_any(&self, op: &Op<'_>) -> StartedOp {
        if let Op::Key(Act::Check, ask) = op
            && let Some(answer) = self.check_known(ask)
        {
            return StartedOp::Done(Ok(OpOutcome::Answer(answer)));
        }
        let held = match op {
            Op::Key(Act::Check, ask) => self.check_held(ask),
            _ => None,
        };
        let state = held.map(|begun| begun.unwrap_or_else(|error| TicketState::Done(Err(error))));
        match state.unwrap_or_else(|| self.begin(op, 0)) {
            TicketState::Done(outcome) => StartedOp::Done(outcome),
            state => StartedOp::Later(Ticket::new(op, state, self.sender())),
        }
    }

    /// Decides a request that nobody else has a part in, by terms that are known: nearly all do not wait.
    #[inline]
    fn check_known(&self, ask: &EngineRequest<'_>) -> Option<Answer> {
        if ask.id.is_some() || self.engine.asks_elsewhere() || self.banned(ask).is_some() {
            return None;
        }
        let within = self.within(ask.scope).ok()?;
        let answer = within.check_known(ask.key, ask.cost, self.now)?;
        self.note(ask, Ok(answer), false).ok()
    }

    /// Begins an operation, or goes on with one that waited so often for what had to be learnt.
    pub(super) fn begin(&self, op: &Op<'_>, learnt: usize) -> TicketState {
        if self.waits {
            let unknown = self.unknown(op, learnt);
            if !unknown.is_empty() {
                return TicketState::Learn(unknown, learnt + 1);
            }
        }
        let begun = match op {
            Op::Key(act, ask) => match *act {
                Act::Check | Act::CheckWithin(_) | Act::CheckAndTake => {
                    self.begin_check(*act, ask, None)
                }
                Act::Reserve(ttl) => self.begin_check(*act, ask, Some(ttl)),
                Act::Charge => self.begin_write(&Verb::Charge, ask),
                Act::Refund => self.begin_write(&Verb::Refund, ask),
                Act::Reset => self.begin_write(&Verb::Reset, ask),
                Act::Status => self.begin_read(Verb::Status, ask),
                Act::Foresee => self.begin_read(Verb::Foresee, ask),
            },
            Op::Commit(id, actual) => self.begin_commit(id, *actual),
            Op::Settle(settle) => self.begin_settle(settle),
            Op::GiveBack(receipt) => Ok(TicketState::left(self.settle_or_ask(receipt, Cost::PEEK))),
            Op::Lend(key, inquiry) => self.begin_lend(*key, inquiry),
        };
        begun.unwrap_or_else(|error| TicketState::Done(Err(error)))
    }

    fn begin_check(&self, act: Act, ask: &EngineRequest<'_>, ttl: Option<Span>) -> Begun {
        let answer = match self.asked_elsewhere(ask, ttl) {
            Ok(None) => self.check_here(ask, ttl),
            Ok(Some((question, once))) => match self.recall(once.as_deref()) {
                None => {
                    let held = match once {
                        None => self.begin_held(act, ask, Node::hold),
                        Some(_) => None,
                    };
                    return held.unwrap_or(Ok(TicketState::Ask(question, once)));
                }
                Some(known) => self.note(ask, known, true),
            },
            Err(error) => self.note(ask, Err(error), false),
        };
        Ok(self.checked(act, ask, answer?))
    }

    /// What is to be asked elsewhere, and how the answer is remembered.
    fn asked_elsewhere(
        &self,
        ask: &EngineRequest<'_>,
        ttl: Option<Span>,
    ) -> Result<Asked, EngineError> {
        if !self.waits || self.banned(ask).is_some() {
            return Ok(None);
        }
        let Some(question) = self.question_elsewhere(Verb::Check, ask)? else {
            return Ok(None);
        };
        let id = ask
            .id
            .or(ttl.map(|_| ""))
            .map(|id| self.operation(id))
            .transpose()?;
        Ok(Some((question, id.map(|id| Box::new(Once { id, ttl })))))
    }

    /// What an operation was answered before.
    fn recall(&self, once: Option<&Once>) -> Option<Result<Answer, EngineError>> {
        let known = self.node.recall(&once?.id, self.now)?;
        Some(known.map_err(EngineError::Id))
    }

    /// Goes on with a decision as it is to be taken.
    pub(in super::super) fn checked(
        &self,
        act: Act,
        ask: &EngineRequest<'_>,
        mut answer: Answer,
    ) -> TicketState {
        let mut then = Vec::new();
        match act {
            Act::CheckWithin(most) if answer.verdict.wait() > most => {
                then.push(self.start_any(&Op::GiveBack(&answer.receipt)));
                refuse_wait(&mut answer);
            }
            Act::CheckAndTake if !answer.is_allowed() => {
                // What refusing cost by itself is part of the whole.
                then.push(self.start_any(&Op::GiveBack(&answer.receipt)));
                then.push(self.start_any(&Op::Key(Act::Charge, *ask)));
            }
            _ => {}
        }
        TicketState::after(answer, then)
    }

    /// Changes a key without asking.
    fn begin_write(&self, verb: &Verb, ask: &EngineRequest<'_>) -> Begun {
        let Some(question) = self.question_elsewhere(verb.clone(), ask)? else {
            return self.write(verb, ask).map(TicketState::done);
        };
        let mut is_first = ask.id.is_none();
        if let Some(id) = ask.id {
            let id = self.operation(id)?;
            let once = self.node.do_once(&id, self.now, || is_first = true);
            once.map_err(EngineError::Id)?;
        }
        if !is_first {
            return Ok(TicketState::done(true));
        }
        self.count_write(verb, ask);
        Ok(TicketState::Ask(question, None))
    }

    fn begin_read(&self, verb: Verb, ask: &EngineRequest<'_>) -> Begun {
        Ok(match self.question_elsewhere(verb, ask)? {
            Some(question) => TicketState::Ask(question, None),
            None => TicketState::Done(Ok(OpOutcome::Read(None))),
        })
    }

    /// The question about a key, where somebody else decides at some of its spots.
    pub(in super::super) fn question_elsewhere(
        &self,
        verb: Verb,
        ask: &EngineRequest<'_>,
    ) -> Result<Option<Question>, EngineError> {
        let Some(elsewhere) = self.engine.elsewhere().filter(|_| self.waits) else {
            return Ok(None);
        };
        let spots = self.within(ask.scope)?.spots(ask.key);
        let is_here = elsewhere.is_here(&self.node, &spots);
        Ok((!is_here).then(|| self.question(verb, spots, ask)))
    }
}

/// What is not waited for was given back, and may pass once the wait would have been over.
fn refuse_wait(answer: &mut Answer) {
    answer.verdict = Verdict::Deny {
        retry_after: answer.verdict.wait(),
    };
    for booking in answer.receipt.bookings_mut() {
        booking.receipt.charged = 0;
    }
}

type Asked = Option<(Question, Option<Box<Once>>)>;
