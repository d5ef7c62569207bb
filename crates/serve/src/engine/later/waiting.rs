//! Operations that wait together: what they wait for is asked in one go, and each keeps its place.

use std::cell::Cell;
use std::sync::Arc;

use arc_swap::Guard;
use tollgate_contract::OnFailure;
use tollgate_limit::Instant;
use tollgate_node::{Answer, Node};

use super::super::op::{Op, OpOutcome, StartedOp};
use super::super::{Engine, EngineError, RequestSender, Turn};
use super::ticket::Ticket;
use crate::lend::PendingHeld;
use crate::meter::Door;

/// By which contracts, and when, operations began that wait.
pub struct WaitingOps {
    node: Arc<Node>,
    now: Instant,
    door: Door,
    sender: RequestSender,
    /// What policies told this node to do, where it could not ask.
    fell_back: Option<OnFailure>,
}

impl WaitingOps {
    /// Waits for what a turn began.
    pub fn of(turn: &Turn<'_>) -> Self {
        Self {
            node: Arc::clone(&turn.node),
            now: turn.now,
            door: turn.door,
            sender: turn.sender(),
            fell_back: None,
        }
    }

    /// The turn in which outcomes are written.
    pub fn turn<'e>(&self, engine: &'e Engine) -> Turn<'e> {
        let node = Guard::from_inner(Arc::clone(&self.node));
        Turn {
            // What follows may be decided elsewhere too, whatever the contracts are by now.
            waits: true,
            fell_back: self.fell_back,
            sender: Cell::new(self.sender),
            ..Turn::new(engine, node, self.now).by(self.door)
        }
    }

    /// Asks for what operations wait for until none waits any more: first for what must be learnt of their keys, then
    /// for what is decided elsewhere.
    pub async fn wait(&mut self, engine: &Engine, mut tickets: Vec<&mut Ticket>) {
        while tickets.iter_mut().any(|one| !one.is_done()) {
            let mut unknown = Vec::new();
            each_open(&mut tickets, |one| unknown.append(&mut one.take_unknown()));
            if unknown.is_empty() {
                self.ask(engine, &mut tickets).await;
                continue;
            }
            engine.learn(&self.node, unknown, self.now).await;
            let turn = self.turn(engine);
            each_open(&mut tickets, |one| one.go_on(&turn));
        }
    }

    /// Asks all questions, waits for leases, and takes in the answers.
    async fn ask(&mut self, engine: &Engine, tickets: &mut [&mut Ticket]) {
        let (mut questions, mut held) = (Vec::new(), Vec::new());
        each_open(tickets, |one| {
            questions.extend(one.take_question());
            held.extend(one.take_held());
        });
        let asked = engine.ask(&self.node, questions, self.now);
        let (heard, decided) = tokio::join!(asked, decided(held));
        let (mut heard, mut decided) = (heard.into_iter(), decided.into_iter());
        let mut back = Vec::new();
        let turn = self.turn(engine);
        each_open(tickets, |one| {
            if one.is_held() {
                return one.hear_held(&turn, decided.next().flatten());
            }
            let heard = heard.next().unwrap_or_default();
            self.fell_back = heard.fell_back.or(self.fell_back);
            let mut question = None;
            one.hear(&turn, heard.said, &mut question);
            back.extend(question);
        });
        drop(turn);
        if !back.is_empty() {
            // Nobody hears what becomes of what was asked for twice.
            drop(engine.ask(&self.node, back, self.now).await);
        }
    }
}

/// What leases decided, in order.
async fn decided(held: Vec<PendingHeld>) -> Vec<Option<Answer>> {
    let mut each = Vec::with_capacity(held.len());
    for pending in held {
        each.push(pending.await.ok().flatten());
    }
    each
}

fn each_open(tickets: &mut [&mut Ticket], mut visit: impl FnMut(&mut Ticket)) {
    for ticket in tickets {
        ticket.each_open(&mut visit);
    }
}

