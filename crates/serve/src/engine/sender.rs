//! Who sent a request, as far as it matters for ids and receipts: those of another caller are unknown to it.
//!
//! Not here: tokens, and what they are for (`access`).

use tollgate_limit::OperationId;

use super::{EngineError, Turn};
use crate::value::short;

/// Who sent a request, as far as it matters for ids and receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSender {
    /// The number of the caller; 0 where it shows no token.
    pub caller: u64,
    /// Whether it may settle what others reserved.
    pub settles_all: bool,
}

impl RequestSender {
    /// Where callers need no token, or this process asks itself.
    pub const ANYONE: Self = Self {
        caller: 0,
        settles_all: true,
    };
    /// A client that has shown nothing where callers have tokens.
    pub const NOBODY: Self = Self {
        caller: 0,
        settles_all: false,
    };
}

impl Turn<'_> {
    /// What is asked from here on was sent by this one: ids and receipts of others are unknown to it.
    #[inline]
    pub fn sent_by(&self, sender: RequestSender) {
        self.sender.set(sender);
    }

    /// Who sent what is asked.
    pub(crate) fn sender(&self) -> RequestSender {
        self.sender.get()
    }

    /// The id of an operation of the sender.
    pub(super) fn operation(&self, id: &str) -> Result<OperationId, EngineError> {
        Ok(of_caller(operation_id(id)?, self.sender().caller))
    }

    /// The id of a reservation that the sender may settle: its own, or that of another caller where it may settle those
    /// of all.
    pub(super) fn reservation(&self, id: &str) -> Result<OperationId, EngineError> {
        let own = self.operation(id)?;
        let is_there = |id: &OperationId| self.node.recall(id, self.now).is_some();
        if !self.sender().settles_all || is_there(&own) {
            return Ok(own);
        }
        let callers = self.engine.callers.lock();
        let id = operation_id(id)?;
        let mut each = callers.iter().map(|caller| of_caller(id.clone(), *caller));
        Ok(each.find(is_there).unwrap_or(own))
    }
}

/// The id that a text is: up to 128 characters, of which long ones are known by a digest.
pub(crate) fn operation_id(text: &str) -> Result<OperationId, EngineError> {
    let most = OperationId::BYTES_MAX;
    let id = Some(text).filter(|text| text.len() <= most || text.chars().count() <= most);
    let id = id.and_then(|text| OperationId::new(short(text, most).as_bytes()));
    id.ok_or(EngineError::BadId)
}

/// The id under which an operation of a caller is remembered; callers without a token have theirs in common.
fn of_caller(id: OperationId, caller: u64) -> OperationId {
    match caller {
        0 => id,
        caller => id.of_caller(caller),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_as_many_characters_as_the_schema_says() {
        for letter in ["a", "ä", "😀"] {
            let longest = operation_id(&letter.repeat(128)).unwrap();
            assert!(longest.as_bytes().len() <= 128);
            let other = letter.repeat(127) + "z";
            assert_ne!(operation_id(&other).unwrap(), longest);
            assert!(operation_id(&letter.repeat(129)).is_err());
        }
        assert!(operation_id("").is_err());
    }
}
