//! The questions of `/v1`: may this pass, may it be held, what is left?

use std::borrow::Cow;

use http::StatusCode;
use tollgate_limit::Span;
use tollgate_node::{Answer, RefusedBy};
use tollgate_wire::problem::Problem;
use tollgate_wire::v1::{
    self, CheckBody, CheckRequest, CheckResponse, PeekRequest, PeekResponse, PolicyState,
    ReserveRequest,
};

use super::body::{self, Refusal, millis};
use super::{Asked, Reply, query};
use crate::engine::{Ask, Scope, Turn};
use crate::fields;

/// `POST /v1/check`.
pub(super) fn check(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    let as_status = match query::flag(asked.query, "status") {
        Ok(flag) => flag,
        Err(detail) => return reply.refuse(StatusCode::BAD_REQUEST, &detail),
    };
    match body::read(asked, reply) {
        None => {}
        Some(CheckBody::Single(request)) => {
            let done = single(turn, asked, &request, as_status, reply);
            done.unwrap_or_else(|refusal| refusal.answer(reply));
        }
        Some(CheckBody::Batch(requests)) => batch(turn, asked, &requests, reply),
    }
}

fn single(
    turn: &Turn<'_>,
    asked: &Asked<'_>,
    request: &CheckRequest<'_>,
    as_status: bool,
    reply: &mut Reply,
) -> Result<(), Refusal> {
    let entries = body::entries(&request.key);
    let ask = Ask {
        key: body::key(&request.key, &entries, asked)?,
        cost: body::cost(request.cost)?,
        scope: request
            .contract
            .as_deref()
            .map_or(Scope::All, Scope::Contract),
        id: request.id.as_deref(),
    };
    let answer = turn.check(&ask)?;
    put_fields(turn, asked, &ask, &answer, reply);
    if as_status && !answer.is_allowed() {
        reply.problem(&denial(turn, &answer));
    } else {
        reply.json(&response(turn, &answer));
    }
    Ok(())
}

/// Decides a list in order. A check that cannot be decided has a problem in its place.
fn batch(turn: &Turn<'_>, asked: &Asked<'_>, requests: &[CheckRequest<'_>], reply: &mut Reply) {
    let max = asked.shared.settings.limits.batch_max;
    if requests.len() > max {
        let detail = format!("A list may have at most {max} checks.");
        return reply.refuse(StatusCode::BAD_REQUEST, &detail);
    }
    let mut out = Vec::with_capacity(requests.len() * ANSWER_BYTES);
    out.push(b'[');
    for (nth, request) in requests.iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        // Bodies of ours have text for names, so that nothing can fail.
        let _ = match one_of_many(turn, asked, request) {
            Ok(answer) => v1::encode(&response(turn, &answer), &mut out),
            Err(refusal) => v1::encode(&refusal.problem(), &mut out),
        };
    }
    out.push(b']');
    reply.own(super::reply::JSON, out);
}

fn one_of_many(
    turn: &Turn<'_>,
    asked: &Asked<'_>,
    request: &CheckRequest<'_>,
) -> Result<Answer, Refusal> {
    let entries = body::entries(&request.key);
    let ask = Ask {
        key: body::key(&request.key, &entries, asked)?,
        cost: body::cost(request.cost)?,
        scope: request
            .contract
            .as_deref()
            .map_or(Scope::All, Scope::Contract),
        id: request.id.as_deref(),
    };
    Ok(turn.check(&ask)?)
}

/// `POST /v1/reserve`.
pub(super) fn reserve(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    if let Some(request) = body::read(asked, reply) {
        let done = reserved(turn, asked, &request, reply);
        done.unwrap_or_else(|refusal| refusal.answer(reply));
    }
}

fn reserved(
    turn: &Turn<'_>,
    asked: &Asked<'_>,
    request: &ReserveRequest<'_>,
    reply: &mut Reply,
) -> Result<(), Refusal> {
    let entries = body::entries(&request.key);
    let ask = Ask {
        id: Some(&request.id),
        ..Ask::new(
            body::key(&request.key, &entries, asked)?,
            body::cost(request.cost)?,
        )
    };
    let ttl = request.ttl_ms.unwrap_or(TTL_MS).min(TTL_MAX_MS);
    let answer = turn.reserve(&ask, Span::from_nanos(u128::from(ttl) * 1_000_000))?;
    put_fields(turn, asked, &ask, &answer, reply);
    // A reservation is settled by its id; a receipt beside it could be settled a second time.
    let response = CheckResponse {
        receipt: None,
        ..response(turn, &answer)
    };
    reply.json(&response);
    Ok(())
}

/// `POST /v1/peek`.
pub(super) fn peek(turn: &Turn<'_>, asked: &Asked<'_>, reply: &mut Reply) {
    let Some(PeekRequest { key }) = body::read(asked, reply) else {
        return;
    };
    let entries = body::entries(&key);
    let key = match body::key(&key, &entries, asked) {
        Ok(key) => key,
        Err(refusal) => return refusal.answer(reply),
    };
    let standings = turn.standings(key);
    let policies = standings.iter().map(|standing| PolicyState {
        contract: Cow::Borrowed(&standing.contract.id),
        policy: Cow::Borrowed(&standing.policy.name),
        limit: standing.policy.policy.config().limit,
        remaining: standing.status.remaining,
        reset_after_ms: millis(standing.status.reset_after),
    });
    let policies = policies.collect();
    reply.json(&PeekResponse { policies });
}

fn put_fields(
    turn: &Turn<'_>,
    asked: &Asked<'_>,
    ask: &Ask<'_>,
    answer: &Answer,
    reply: &mut Reply,
) {
    let dialect = asked.shared.settings.dialect;
    fields::each(turn, ask, answer, dialect, |name, value| {
        reply.line(name, value);
    });
}

/// The answer as it is written.
fn response<'t>(turn: &'t Turn<'_>, answer: &Answer) -> CheckResponse<'t> {
    CheckResponse {
        allowed: answer.is_allowed(),
        policy: policy(turn, answer).map(Cow::Borrowed),
        limit: answer.limit,
        remaining: answer.remaining,
        retry_after_ms: answer.verdict.retry_after().map(millis),
        reset_after_ms: millis(answer.reset_after),
        wait_ms: millis(answer.verdict.wait()),
        receipt: turn.receipt(answer).map(Cow::Owned),
    }
}

/// The name of the policy that refused, or that has the least left.
fn policy<'t>(turn: &'t Turn<'_>, answer: &Answer) -> Option<&'t str> {
    let named = turn.refuser(answer).or_else(|| turn.tightest(answer));
    named.map(|(_, policy)| &*policy.name)
}

/// A denial as a problem.
fn denial<'t>(turn: &'t Turn<'_>, answer: &Answer) -> Problem<'t> {
    if answer.refused_by == Some(RefusedBy::FullTable) {
        return Problem::reduced_capacity("There is no room to count another key.");
    }
    let name = turn.refuser(answer).map(|(_, policy)| &*policy.name);
    let detail = match answer.verdict.retry_after() {
        Some(after) => format!("The same request may pass in {} ms.", millis(after)),
        None => "The request costs more than can ever be left.".to_owned(),
    };
    Problem {
        detail: Some(detail.into()),
        ..Problem::quota_exceeded(name)
    }
}

/// How long a reservation stays open unless its caller says.
const TTL_MS: u64 = 60_000;
/// How long it stays open at most: a day.
const TTL_MAX_MS: u64 = 86_400_000;
/// Bytes of one answer in a list, or a bit more.
const ANSWER_BYTES: usize = 256;
