//! Tollgate's own service: checks, one or many in a call.

use smallvec::SmallVec;
use tollgate_limit::{Cost, Span};
use tollgate_node::{Answer, Key, RefusedBy};
use tollgate_wire::native::{CheckManyRequest, CheckManyResponse, CheckRequest, CheckResponse};

use super::status::{Code, Status};
use crate::engine::{Ask, Scope, Turn};
use crate::settings::Limits;

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
    let entries = request.entries.iter();
    let entries: SmallVec<[(&str, &str); 8]> =
        entries.map(|entry| (&*entry.key, &*entry.value)).collect();
    let answer = turn.check(&ask(request, &entries, limits)?)?;
    let mut response = response(turn, &answer)?;
    if with_receipt {
        response.receipt = turn.receipt(&answer).unwrap_or_default();
    }
    Ok(response)
}

fn ask<'a>(
    request: &'a CheckRequest,
    entries: &'a [(&'a str, &'a str)],
    limits: &Limits,
) -> Result<Ask<'a>, Status> {
    let (key, bytes) = match entries {
        [] => (Key::Text(&request.key), request.key.len()),
        _ if !request.key.is_empty() => {
            return Err(wrong("a check has entries or a bare key, not both"));
        }
        _ => {
            let bytes = entries.iter().map(|(name, value)| name.len() + value.len());
            (Key::Entries(entries), bytes.sum())
        }
    };
    if bytes > limits.key_bytes_max {
        return Err(too_long(limits.key_bytes_max));
    }
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

/// What a key hears that is too long.
pub(super) fn too_long(key_bytes_max: usize) -> Status {
    wrong(format!("a key has at most {key_bytes_max} bytes"))
}
