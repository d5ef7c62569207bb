//! The writes of `/v1`: tokens taken without asking, given back, or settled at what something really cost.

use tollgate_limit::Cost;
use tollgate_wire::v1::{CancelRequest, ChargeRequest, CommitRequest, Done, SettleRequest};

use super::body::{self, Refusal};
use super::{Asked, Reply};
use crate::engine::{Ask, EngineError, Turn};

/// `POST /v1/settle`.
pub(super) fn settle(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    answer(asked, reply, |request: SettleRequest<'_>| {
        let SettleRequest { receipt, cost, id } = &request;
        turn.settle(receipt, body::cost(*cost)?, id.as_deref())?;
        Ok(true)
    });
}

/// `POST /v1/commit`.
pub(super) fn commit(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    answer(asked, reply, |request: CommitRequest<'_>| {
        turn.commit(&request.id, body::cost(request.cost)?)?;
        Ok(true)
    });
}

/// `POST /v1/cancel`.
pub(super) fn cancel(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    answer(asked, reply, |request: CancelRequest<'_>| {
        turn.cancel(&request.id)?;
        Ok(true)
    });
}

/// `POST /v1/charge`.
pub(super) fn charge(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    write(turn, asked, reply, |ask| turn.charge(ask));
}

/// `POST /v1/refund`.
pub(super) fn refund(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    write(turn, asked, reply, |ask| turn.refund(ask).map(|()| true));
}

fn write(
    turn: &Turn<'_>,
    asked: &Asked<'_>,
    reply: &mut Reply,
    write: impl FnOnce(&Ask<'_>) -> Result<bool, EngineError>,
) {
    answer(asked, reply, |request: ChargeRequest<'_>| {
        let entries = body::entries(&request.key);
        let key = body::key(&request.key, &entries, asked)?;
        let cost = body::cost(request.cost)?;
        let ask = Ask {
            id: request.id.as_deref(),
            ..Ask::new(key, cost)
        };
        let done = write(&ask)?;
        Ok(done && cost != Cost::PEEK && !turn.standings(key).is_empty())
    });
}

fn answer<'a, T: serde::Deserialize<'a>>(
    asked: &Asked<'a>,
    reply: &mut Reply,
    run: impl FnOnce(T) -> Result<bool, Refusal>,
) {
    let Some(request) = body::read(asked, reply) else {
        return;
    };
    match run(request) {
        Ok(applied) => reply.json(&Done { applied }),
        Err(refusal) => refusal.answer(reply),
    }
}
