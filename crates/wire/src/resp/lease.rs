//! `TOLLGATE.LEASE`: what a client holds of a key, and what it is lent.
//!
//! ```text
//! TOLLGATE.LEASE inquiry KEY value
//! TOLLGATE.LEASE inquiry KEY name value [name value ...]
//! ```
//!
//! The inquiry and the answer are bytes of `tollgate-lease`. In RESP3 a client that should speak is pushed
//! `tollgate.nudge` and the bytes of a hint. Not here: what the bytes mean.

use super::check::{CheckKey, entries};
use super::error::CommandError;
use super::parse::Arguments;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease<'a> {
    /// What the client holds of each policy.
    pub inquiry: &'a [u8],
    pub key: CheckKey<'a>,
}

impl<'a> Lease<'a> {
    pub(super) fn decode(request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        let (Some(inquiry), Some(word)) = (arguments.next(), arguments.next()) else {
            return Err(CommandError::WrongArity("tollgate.lease"));
        };
        if !word.eq_ignore_ascii_case(b"KEY") {
            return Err(CommandError::Syntax);
        }
        let key = entries(arguments.rest())?;
        Ok(Self { inquiry, key })
    }
}
