//! One operation that waits, and how it goes on. Not here: asking (`waiting`).

use tollgate_limit::Cost;
use tollgate_node::{Answer, Remembered};

use super::super::op::{Act, Op, OpOutcome, OwnedOp, StartedOp};
use super::super::{EngineError, RequestSender, Turn};
use super::begin::Once;
use super::{Question, RemoteAnswer, Unknown, settling};
use crate::lend::PendingHeld;

/// An operation that waits.
#[derive(Debug)]
pub struct Ticket {
    op: OwnedOp,
    state: TicketState,
    sender: RequestSender,
}

/// How far an operation is.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are done at once")]
pub(in super::super) enum TicketState {
    /// Something must be learnt first; how often that was so, this time included.
    Learn(Vec<Unknown>, usize),
    /// Another node or a store is to be asked, and the answer to be remembered by its id.
    Ask(Question, Option<Box<Once>>),
    /// A lease is waited for; where there is none, another node is to be asked.
    Held(Option<PendingHeld>, Question),
    /// It was asked.
    Asked(Option<Box<Once>>),
    /// It is decided, and these follow from that.
    Then(Answer, Vec<Ticket>),
    Done(Result<OpOutcome, EngineError>),
}

impl TicketState {
    pub(in super::super) const fn done(is_done: bool) -> Self {
        Self::Done(Ok(OpOutcome::Done(is_done)))
    }

    /// What is left of something: a question, or nothing.
    pub(in super::super) fn left(question: Option<Question>) -> Self {
        question.map_or(Self::done(true), |question| Self::Ask(question, None))
    }

    /// A decision from which these steps follow.
    pub(super) fn after(answer: Answer, then: Vec<StartedOp>) -> Self {
        let mut tickets = Vec::new();
        for step in then {
            match step {
                StartedOp::Done(Ok(_)) => {}
                StartedOp::Done(Err(error)) => return Self::Done(Err(error)),
                StartedOp::Later(ticket) => tickets.push(*ticket),
            }
        }
        if tickets.is_empty() {
            return Self::Done(Ok(OpOutcome::Answer(answer)));
        }
        Self::Then(answer, tickets)
    }

    /// What the node that was asked said of something that it was to do.
    fn heard(said: Option<&RemoteAnswer>, is_done: impl FnOnce(bool) -> bool) -> Self {
        match said {
            Some(RemoteAnswer::Done(done)) => Self::done(is_done(*done)),
            _ => Self::Done(Err(EngineError::Unreachable)),
        }
    }
}

impl Ticket {
    #[cold]
    pub(super) fn new(op: &Op<'_>, state: TicketState, sender: RequestSender) -> Box<Self> {
        let op = OwnedOp::of(op);
        Box::new(Self { op, state, sender })
    }

    /// Who sent the operation.
    pub(crate) const fn sender(&self) -> RequestSender {
        self.sender
    }

    /// Hands over the operations that wait: this one, or those that follow from it.
    pub(super) fn each_open(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        match &mut self.state {
            TicketState::Then(_, then) => then.iter_mut().for_each(|one| one.each_open(visit)),
            TicketState::Done(_) => {}
            TicketState::Learn(..)
            | TicketState::Ask(..)
            | TicketState::Held(..)
            | TicketState::Asked(_) => visit(self),
        }
    }

    /// Takes out what is to be learnt.
    pub(super) fn take_unknown(&mut self) -> Vec<Unknown> {
        match &mut self.state {
            TicketState::Learn(unknown, _) => std::mem::take(unknown),
            _ => Vec::new(),
        }
    }

    /// Takes out the question.
    pub(super) fn take_question(&mut self) -> Option<Question> {
        let (question, state) = match std::mem::replace(&mut self.state, TicketState::Asked(None)) {
            TicketState::Ask(question, once) => (Some(question), TicketState::Asked(once)),
            state => (None, state),
        };
        self.state = state;
        question
    }

    /// Takes out what is waited for of a lease.
    pub(super) fn take_held(&mut self) -> Option<PendingHeld> {
        match &mut self.state {
            TicketState::Held(pending, _) => pending.take(),
            _ => None,
        }
    }

    /// Whether it waits for a lease.
    pub(super) const fn is_held(&self) -> bool {
        matches!(self.state, TicketState::Held(..))
    }

