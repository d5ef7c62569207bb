//! Keys of commands: from what was sent to a question; and from a decision to what is said.

use smallvec::SmallVec;
use tollgate_limit::Cost;
use tollgate_node::{Answer, Key};
use tollgate_wire::resp::{Check, CheckReply, Entries, Violated, Writer};

use super::refusal::Refusal;
use crate::engine::{Ask, Scope, Turn};
use crate::value::millis;

/// What a command asks, by the entries of its key.
pub(super) fn ask_of<'a>(
    asked: &Check<'a>,
    entries: &'a [(&'a str, &'a str)],
) -> Result<Ask<'a>, Refusal> {
    let scope = asked.contract.map(text).transpose()?;
    Ok(Ask {
        key: key_of(asked.key, entries),
        // A cost beyond the largest is beyond every limit too.
        cost: Cost::new(asked.cost).unwrap_or(Cost::MAX),
        scope: scope.map_or(Scope::All, Scope::Contract),
        id: asked.id.map(text).transpose()?,
    })
}

/// The key of a command, by its entries.
pub(super) const fn key_of<'a>(key: Entries<'a>, entries: &'a [(&'a str, &'a str)]) -> Key<'a> {
    match key {
        Entries::Bare(value) => Key::Text(value),
        Entries::Pairs(_) => Key::Entries(entries),
    }
}

/// Writes a decision.
pub(super) fn write_answer(turn: &Turn<'_>, answer: &Answer, writer: &mut Writer<'_>) {
    let receipt = turn.receipt(answer);
    let violated = turn
        .violations(answer)
        .map(|(contract, policy, said)| Violated {
            contract,
            policy,
            remaining: said.remaining,
            debt: said.debt,
            retry_after_ms: said.retry_after.map(millis),
        });
    let violated: SmallVec<[_; 1]> = violated.collect();
    let reply = CheckReply {
        allowed: answer.is_allowed(),
        policy: turn.policy_name(answer),
        matched: !answer.is_unmatched(),
        limit: answer.limit,
        capacity: turn.capacity(answer),
        remaining: answer.remaining,
        debt: answer.debt,
        retry_after_ms: answer.verdict.retry_after().map(millis),
        reset_after_ms: millis(answer.reset_after),
        wait_ms: millis(answer.verdict.wait()),
        receipt: receipt.as_deref(),
        part: answer.is_part,
        violated: &violated,
    };
    reply.write(writer);
}

/// Names and values of a key as text; none where it is bare.
pub(super) fn entries(
    key: Entries<'_>,
    key_bytes_max: usize,
) -> Result<SmallVec<[(&str, &str); ENTRIES_INLINE]>, Refusal> {
    let mut bytes = 0_usize;
    let mut entries = SmallVec::new();
    for (name, value) in key.pairs() {
        bytes += name.len() + value.len();
        if bytes > key_bytes_max {
            return Err(Refusal::KeyTooLong(key_bytes_max));
        }
        if let Entries::Pairs(_) = key {
            entries.push((text(name)?, text(value)?));
        }
    }
    Ok(entries)
}

pub(super) fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|_| Refusal::NotText)
}

/// Entries of a key that need no allocation.
const ENTRIES_INLINE: usize = 8;
