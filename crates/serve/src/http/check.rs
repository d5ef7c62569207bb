//! The questions of `/v1`: check, reserve, peek.

use std::borrow::Cow;

use http::StatusCode;
use tollgate_limit::{Cost, Span};
use tollgate_node::{Answer, RefusedBy};
use tollgate_wire::problem::Problem;
use tollgate_wire::v1::{
    self, CheckBody, JsonCheckRequest, JsonCheckResponse, PeekRequest, PeekResponse, PolicyState,
    ReserveRequest,
};

use super::reply::{JSON, encoded};
use super::request::{self, BodyRefusal, KeyEntries};
use super::{ReceivedRequest, Reply, query};
use crate::engine::{
    Act, EngineError, EngineRequest, Op, OpOutcome, Scope, Started, Turn, operation_id,
};
use crate::value::millis;

pub(super) fn check(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let as_status = match query::flag(asked.query, "status") {
        Ok(flag) => flag,
        Err(detail) => return reply.refuse(StatusCode::BAD_REQUEST, &detail),
    };
    match request::read(asked, reply) {
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
    asked: &ReceivedRequest<'_>,
    request: &JsonCheckRequest<'_>,
    as_status: bool,
    reply: &mut Reply,
) -> Result<(), BodyRefusal> {
    let entries = request::entries(&request.key);
    let op = Op::check(ask(asked, request, &entries)?);
    let dialect = asked.shared.settings.dialect;
    reply.put(turn, turn.ask_answer(&op), move |turn, answer, reply| {
        let report = turn.report(&answer);
        report.each_field(dialect, |name, value| reply.line(name, value));
        if as_status && !answer.is_allowed() {
            reply.problem(&denial(turn, &answer));
        } else {
            reply.json(&response(turn, &answer));
        }
    });
    Ok(())
}

/// Decides a list in order. A check that cannot be decided has a problem in its place; an invalid one fails the whole
/// list before anything is charged.
fn batch(
    turn: &Turn<'_>,
    asked: &ReceivedRequest<'_>,
    requests: &[JsonCheckRequest<'_>],
    reply: &mut Reply,
) {
    let max = asked.shared.settings.limits.batch_max;
    if requests.len() > max {
        let detail = format!("A list may have at most {max} checks.");
        return reply.refuse(StatusCode::BAD_REQUEST, &detail);
    }
    let entries: Vec<KeyEntries<'_>> = requests
        .iter()
        .map(|request| request::entries(&request.key))
        .collect();
    let mut asks = Vec::with_capacity(requests.len());
    for (nth, (request, entries)) in requests.iter().zip(&entries).enumerate() {
        match ask(asked, request, entries) {
            Ok(ask) => asks.push(ask),
            Err(refusal) => return refusal.answer_nth(nth + 1, reply),
        }
    }
    let mut list = List::of(requests.len());
    if turn.waits() {
        let steps = asks.iter().map(|ask| turn.start(&Op::check(*ask)));
        let started = Started::several(turn, steps.collect(), |turn, steps| {
            for step in steps {
                list.push(turn, step.outcome().and_then(OpOutcome::answer));
            }
            Ok(list.end())
        });
        return reply.put(turn, started, |_, body, reply| reply.own(JSON, body));
    }
    turn.check_many(&asks, |_, answer| list.push(turn, answer));
    reply.own(JSON, list.end());
}

struct List(Vec<u8>);

impl List {
    fn of(count: usize) -> Self {
        let mut out = Vec::with_capacity(count * ANSWER_BYTES);
        out.push(b'[');
        Self(out)
    }

    fn push(&mut self, turn: &Turn<'_>, answer: Result<Answer, EngineError>) {
        let Self(out) = self;
        if out.len() > 1 {
            out.push(b',');
        }
        // Our bodies have text for names, so this cannot fail.
        let _ = match answer {
            Ok(answer) => v1::encode(&response(turn, &answer), out),
            Err(error) => v1::encode(&BodyRefusal::Engine(error).problem(), out),
        };
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b']');
        self.0
    }
}

fn ask<'a>(
    asked: &ReceivedRequest<'_>,
    request: &'a JsonCheckRequest<'_>,
    entries: &'a [(&'a str, &'a str)],
) -> Result<EngineRequest<'a>, BodyRefusal> {
    let contract = request.contract.as_deref();
    let id = request.id.as_deref();
    id.map(operation_id).transpose()?;
    Ok(EngineRequest {
        key: request::key(&request.key, entries, asked)?,
        cost: request::cost(request.cost)?,
        scope: contract.map_or(Scope::All, Scope::Contract),
        id,
    })
}

pub(super) fn reserve(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    if let Some(request) = request::read(asked, reply) {
        let done = reserved(turn, asked, &request, reply);
        done.unwrap_or_else(|refusal| refusal.answer(reply));
    }
}