    /// Takes in what was decided by a lease, where there was one.
    pub(super) fn hear_held(&mut self, turn: &Turn<'_>, answer: Option<Answer>) {
        turn.sent_by(self.sender);
        let state = std::mem::replace(&mut self.state, TicketState::Asked(None));
        self.state = match state {
            TicketState::Held(_, question) => self.op.with(|op| match op {
                Op::Key(act, ask) => turn.heard_held(*act, ask, answer, question),
                _ => TicketState::Ask(question, None),
            }),
            state => state,
        };
    }

    /// Goes on, now that all is learnt that could be.
    pub(super) fn go_on(&mut self, turn: &Turn<'_>) {
        if let TicketState::Learn(_, learnt) = self.state {
            turn.sent_by(self.sender);
            self.state = self.op.with(|op| turn.begin(op, learnt));
        }
    }

    /// Takes in the answer, if any; what must be given back is put into `back`.
    pub(super) fn hear(
        &mut self,
        turn: &Turn<'_>,
        said: Option<RemoteAnswer>,
        back: &mut Option<Question>,
    ) {
        let TicketState::Asked(once) = &self.state else {
            return;
        };
        turn.sent_by(self.sender);
        self.state = self.op.with(|op| match op {
            Op::Key(act, ask) => match act {
                Act::Status | Act::Foresee => TicketState::Done(Ok(OpOutcome::Read(said))),
                Act::Charge => TicketState::heard(said.as_ref(), |done| done),
                Act::Refund | Act::Reset => TicketState::heard(said.as_ref(), |_| true),
                Act::Check | Act::CheckWithin(_) | Act::CheckAndTake | Act::Reserve(_) => {
                    let answer = turn.remembered(said, once.as_deref(), back);
                    match turn.note(ask, answer, false) {
                        Ok(answer) => turn.checked(*act, ask, answer),
                        Err(error) => TicketState::Done(Err(error)),
                    }
                }
            },
            Op::Commit(..) | Op::Settle(_) => TicketState::heard(said.as_ref(), |_| true),
            // What could not be given back stays charged.
            Op::GiveBack(_) => TicketState::done(true),
            Op::Lend(..) => TicketState::Done(match said {
                Some(RemoteAnswer::Lent(lent)) if lent.reply.is_empty() => {
                    Err(EngineError::Malformed)
                }
                Some(RemoteAnswer::Lent(lent)) => Ok(OpOutcome::Lent(lent, false)),
                _ => Err(EngineError::Unreachable),
            }),
        });
    }

    /// Whether it is done, with all that follows.
    pub(super) fn is_done(&mut self) -> bool {
        if let TicketState::Then(answer, then) = &mut self.state
            && then.iter_mut().all(Self::is_done)
        {
            let failed = then.drain(..).find_map(|one| one.outcome().err());
            let answer = std::mem::replace(answer, Answer::unbound());
            self.state = TicketState::Done(failed.map_or(Ok(OpOutcome::Answer(answer)), Err));
        }
        matches!(self.state, TicketState::Done(_))
    }

    /// What came of it.
    pub(super) fn outcome(self) -> Result<OpOutcome, EngineError> {
        self.finish(|_, outcome| outcome)
    }

    /// Makes something of the operation and of what came of it.
    pub fn finish<T>(self, run: impl FnOnce(&Op<'_>, Result<OpOutcome, EngineError>) -> T) -> T {
        let outcome = match self.state {
            TicketState::Done(outcome) => outcome,
            // It was not waited for to the end.
            _ => Err(EngineError::Unreachable),
        };
        self.op.with(|op| run(op, outcome))
    }
}

impl Turn<'_> {
    /// Remembers an answer under its id. Where another came first, that one counts and this one is given back.
    fn remembered(
        &self,
        said: Option<RemoteAnswer>,
        once: Option<&Once>,
        back: &mut Option<Question>,
    ) -> Result<Answer, EngineError> {
        let Some(RemoteAnswer::Answer(answer)) = said else {
            return Err(EngineError::Unreachable);
        };
        let Some(once) = once else {
            return Ok(answer);
        };
        let receipt = answer.receipt.clone();
        let before = match self.node.remember(&once.id, answer, once.ttl, self.now) {
            Ok(answer) => return Ok(answer),
            Err(Remembered::Before(answer)) => Ok(*answer),
            Err(Remembered::Id(error)) => Err(EngineError::Id(error)),
        };
        *back = settling(&self.node, &receipt, Cost::PEEK);
        before
    }
}
