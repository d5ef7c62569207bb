//! One operation that waits, and how it goes on. Not here: asking (`waiting`).

use tollgate_limit::Cost;
use tollgate_node::{Answer, Remembered};

use super::super::op::{Act, Op, Outcome, OwnedOp, Step};
use super::super::{EngineError, Sender, Turn};
use super::begin::Once;
use super::{Question, Said, Unknown, settling};

/// An operation that waits.
#[derive(Debug)]
pub struct Ticket {
    op: OwnedOp,
    state: State,
    sender: Sender,
}

/// How far an operation is.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are done at once")]
pub(in super::super) enum State {
    /// Something must be learnt first; how often that was so, this time included.
    Learn(Vec<Unknown>, usize),
    /// Another node or a store is to be asked, and the answer to be remembered by its id.
    Ask(Question, Option<Box<Once>>),
    /// It was asked.
    Asked(Option<Box<Once>>),
    /// It is decided, and these follow from that.
    Then(Answer, Vec<Ticket>),
    Done(Result<Outcome, EngineError>),
}

impl State {
    pub(in super::super) const fn done(is_done: bool) -> Self {
        Self::Done(Ok(Outcome::Done(is_done)))
    }

    /// What is left of something: a question, or nothing.
    pub(in super::super) fn left(question: Option<Question>) -> Self {
        question.map_or(Self::done(true), |question| Self::Ask(question, None))
    }

    /// A decision from which these steps follow.
    pub(super) fn after(answer: Answer, then: Vec<Step>) -> Self {
        let mut tickets = Vec::new();
        for step in then {
            match step {
                Step::Done(Ok(_)) => {}
                Step::Done(Err(error)) => return Self::Done(Err(error)),
                Step::Later(ticket) => tickets.push(*ticket),
            }
        }
        if tickets.is_empty() {
            return Self::Done(Ok(Outcome::Answer(answer)));
        }
        Self::Then(answer, tickets)
    }

    /// What the node that was asked said of something that it was to do.
    fn heard(said: Option<&Said>, is_done: impl FnOnce(bool) -> bool) -> Self {
        match said {
            Some(Said::Done(done)) => Self::done(is_done(*done)),
            _ => Self::Done(Err(EngineError::Unreachable)),
        }
    }
}

impl Ticket {
    #[cold]
    pub(super) fn new(op: &Op<'_>, state: State, sender: Sender) -> Box<Self> {
        let op = OwnedOp::of(op);
        Box::new(Self { op, state, sender })
    }

    /// Who sent the operation.
    pub(crate) const fn sender(&self) -> Sender {
        self.sender
    }

    /// Hands over the operations that wait: this one, or those that follow from it.
    pub(super) fn each_open(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        match &mut self.state {
            State::Then(_, then) => then.iter_mut().for_each(|one| one.each_open(visit)),
            State::Done(_) => {}
            State::Learn(..) | State::Ask(..) | State::Asked(_) => visit(self),
        }
    }

    /// Takes out what is to be learnt.
    pub(super) fn take_unknown(&mut self) -> Vec<Unknown> {
        match &mut self.state {
            State::Learn(unknown, _) => std::mem::take(unknown),
            _ => Vec::new(),
        }
    }

    /// Takes out the question.
    pub(super) fn take_question(&mut self) -> Option<Question> {
        let (question, state) = match std::mem::replace(&mut self.state, State::Asked(None)) {
            State::Ask(question, once) => (Some(question), State::Asked(once)),
            state => (None, state),
        };
        self.state = state;
        question
    }

    /// Goes on, now that all is learnt that could be.
    pub(super) fn go_on(&mut self, turn: &Turn<'_>) {
        if let State::Learn(_, learnt) = self.state {
            turn.sent_by(self.sender);
            self.state = self.op.with(|op| turn.begin(op, learnt));
        }
    }

    /// Takes in the answer, if any; what must be given back is put into `back`.
    pub(super) fn hear(
        &mut self,
        turn: &Turn<'_>,
        said: Option<Said>,
        back: &mut Option<Question>,
    ) {
        let State::Asked(once) = &self.state else {
            return;
        };
        turn.sent_by(self.sender);
        self.state = self.op.with(|op| match op {
            Op::Key(act, ask) => match act {
                Act::Status | Act::Foresee => State::Done(Ok(Outcome::Read(said))),
                Act::Charge => State::heard(said.as_ref(), |done| done),
                Act::Refund | Act::Reset => State::heard(said.as_ref(), |_| true),
                Act::Check | Act::CheckWithin(_) | Act::CheckAndTake | Act::Reserve(_) => {
                    let answer = turn.remembered(said, once.as_deref(), back);
                    match turn.note(ask, answer, false) {
                        Ok(answer) => turn.checked(*act, ask, answer),
                        Err(error) => State::Done(Err(error)),
                    }
                }
            },
            Op::Commit(..) | Op::Settle(_) => State::heard(said.as_ref(), |_| true),
            // What could not be given back stays charged.
            Op::GiveBack(_) => State::done(true),
            Op::Lend(..) => State::Done(match said {
                Some(Said::Lent(lent)) if lent.reply.is_empty() => Err(EngineError::Malformed),
                Some(Said::Lent(lent)) => Ok(Outcome::Lent(lent, false)),
                _ => Err(EngineError::Unreachable),
            }),
        });
    }

    /// Whether it is done, with all that follows.
    pub(super) fn is_done(&mut self) -> bool {
        if let State::Then(answer, then) = &mut self.state
            && then.iter_mut().all(Self::is_done)
        {
            let failed = then.drain(..).find_map(|one| one.outcome().err());
            let answer = std::mem::replace(answer, Answer::unbound());
            self.state = State::Done(failed.map_or(Ok(Outcome::Answer(answer)), Err));
        }
        matches!(self.state, State::Done(_))
    }

    /// What came of it.
    pub(super) fn outcome(self) -> Result<Outcome, EngineError> {
        self.finish(|_, outcome| outcome)
    }

    /// Makes something of the operation and of what came of it.
    pub fn finish<T>(self, run: impl FnOnce(&Op<'_>, Result<Outcome, EngineError>) -> T) -> T {
        let outcome = match self.state {
            State::Done(outcome) => outcome,
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
        said: Option<Said>,
        once: Option<&Once>,
        back: &mut Option<Question>,
    ) -> Result<Answer, EngineError> {
        let Some(Said::Answer(answer)) = said else {
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
