//! What clients say of their leases, and what they are lent.
//!
//! A key that one contract binds is lent by whoever owns it. Any other is asked for every decision. Not here: who
//! carries it.

use tollgate_limit::Cost;
use tollgate_node::{Key, LendAnswer};

use super::later::{Begun, TicketState, Verb};
use super::op::OpOutcome;
use super::{EngineError, EngineRequest, Turn};

impl Turn<'_> {
    /// Takes what a client holds of a key, and says what it is lent.
    pub(super) fn begin_lend(&self, key: Key<'_>, inquiry: &[u8]) -> Begun {
        let ask = EngineRequest::new(key, Cost::PEEK);
        let here = |lent| Ok(TicketState::Done(Ok(OpOutcome::Lent(lent, true))));
        let spots = self.within(ask.scope)?.spots(key);
        let ([spot], None) = (&*spots, self.banned(&ask)) else {
            return here(LendAnswer::ask());
        };
        if self.node.is_lent(spot.contract)
            && let Some(question) = self.question_elsewhere(Verb::Lend(inquiry.into()), &ask)?
        {
            return Ok(TicketState::Ask(question, None));
        }
        let lent = self.node.lend(spot, inquiry, self.now);
        here(lent.map_err(|_| EngineError::Malformed)?)
    }
}
