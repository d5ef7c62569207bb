//! Requests that are decided by leases which this node holds of keys that others are in charge of.
//!
//! Not here: what is held (`tollgate-node`), and who asks for it (`lend`).

use tollgate_limit::{Cost, Instant};
use tollgate_node::{Answer, HeldAnswer, Node, Spot};

use super::later::{Begun, TicketState};
use super::op::{Act, OpOutcome};
use super::{Engine, EngineRequest, Question, Turn, Verb};
use crate::lend::HeldWaits;

/// How a node is asked: of what it holds, or of what it might.
pub(super) type HeldAsk = fn(&Node, &Spot, Cost, Instant) -> Option<HeldAnswer>;

impl Engine {
    /// Requests that wait for leases.
    pub(crate) const fn held(&self) -> &HeldWaits {
        &self.held
    }
}

impl Turn<'_> {
    /// Decides a request by a lease at hand, or has it wait for one; `None` where its key is not held here.
    pub(super) fn check_held(&self, ask: &EngineRequest<'_>) -> Option<Begun> {
        if !self.waits || self.banned(ask).is_some() {
            return None;
        }
        self.begin_held(Act::Check, ask, Node::check_held)
    }

    /// The same for what comes after the decision, of a key that another node is in charge of.
    pub(super) fn begin_held(
        &self,
        act: Act,
        ask: &EngineRequest<'_>,
        how: HeldAsk,
    ) -> Option<Begun> {
        if ask.id.is_some() || ask.cost == Cost::PEEK {
            return None;
        }
        let spots = self.within(ask.scope).ok()?.spots(ask.key);
        let [spot] = &*spots else {
            return None;
        };
        match how(&self.node, spot, ask.cost, self.now)? {
            HeldAnswer::Now(answer) => Some(self.decided_here(act, ask, answer)),
            HeldAnswer::Wait(name) => {
                let question = self.question(Verb::Check, spots, ask);
                let pending = self.engine.held().wait(name);
                Some(Ok(TicketState::Held(Some(pending), question)))
            }
        }
    }

    /// Goes on with a request that waited for a lease: the node in charge is asked where there is none.
    pub(super) fn heard_held(
        &self,
        act: Act,
        ask: &EngineRequest<'_>,
        answer: Option<Answer>,
        question: Question,
    ) -> TicketState {
        let Some(answer) = answer else {
            return TicketState::Ask(question, None);
        };
        let decided = self.decided_here(act, ask, answer);
        decided.unwrap_or_else(|error| TicketState::Done(Err(error)))
    }

    fn decided_here(&self, act: Act, ask: &EngineRequest<'_>, answer: Answer) -> Begun {
        let answer = self.note(ask, Ok(answer), false)?;
        if act == Act::Check {
            return Ok(TicketState::Done(Ok(OpOutcome::Answer(answer))));
        }
        Ok(self.checked(act, ask, answer))
    }
}
