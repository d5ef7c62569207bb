//! The writes of `/v1`: charge without a decision, refund, or settle at the real cost.

use tollgate_limit::Cost;
use tollgate_wire::v1::{CancelRequest, ChargeRequest, CommitRequest, Done, SettleRequest};

use super::request::{self, BodyRefusal};
use super::{ReceivedRequest, Reply};
use crate::engine::{Act, EngineRequest, Op, Settle, Turn};

pub(super) fn settle(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    answer(asked, reply, |request: SettleRequest<'_>, reply| {
        let settle = Settle {
            receipt: &request.receipt,
            actual: request::cost(request.cost)?,
            id: request.id.as_deref(),
        };
        write(turn, &Op::Settle(settle), true, reply);
        Ok(())
    });
}

pub(super) fn commit(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    answer(asked, reply, |request: CommitRequest<'_>, reply| {
        let op = Op::Commit(&request.id, request::cost(request.cost)?);
        write(turn, &op, true, reply);
        Ok(())
    });
}

pub(super) fn cancel(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    answer(asked, reply, |request: CancelRequest<'_>, reply| {
        write(turn, &Op::Commit(&request.id, Cost::PEEK), true, reply);
        Ok(())
    });
}

pub(super) fn charge(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    write_key(turn, asked, Act::Charge, reply);
}

pub(super) fn refund(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    write_key(turn, asked, Act::Refund, reply);
}

fn write_key(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, act: Act, reply: &mut Reply) {
    answer(asked, reply, |request: ChargeRequest<'_>, reply| {
        let entries = request::entries(&request.key);
        let key = request::key(&request.key, &entries, asked)?;
        let cost = request::cost(request.cost)?;
        let ask = EngineRequest {
            id: request.id.as_deref(),
            ..EngineRequest::new(key, cost)
        };
        let applies = cost != Cost::PEEK && turn.is_bound(key);
        write(turn, &Op::Key(act, ask), applies, reply);
        Ok(())
    });
}

/// Carries out an operation; `applies` says whether it had an effect.
fn write(turn: &Turn<'_>, op: &Op<'_>, applies: bool, reply: &mut Reply) {
    let started = turn.ask(op, move |_, _, outcome| Ok(applies && outcome?.is_done()));
    reply.put(turn, started, |_, applied, reply| {
        reply.json(&Done { applied });
    });
}

fn answer<'a, T: serde::Deserialize<'a>>(
    asked: &ReceivedRequest<'a>,
    reply: &mut Reply,
    run: impl FnOnce(T, &mut Reply) -> Result<(), BodyRefusal>,
) {
    if let Some(request) = request::read(asked, reply) {
        let done = run(request, reply);
        done.unwrap_or_else(|refusal| refusal.answer(reply));
    }
}