fn reserved(
    turn: &Turn<'_>,
    asked: &ReceivedRequest<'_>,
    request: &ReserveRequest<'_>,
    reply: &mut Reply,
) -> Result<(), BodyRefusal> {
    let entries = request::entries(&request.key);
    let ask = EngineRequest {
        id: Some(&request.id),
        ..EngineRequest::new(
            request::key(&request.key, &entries, asked)?,
            request::cost(request.cost)?,
        )
    };
    let ttl = request.ttl_ms.unwrap_or(TTL_MS).min(TTL_MAX_MS);
    let ttl = Span::from_nanos(u128::from(ttl) * 1_000_000);
    let dialect = asked.shared.settings.dialect;
    let op = Op::Key(Act::Reserve(ttl), ask);
    reply.put(turn, turn.ask_answer(&op), move |turn, answer, reply| {
        let report = turn.report(&answer);
        report.each_field(dialect, |name, value| reply.line(name, value));
        // A reservation is settled by its id; a receipt beside it could be settled a second time.
        let response = JsonCheckResponse {
            receipt: None,
            ..response(turn, &answer)
        };
        reply.json(&response);
    });
    Ok(())
}

pub(super) fn peek(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    let Some(PeekRequest { key }) = request::read(asked, reply) else {
        return;
    };
    let entries = request::entries(&key);
    let key = match request::key(&key, &entries, asked) {
        Ok(key) => key,
        Err(refusal) => return refusal.answer(reply),
    };
    let op = Op::Key(Act::Status, EngineRequest::new(key, Cost::PEEK));
    let started = turn.ask(&op, |turn, op, outcome| states(turn, op.ask()?, outcome?));
    reply.put(turn, started, |_, body, reply| reply.own(JSON, body));
}

fn states(
    turn: &Turn<'_>,
    ask: &EngineRequest<'_>,
    outcome: OpOutcome,
) -> Result<Vec<u8>, EngineError> {
    let standings = turn.standings(ask, outcome.read())?;
    let policies = standings.iter().map(|standing| PolicyState {
        contract: Cow::Borrowed(&standing.contract.id),
        policy: Cow::Borrowed(&standing.policy.name),
        limit: standing.status.limit,
        capacity: standing.policy.policy.capacity(),
        remaining: standing.status.remaining,
        debt: standing.status.debt,
        reset_after_ms: millis(standing.status.reset_after),
    });
    let policies = policies.collect();
    Ok(encoded(&PeekResponse { policies }))
}

fn response<'t>(turn: &'t Turn<'_>, answer: &'t Answer) -> JsonCheckResponse<'t> {
    JsonCheckResponse {
        allowed: answer.is_allowed(),
        policy: turn.policy_name(answer).map(Cow::Borrowed),
        matched: !answer.is_unmatched(),
        limit: answer.limit,
        capacity: turn.capacity(answer),
        remaining: answer.remaining,
        part: answer.is_part,
        debt: answer.debt,
        retry_after_ms: answer.verdict.retry_after().map(millis),
        reset_after_ms: millis(answer.reset_after),
        wait_ms: millis(answer.verdict.wait()),
        receipt: turn.receipt(answer).map(Cow::Owned),
    }
}

fn denial<'t>(turn: &'t Turn<'_>, answer: &'t Answer) -> Problem<'t> {
    if answer.refused_by == Some(RefusedBy::FullTable) {
        return Problem::reduced_capacity("There is no room to count another key.");
    }
    if answer.refused_by == Some(RefusedBy::Unread) {
        return Problem::reduced_capacity("The durable counts of this key cannot be read now.");
    }
    if turn.fell_back().is_some() {
        return Problem::reduced_capacity("The node that counts this key cannot be reached.");
    }
    if answer.is_forbidden() {
        return Problem::blank(403, "Forbidden", forbidden(answer));
    }
    let detail = match answer.verdict.retry_after() {
        Some(after) => format!("The same request may pass in {} ms.", millis(after)),
        None => "The request costs more than can ever be left.".to_owned(),
    };
    let owes = format!(" The key owes {}.", answer.debt);
    let owes = Some(owes).filter(|_| answer.debt > 0);
    Problem {
        detail: Some((detail + &owes.unwrap_or_default()).into()),
        ..Problem::quota_exceeded(turn.violated(answer))
    }
}

/// Why waiting will not help.
const fn forbidden(answer: &Answer) -> &'static str {
    match answer.refused_by {
        Some(RefusedBy::Ban { .. }) => "The key is banned, and no end is set.",
        _ => "No contract binds this key, and such keys are refused.",
    }
}

/// How long a reservation stays open by default.
const TTL_MS: u64 = 60_000;
/// How long it stays open at most: a day.
const TTL_MAX_MS: u64 = 86_400_000;
/// Bytes of one answer in a list, rounded up.
const ANSWER_BYTES: usize = 256;
