//! Commands that ask the engine: from the command to an operation, and from its outcome to the reply.
//!
//! Not here: leases (`lease`), waiting (`gaps`), state of a connection (`session`).

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_limit::Cost;
use tollgate_node::{Answer, Key};
use tollgate_wire::resp::{
    CheckCommand, CheckKey, CheckReply, Command, PeekReply, Settle, Violated, Writer,
};

use super::lease::write_lent;
use super::refusal::Refusal;
use super::session::CommandContext;
use crate::access::Operation;
use crate::engine::{
    self, Act, EngineError, EngineRequest, Op, OpOutcome, RemoteAnswer, Scope, StartedOp, Ticket,
    Turn,
};
use crate::lend::Mailbox;
use crate::value::millis;

/// The operation the sender must be authorized for.
pub(super) const fn operation(command: &Command<'_>) -> Operation {
    match command {
        Command::Throttle(_) | Command::Check(_) => Operation::Check,
        Command::Lease(_) => Operation::Lease,
        Command::Charge(_) => Operation::Charge,
        Command::Refund(_) => Operation::Refund,
        Command::Forget(_) => Operation::Reset,
        Command::Peek(_) => Operation::Peek,
        Command::Settle(_) => Operation::Settle,
        _ => Operation::Greet,
    }
}

/// Carries out a command that asks the engine, and writes the reply; returns it instead if it has to wait.
pub(super) fn answer(
    room: CommandContext<'_, '_>,
    command: &Command<'_>,
    mailbox: Option<&Arc<Mailbox>>,
    writer: &mut Writer<'_>,
) -> Option<Box<Ticket>> {
    let started = start(room, command, mailbox, writer);
    started.unwrap_or_else(|refusal| {
        writer.error(&refusal);
        None
    })
}

#[inline]
fn start(
    room: CommandContext<'_, '_>,
    command: &Command<'_>,
    mailbox: Option<&Arc<Mailbox>>,
    writer: &mut Writer<'_>,
) -> Result<Option<Box<Ticket>>, Refusal> {
    let max = room.shared.settings.limits.key_bytes_max;
    let named;
    let op = if let Some((act, asked)) = about_key(command) {
        named = entries(asked.key, max)?;
        Op::Key(act, ask_of(asked, &named)?)
    } else {
        match command {
            Command::Lease(asked) => {
                named = entries(asked.key, max)?;
                Op::Lend(key_of(asked.key, &named), asked.inquiry)
            }
            Command::Settle(asked) => settle(asked)?,
            _ => return Ok(None),
        }
    };
    match room.turn.start(&op) {
        StartedOp::Done(outcome) => reply(room, &op, outcome, mailbox, writer).map(|()| None),
        StartedOp::Later(ticket) => Ok(Some(ticket)),
    }
}

const fn about_key<'c, 'b>(command: &'c Command<'b>) -> Option<(Act, &'c CheckCommand<'b>)> {
    Some(match command {
        Command::Check(asked) => (Act::Check, asked),
        Command::Charge(asked) => (Act::Charge, asked),
        Command::Refund(asked) => (Act::Refund, asked),
        Command::Forget(asked) => (Act::Reset, asked),
        Command::Peek(asked) => (Act::Foresee, asked),
        _ => return None,
    })
}

fn settle<'b>(asked: &Settle<'b>) -> Result<Op<'b>, Refusal> {
    Ok(Op::Settle(engine::Settle {
        receipt: text(asked.receipt)?,
        // A cost beyond the largest is beyond every limit too.
        actual: Cost::new(asked.cost).unwrap_or(Cost::MAX),
        id: asked.id.map(text).transpose()?,
    }))
}

#[inline]
pub(super) fn reply(
    room: CommandContext<'_, '_>,
    op: &Op<'_>,
    outcome: Result<OpOutcome, EngineError>,
    mailbox: Option<&Arc<Mailbox>>,
    writer: &mut Writer<'_>,
) -> Result<(), Refusal> {
    match (op, outcome?) {
        (_, OpOutcome::Answer(answer)) => write_answer(room.turn, &answer, writer),
        (_, OpOutcome::Done(is_done)) => writer.integer(i64::from(is_done)),
        (Op::Key(_, ask), OpOutcome::Read(said)) => write_policies(room.turn, ask, said, writer)?,
        (Op::Lend(_, inquiry), OpOutcome::Lent(lent, is_here)) => {
            write_lent(room, inquiry, &(lent, is_here), mailbox, writer);
        }
        (_, OpOutcome::Read(_) | OpOutcome::Lent(..)) => Err(EngineError::Unreachable)?,
    }
    Ok(())
}

fn write_policies(
    turn: &Turn<'_>,
    ask: &EngineRequest<'_>,
    said: Option<RemoteAnswer>,
    writer: &mut Writer<'_>,
) -> Result<(), Refusal> {
    let explanation = turn.explain(ask, said)?;
    writer.array(explanation.policies.len());
    for one in &explanation.policies {
        let forecast = &one.forecast;
        let reply = PeekReply {
            contract: &one.contract.id,
            policy: &one.policy.name,
            limit: forecast.limit,
            capacity: forecast.capacity,
            remaining: forecast.remaining,
            debt: forecast.debt,
            allowed: forecast.verdict.is_allowed(),
            retry_after_ms: forecast.verdict.retry_after().map(millis),
            wait_ms: millis(forecast.verdict.wait()),
            reset_after_ms: millis(forecast.reset_after),
        };
        reply.write(writer);
    }
    Ok(())
}

fn ask_of<'a>(
    asked: &CheckCommand<'a>,
    entries: &'a [(&'a str, &'a str)],
) -> Result<EngineRequest<'a>, Refusal> {
    let scope = asked.contract.map(text).transpose()?;
    Ok(EngineRequest {
        key: key_of(asked.key, entries),
        // A cost beyond the largest is beyond every limit too.
        cost: Cost::new(asked.cost).unwrap_or(Cost::MAX),
        scope: scope.map_or(Scope::All, Scope::Contract),
        id: asked.id.map(text).transpose()?,
    })
}

const fn key_of<'a>(key: CheckKey<'a>, entries: &'a [(&'a str, &'a str)]) -> Key<'a> {
    match key {
        CheckKey::Bare(value) => Key::Text(value),
        CheckKey::Pairs(_) => Key::Entries(entries),
    }
}

fn write_answer(turn: &Turn<'_>, answer: &Answer, writer: &mut Writer<'_>) {
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

/// Names and values of a key as text; empty for a bare key.
fn entries(
    key: CheckKey<'_>,
    key_bytes_max: usize,
) -> Result<SmallVec<[(&str, &str); ENTRIES_INLINE]>, Refusal> {
    let mut bytes = 0_usize;
    let mut entries = SmallVec::new();
    for (name, value) in key.pairs() {
        bytes += name.len() + value.len();
        if bytes > key_bytes_max {
            return Err(Refusal::KeyTooLong(key_bytes_max));
        }
        if let CheckKey::Pairs(_) = key {
            entries.push((text(name)?, text(value)?));
        }
    }
    Ok(entries)
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|_| Refusal::NotText)
}

/// Entries of a key that need no allocation.
const ENTRIES_INLINE: usize = 8;