/// What is made of operations: now, or once they are done.
pub enum Started<T> {
    /// None of them waits.
    Now(T),
    /// Some wait.
    Later(WaitingSteps<T>),
}

/// Operations of one request of which some wait, in order, and what is made of them then.
pub struct WaitingSteps<T> {
    waiting: WaitingOps,
    steps: Vec<StartedOp>,
    finish: Finish<T>,
}

type Finish<T> = Box<dyn FnOnce(&Turn<'_>, Steps) -> T + Send>;

/// Operations in order, all of them done.
pub type Steps = std::vec::IntoIter<StartedOp>;

impl<T: 'static> WaitingSteps<T> {
    /// Waits, and makes of the operations what there is to be made.
    pub async fn wait(self, engine: &Engine) -> T {
        let Self {
            mut waiting,
            mut steps,
            finish,
        } = self;
        let tickets = steps.iter_mut().filter_map(StartedOp::ticket);
        waiting.wait(engine, tickets.collect()).await;
        finish(&waiting.turn(engine), steps.into_iter())
    }

    /// Makes something else of what is made.
    pub fn map<U>(self, make: impl FnOnce(&Turn<'_>, T) -> U + Send + 'static) -> WaitingSteps<U> {
        let finish = self.finish;
        WaitingSteps {
            waiting: self.waiting,
            steps: self.steps,
            finish: Box::new(move |turn, steps| make(turn, finish(turn, steps))),
        }
    }
}

impl<T: 'static> Started<T> {
    /// Makes something of several steps, once none of them waits.
    pub fn several(
        turn: &Turn<'_>,
        steps: Vec<StartedOp>,
        finish: impl FnOnce(&Turn<'_>, Steps) -> T + Send + 'static,
    ) -> Self {
        if !steps.iter().any(StartedOp::waits) {
            return Self::Now(finish(turn, steps.into_iter()));
        }
        Self::Later(WaitingSteps {
            waiting: WaitingOps::of(turn),
            steps,
            finish: Box::new(finish),
        })
    }

    /// Makes something else of what is made.
    #[inline]
    pub fn map<U>(
        self,
        turn: &Turn<'_>,
        make: impl FnOnce(&Turn<'_>, T) -> U + Send + 'static,
    ) -> Started<U> {
        match self {
            Self::Now(before) => Started::Now(make(turn, before)),
            Self::Later(later) => Started::Later(later.map(make)),
        }
    }
}

impl Turn<'_> {
    /// Carries out an operation, and makes something of it and of what comes of it.
    #[inline]
    pub fn ask<T: 'static>(
        &self,
        op: &Op<'_>,
        finish: impl FnOnce(&Turn<'_>, &Op<'_>, Result<OpOutcome, EngineError>) -> T + Send + 'static,
    ) -> Started<T> {
        match self.start(op) {
            StartedOp::Done(outcome) => Started::Now(finish(self, op, outcome)),
            step @ StartedOp::Later(_) => Started::several(self, vec![step], |turn, mut steps| {
                let step = steps.next().unwrap_or_default();
                step.finish(|op, outcome| finish(turn, op, outcome))
            }),
        }
    }

    /// Decides a request.
    #[inline]
    pub fn ask_answer(&self, op: &Op<'_>) -> Started<Result<Answer, EngineError>> {
        self.ask(op, |_, _, outcome| outcome.and_then(OpOutcome::answer))
    }

    /// Carries out an operation, waiting where it must; the turn in which to write what came of it.
    pub async fn decide(self, op: &Op<'_>) -> (Self, Result<OpOutcome, EngineError>) {
        let mut ticket = match self.start(op) {
            StartedOp::Done(outcome) => return (self, outcome),
            StartedOp::Later(ticket) => ticket,
        };
        let (engine, mut waiting) = (self.engine, WaitingOps::of(&self));
        drop(self);
        waiting.wait(engine, vec![&mut ticket]).await;
        (waiting.turn(engine), ticket.outcome())
    }
}
