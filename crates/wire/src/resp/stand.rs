//! `TOLLGATE.SETTLE`, which charges the real cost, and the reply of `TOLLGATE.PEEK`: how policies stand.
//!
//! ```text
//! TOLLGATE.SETTLE receipt cost [ID operation]
//! ```

use super::check::{number, text};
use super::error::CommandError;
use super::number::at_least;
use super::parse::Arguments;
use super::reply::Writer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle<'a> {
    pub receipt: &'a [u8],
    pub cost: u64,
    /// The operation's id: the same id is settled once, however often it is sent.
    pub id: Option<&'a [u8]>,
}

impl<'a> Settle<'a> {
    pub(super) fn decode(request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        let (Some(receipt), Some(cost)) = (arguments.next(), arguments.next()) else {
            return Err(CommandError::WrongArity("tollgate.settle"));
        };
        let cost = at_least(cost, 0, "cost")?;
        let id = match arguments.next() {
            None => None,
            Some(word) if word.eq_ignore_ascii_case(b"ID") => {
                Some(arguments.next().ok_or(CommandError::Syntax)?)
            }
            Some(_) => return Err(CommandError::Syntax),
        };
        if arguments.len() > 0 {
            return Err(CommandError::Syntax);
        }
        Ok(Self { receipt, cost, id })
    }
}

/// How one policy stands, and what it would answer to the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeekReply<'a> {
    pub contract: &'a str,
    pub policy: &'a str,
    pub limit: u64,
    /// The most tokens it can hold.
    pub capacity: u64,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Tokens below zero.
    pub debt: u64,
    /// Whether the cost would pass.
    pub allowed: bool,
    /// Milliseconds until it could; none if it would pass or waiting does not help.
    pub retry_after_ms: Option<u64>,
    /// Milliseconds for which it would be held back.
    pub wait_ms: u64,
    /// Milliseconds until the policy is full, as for a new key.
    pub reset_after_ms: u64,
}

impl PeekReply<'_> {
    /// Writes the map; in RESP2 a list of names and values.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.map(10);
        text(writer, "contract", Some(self.contract));
        text(writer, "policy", Some(self.policy));
        number(writer, "limit", Some(self.limit));
        number(writer, "capacity", Some(self.capacity));
        number(writer, "remaining", Some(self.remaining));
        number(writer, "debt", Some(self.debt));
        number(writer, "allowed", Some(u64::from(self.allowed)));
        number(writer, "retry_after_ms", self.retry_after_ms);
        number(writer, "wait_ms", Some(self.wait_ms));
        number(writer, "reset_after_ms", Some(self.reset_after_ms));
    }
}
