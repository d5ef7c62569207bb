//! Commands that ask a turn: from what was sent to what is written. Those of them that do not decide are here; they are charged,
//! given back, settled or read without a verdict.
//!
//! Not here: decisions (`check`), leases (`lease`), what a connection remembers (`session`).

use std::sync::Arc;

use tollgate_limit::Cost;
use tollgate_wire::resp::{Command, PeekReply, Settle, Writer};

use super::check::{ask_of, check, entries, millis, text};
use super::lease::lease;
use super::refusal::Refusal;
use crate::access::Operation;
use crate::engine::{Ask, Turn};
use crate::lend::Mailbox;
use crate::shared::Shared;

/// Whether a command asks a turn, and may have to wait for the answer.
pub(super) const fn is_asked(command: &Command<'_>) -> bool {
    matches!(
        command,
        Command::Check(_)
            | Command::Lease(_)
            | Command::Charge(_)
            | Command::Refund(_)
            | Command::Forget(_)
            | Command::Peek(_)
            | Command::Settle(_)
    )
}

/// What the sender of a command must be let do.
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

/// Carries out a command that asks a turn, and writes the reply.
pub(super) fn answer(
    (shared, turn): (&Shared, &Turn<'_>),
    command: &Command<'_>,
    mailbox: Option<&Arc<Mailbox>>,
    writer: &mut Writer<'_>,
) {
    let key_bytes_max = shared.settings.limits.key_bytes_max;
    let done = match command {
        Command::Check(asked) => check(turn, asked, key_bytes_max, writer),
        Command::Lease(asked) => lease((shared, turn), asked, mailbox, writer),
        Command::Settle(asked) => settle(turn, asked, writer),
        Command::Charge(asked)
        | Command::Refund(asked)
        | Command::Forget(asked)
        | Command::Peek(asked) => entries(asked.key, key_bytes_max).and_then(|entries| {
            let ask = ask_of(asked, &entries)?;
            act(turn, command, &ask, writer)
        }),
        _ => Ok(()),
    };
    done.unwrap_or_else(|refusal| writer.error(&refusal));
}

fn act(
    turn: &Turn<'_>,
    command: &Command<'_>,
    ask: &Ask<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), Refusal> {
    let is_done = match command {
        Command::Charge(_) => turn.charge(ask)?,
        Command::Refund(_) => turn.refund(ask).map(|()| true)?,
        Command::Forget(_) => turn.reset(ask).map(|()| true)?,
        _ => return peek(turn, ask, writer),
    };
    writer.integer(i64::from(is_done));
    Ok(())
}

fn settle(turn: &Turn<'_>, asked: &Settle<'_>, writer: &mut Writer<'_>) -> Result<(), Refusal> {
    let cost = Cost::new(asked.cost).unwrap_or(Cost::MAX);
    let id = asked.id.map(text).transpose()?;
    turn.settle(text(asked.receipt)?, cost, id)?;
    writer.integer(1);
    Ok(())
}

fn peek(turn: &Turn<'_>, ask: &Ask<'_>, writer: &mut Writer<'_>) -> Result<(), Refusal> {
    let explanation = turn.explain(ask)?;
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
