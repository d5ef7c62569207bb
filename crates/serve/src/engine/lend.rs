//! What clients say of their leases, and what they are lent.
//!
//! A key that one contract binds is lent by whoever owns it. Any other is asked for every decision. Not here: who carries it.

use tollgate_limit::Cost;
use tollgate_node::{Key, Lent};

use super::later::{Notes, Verb};
use super::{Ask, EngineError, Said, Turn};

impl Turn<'_> {
    /// Takes what a client holds of a key, and says what it is lent, and whether this node is who lends; `None` where the answer
    /// has to be waited for.
    pub fn lend(&self, key: Key<'_>, inquiry: &[u8]) -> Result<Option<(Lent, bool)>, EngineError> {
        let ask = Ask::new(key, Cost::PEEK);
        let spots = self.within(ask.scope)?.spots(key);
        let ([spot], None) = (&*spots, self.banned(&ask)) else {
            return Ok(Some((Lent::ask(), true)));
        };
        let here = || {
            let lent = self.node.lend(spot, inquiry, self.now);
            let lent = lent.map_err(|_| EngineError::Malformed)?;
            Ok(Some((lent, true)))
        };
        match self.notes {
            Some(notes) if self.node.is_lent(spot.contract) => {
                self.lend_noted(notes, (&ask, inquiry), here)
            }
            Some(_) | None => here(),
        }
    }

    /// Takes it here, or writes it down for whoever owns the key.
    fn lend_noted(
        &self,
        notes: &Notes,
        (ask, inquiry): (&Ask<'_>, &[u8]),
        here: impl FnOnce() -> Result<Option<(Lent, bool)>, EngineError>,
    ) -> Result<Option<(Lent, bool)>, EngineError> {
        let verb = Verb::Lend(inquiry.into());
        match self.said_elsewhere(notes, verb, (self.within(ask.scope)?, ask)) {
            None => here(),
            Some(Ok(Said::Lent(lent))) if lent.reply.is_empty() => Err(EngineError::Malformed),
            Some(Ok(Said::Lent(lent))) => Ok(Some((lent, false))),
            Some(Ok(_)) => Ok(None),
            Some(Err(error)) => Err(error),
        }
    }
}
