//! Tollgate's own service: checks, one or many in a call.

use std::borrow::Cow;

use smallvec::SmallVec;
use tollgate_limit::{Cost, Span};
use tollgate_node::{Answer, Key, RefusedBy};
use tollgate_wire::native::{CheckManyRequest, CheckManyResponse, CheckRequest, CheckResponse};

use super::status::{Code, Status};
use crate::engine::{Ask, Scope, Turn};
use crate::settings::Limits;
use crate::value;

/// Decides one check.
pub(super) fn check(
    turn: &Turn<'_>,
    request: &CheckRequest,
    limits: &Limits,
) -> Result<CheckResponse, Status> {
    decide(turn, request, limits, true)
}

/// Decides many, in order. What is wrong with one is said in its answer.
pub(super) fn check_many(
    turn: &Turn<'_>,
    request: &CheckManyRequest,
    limits: &Limits,
) -> Result<CheckManyResponse, Status> {
    if request.checks.len() > limits.batch_max {
        let what = format!("a call has at most {} checks", limits.batch_max);
        return Err(Status::new(Code::OutOfRange, what));
    }
    let answers = request.checks.iter().map(|check| {
        let decided = decide(turn, check, limits, request.with_receipts);
        decided.unwrap_or_else(|status| CheckResponse {
            error: status.message().to_owned(),
            ..CheckResponse::default()
        })
    });
    Ok(CheckManyResponse {
        answers: answers.collect(),
    })
}

fn decide(
    turn: &Turn<'_>,
    request: &CheckRequest,
    limits: &Limits,
    with_receipt: bool,
) -> Result<CheckResponse, Status> {
    let bytes = request.entries.iter();
    let bytes: usize = bytes.map(|one| one.key.len() + one.value.len()).sum();
    let shortened;
    let request = if bytes + request.key.len() > limits.key_bytes_max {
        shortened = short(request, limits.key_bytes_max);
        &shortened
    } else {
        request
    };
    let entries = request.entries.iter();
    let entries: SmallVec<[(&str, &str); 8]> =
        entries.map(|entry| (&*entry.key, &*entry.value)).collect();
    let answer = turn.check(&ask(request, &entries)?)?;
    let mut response = response(turn, &answer)?;
    if with_receipt {
        response.receipt = turn.receipt(&answer).unwrap_or_default();
    }
    Ok(response)
}

/// The same request with long values as their fingerprints, as a proxy's.
#[cold]
fn short(request: &CheckRequest, bytes_max: usize) -> CheckRequest {
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
    short
}

fn ask<'a>(
    request: &'a CheckRequest,
    entries: &'a [(&'a str, &'a str)],
) -> Result<Ask<'a>, Status> {
    let key = match entries {
        [] => Key::Text(&request.key),
        _ if !request.key.is_empty() => {
            return Err(wrong("a check has entries or a bare key, not both"));
        }
        _ => Key::Entries(entries),
    };
    let cost = Cost::new(request.cost.unwrap_or(1)).map_err(|error| wrong(error.to_string()))?;
    let given = |text: &'a String| Some(&**text).filter(|text| !text.is_empty());
    Ok(Ask {
        scope: given(&request.contract).map_or(Scope::All, Scope::Contract),
        id: given(&request.id),
        ..Ask::new(key, cost)
    })
}

fn response(turn: &Turn<'_>, answer: &Answer) -> Result<CheckResponse, Status> {
    if answer.refused_by == Some(RefusedBy::FullTable) {
        return Err(Status::new(Code::Unavailable, "no room for another key"));
    }
    let policy = turn.named(answer);
    Ok(CheckResponse {
        allowed: answer.is_allowed(),
        policy: policy.map_or_else(String::new, |(_, policy)| policy.name.clone()),
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

/// Whole milliseconds, rounded up.
fn millis(span: Span) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

fn wrong(what: impl Into<std::borrow::Cow<'static, str>>) -> Status {
    Status::new(Code::InvalidArgument, what)
}
