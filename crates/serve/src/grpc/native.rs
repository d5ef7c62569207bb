//! Tollgate's own service: checks, one or many per call.

use std::borrow::Cow;

use smallvec::SmallVec;
use tollgate_limit::Cost;
use tollgate_node::{Answer, Key, RefusedBy};
use tollgate_wire::native::{CheckManyRequest, CheckManyResponse, CheckRequest, CheckResponse};

use super::method::Begun;
use super::status::{GrpcCode, GrpcStatus};
use crate::engine::{EngineError, EngineRequest, Op, OpOutcome, Scope, Started, StartedOp, Turn};
use crate::settings::RequestLimits;
use crate::value::{self, millis};

pub(super) fn check(
    turn: &Turn<'_>,
    request: &CheckRequest,
    limits: &RequestLimits,
) -> Begun<CheckResponse> {
    let request = fitting(request, limits.key_bytes_max);
    let entries = entries(&request);
    let op = Op::check(ask(&request, &entries)?);
    Ok(turn.ask(&op, |turn, _, outcome| respond(turn, outcome, true)))
}

/// Decides many, in order. An error of one is in its answer.
pub(super) fn check_many(
    turn: &Turn<'_>,
    request: &CheckManyRequest,
    limits: &RequestLimits,
) -> Begun<CheckManyResponse> {
    if request.checks.len() > limits.batch_max {
        let what = format!("a call has at most {} checks", limits.batch_max);
        return Err(GrpcStatus::new(GrpcCode::OutOfRange, what));
    }
    let with_receipts = request.with_receipts;
    let (mut answers, mut steps) = (Vec::with_capacity(request.checks.len()), Vec::new());
    for check in &request.checks {
        let check = fitting(check, limits.key_bytes_max);
        let entries = entries(&check);
        let step = ask(&check, &entries).map(|ask| turn.start(&Op::check(ask)));
        answers.push(match step {
            Ok(StartedOp::Done(outcome)) => Some(answer(respond(turn, outcome, with_receipts))),
            Ok(step) => {
                steps.push(step);
                None
            }
            Err(status) => Some(answer(Err(status))),
        });
    }
    Ok(Started::several(turn, steps, move |turn, steps| {
        let mut later = steps.map(|step| answer(respond(turn, step.outcome(), with_receipts)));
        let answers = answers.into_iter();
        let answers = answers.filter_map(|answer| answer.or_else(|| later.next()));
        Ok(CheckManyResponse {
            answers: answers.collect(),
        })
    }))
}

fn entries(request: &CheckRequest) -> SmallVec<[(&str, &str); 8]> {
    let entries = request.entries.iter();
    entries.map(|entry| (&*entry.key, &*entry.value)).collect()
}

fn respond(
    turn: &Turn<'_>,
    outcome: Result<OpOutcome, EngineError>,
    with_receipt: bool,
) -> Result<CheckResponse, GrpcStatus> {
    let answer = outcome.and_then(OpOutcome::answer)?;
    let mut response = response(turn, &answer)?;
    if with_receipt {
        response.receipt = turn.receipt(&answer).unwrap_or_default();
    }
    Ok(response)
}

fn answer(decided: Result<CheckResponse, GrpcStatus>) -> CheckResponse {
    decided.unwrap_or_else(|status| CheckResponse {
        error: status.message().to_owned(),
        ..CheckResponse::default()
    })
}

/// The request, with too long values replaced by fingerprints, as for a proxy.
fn fitting(request: &CheckRequest, bytes_max: usize) -> Cow<'_, CheckRequest> {
    let bytes = request.entries.iter();
    let bytes: usize = bytes.map(|one| one.key.len() + one.value.len()).sum();
    if bytes + request.key.len() <= bytes_max {
        return Cow::Borrowed(request);
    }
    let mut short = request.clone();
    let key = value::text(&request.key);
    short.key = value::short(&key, bytes_max).into_owned().into();
    let each = request.entries.iter();
    let mut entries: Vec<_> = each
        .map(|one| (&one.key, Cow::Borrowed(&*one.value)))
        .collect();
    value::shorten(&mut entries, bytes_max);
    for (one, (_, value)) in short.entries.iter_mut().zip(entries) {
        one.value = value.into_owned();
    }
    Cow::Owned(short)
}

fn ask<'a>(
    request: &'a CheckRequest,
    entries: &'a [(&'a str, &'a str)],
) -> Result<EngineRequest<'a>, GrpcStatus> {
    let key = match entries {
        [] => Key::Text(&request.key),
        _ if !request.key.is_empty() => {
            return Err(wrong("a check has entries or a bare key, not both"));
        }
        _ => Key::Entries(entries),
    };
    let cost = Cost::new(request.cost.unwrap_or(1)).map_err(|error| wrong(error.to_string()))?;
    let given = |text: &'a String| Some(&**text).filter(|text| !text.is_empty());
    Ok(EngineRequest {
        scope: given(&request.contract).map_or(Scope::All, Scope::Contract),
        id: given(&request.id),
        ..EngineRequest::new(key, cost)
    })
}

fn response(turn: &Turn<'_>, answer: &Answer) -> Result<CheckResponse, GrpcStatus> {
    if answer.refused_by == Some(RefusedBy::FullTable) {
        return Err(GrpcStatus::new(
            GrpcCode::Unavailable,
            "no room for another key",
        ));
    }
    Ok(CheckResponse {
        allowed: answer.is_allowed(),
        policy: turn.policy_name(answer).unwrap_or_default().to_owned(),
        limit: answer.limit,
        capacity: turn.capacity(answer),
        remaining: answer.remaining,
        debt: answer.debt,
        unmatched: answer.is_unmatched(),
        part: answer.is_part,
        retry_after_ms: answer.verdict.retry_after().map(millis),
        reset_after_ms: millis(answer.reset_after),
        wait_ms: millis(answer.verdict.wait()),
        receipt: String::new(),
        error: String::new(),
    })
}

fn wrong(what: impl Into<std::borrow::Cow<'static, str>>) -> GrpcStatus {
    GrpcStatus::new(GrpcCode::InvalidArgument, what)
}
