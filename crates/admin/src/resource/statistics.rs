//! Statistics of requests: usage for billing, series, ranks, load, the latest, and the preview of a change
//! on them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate_catalogue::Kind;
use tollgate_node::Key;
use tollgate_serve::statistics::{ReadError, StatisticsReader};
use tollgate_stats::{
    By, CSV_HEAD, DAY_S, Ranking, Recorded, RecordedVerdict, Step, Usage, UsagePage, csv_line,
    day_of_date,
};

use crate::answer::Reply;
use crate::body;
use crate::call::Call;
use crate::fault::Fault;
use crate::page::{self, AFTER};
use crate::time::{self, SECOND_NS};

/// `GET /usage`: by identity and day, as JSON or CSV.
pub(crate) async fn usage(call: &Call) -> Result<Reply, Fault> {
    let query = &call.query;
    let today = time::now_ns() / SECOND_NS / DAY_S;
    let asked = Usage {
        from_day: day(call, "from", today)?,
        until_day: day(call, "until", today + 1)?,
        contract: query.text("contract")?.map(str::to_owned),
        identity: query.text("identity")?.map(str::to_owned),
    };
    let after = query.text(AFTER)?.map(cursor).transpose()?;
    let rows_max = rows_max(call)?;
    let reader = reader(call)?;
    if after.is_none() {
        reader.catch_up(&call.shared.engine).await;
    }
    let page = reader.usage(asked, after, rows_max).await;
    let UsagePage { rows, next } = page.map_err(fault)?;
    let next = next.map(|next| json!(next).to_string());
    match query.text("format")? {
        None | Some("json") => Ok(Reply::json(&json!({ "items": rows, "next": next }))),
        Some("csv") => {
            let mut text = CSV_HEAD.to_owned();
            for row in &rows {
                csv_line(row, &mut text);
            }
            let answer = Reply::text("text/csv; charset=utf-8", text);
            let name = http::HeaderName::from_static("tollgate-next");
            Ok(next
                .iter()
                .fold(answer, |answer, next| answer.line(name.clone(), next)))
        }
        Some(other) => Err(Fault::unknown("format", other, ["json", "csv"].into_iter())),
    }
}

/// A day, as `2026-11-16`.
fn day(call: &Call, name: &str, default: u64) -> Result<u64, Fault> {
    let Some(text) = call.query.text(name)? else {
        return Ok(default);
    };
    let wrong = || Fault::malformed(format!("`{name}` is a day, as `2026-11-16`"));
    day_of_date(text).ok_or_else(wrong)
}

fn cursor(text: &str) -> Result<(u64, String, String), Fault> {
    serde_json::from_str(text).map_err(|_| Fault::malformed("`after` is the `next` of a page"))
}

/// `GET /series`: counts by step; of an identity in a contract, of a contract, or of all.
pub(crate) async fn series(call: &Call) -> Result<Reply, Fault> {
    let text = |name| Ok::<_, Fault>(call.query.text(name)?.unwrap_or_default().to_owned());
    let step = match call.query.text("step")? {
        None => Step::Minute,
        Some(name) => Step::from_name(name)
            .ok_or_else(|| Fault::unknown("step", name, ["minute", "hour", "day"].into_iter()))?,
    };
    // The end is not part of a series; the current second is.
    let end = time::now_ns() / SECOND_NS + 1;
    let until = moment(call, "until", end)?;
    let from = moment(call, "from", until.saturating_sub(step.seconds() * 60))?;
    if until.saturating_sub(from) / step.seconds() > POINTS_MAX {
        return Err(Fault::invalid(format!(
            "a series has at most {POINTS_MAX} parts"
        )));
    }
    let (contract, identity) = (text("contract")?, text("identity")?);
    let points = reader(call)?.series(contract, identity, from..until, step);
    let points = points.await;
    Ok(Reply::json(
        &json!({ "items": points.map_err(fault)?, "next": null }),
    ))
}

/// A time, in seconds since the epoch.
fn moment(call: &Call, name: &str, default: u64) -> Result<u64, Fault> {
    let Some(text) = call.query.text(name)? else {
        return Ok(default);
    };
    let wrong = || Fault::malformed(format!("`{name}` is a time, as `2026-12-31T23:00:00Z`"));
    time::read(text)
        .map(|nanos| nanos / SECOND_NS)
        .ok_or_else(wrong)
}

/// `GET /top`: identities by rank in a window.
pub(crate) async fn top(call: &Call) -> Result<Reply, Fault> {
    let by = match call.query.text("by")? {
        None | Some("asked") => By::Asked,
        Some("denied") => By::Denied,
        Some("cost") => By::Cost,
        Some(other) => {
            let known = ["asked", "denied", "cost"].into_iter();
            return Err(Fault::unknown("rank", other, known));
        }
    };
    let window = call
        .query
        .number("window")?
        .unwrap_or(3600)
        .min(WINDOW_MAX_S);
    let contract = call.query.text("contract")?.unwrap_or_default().to_owned();
    let now = time::now_ns() / SECOND_NS;
    let ranking = Ranking {
        by,
        contract,
        prefix: String::new(),
        rows_max: rows_max(call)?,
    };
    let rows = reader(call)?.top(ranking, window, now).await;
    Ok(Reply::json(
        &json!({ "items": rows.map_err(fault)?, "next": null }),
    ))
}

/// `GET /load`: how busy nodes are, for balancers.
pub(crate) async fn load(call: &Call) -> Result<Reply, Fault> {
    Ok(Reply::json(&reader(call)?.load(&call.shared.engine).await))
}

/// `GET /recent`: the last requests, newest first.
pub(crate) fn recent(call: &Call) -> Result<Reply, Fault> {
    let (contract, entry) = (call.query.text("contract")?, call.query.text("key")?);
    let rows = reader(call)?.recent(contract, entry, rows_max(call)?);
    Ok(Reply::json(&json!({ "items": rows, "next": null })))
}

/// `POST /contracts/{id}/try` and `/plans/{id}/try`: the preview of a document on the latest requests, or on those
/// in the body.
pub(crate) async fn attempt(call: &Call) -> Result<Reply, Fault> {
    if !matches!(call.kind, Kind::Contract | Kind::Plan) {
        return Err(Fault::invalid(
            "contracts and plans can be tried, nothing else",
        ));
    }
    let minutes = call.query.number("minutes")?.unwrap_or(15).min(MINUTES_MAX);
    let (text, lines) = body::document_and_lines(call.request.headers(), call.request.body())?;
    let trace = lines.map(recorded).transpose()?;
    let before = call.shared.catalogue().snapshot();
    let mut after = before.catalogue.clone();
    after.put(call.kind, call.name(), text)?;
    let compiled = (before.catalogue.compiled(), after.compiled());
    let reader = reader(call)?;
    let tried = if let Some(trace) = trace {
        reader.try_on(compiled.0, compiled.1, trace).await
    } else {
        let since = (time::now_ns() / 1_000_000).saturating_sub(minutes * 60_000);
        reader.try_change(compiled.0, compiled.1, since).await
    };
    Ok(Reply::json(&tried))
}

/// Requests of a recorded trace: each has a time, a cost and the entries of a key.
fn recorded(lines: body::NumberedLines<'_>) -> Result<Vec<Recorded>, Fault> {
    let mut rows = Vec::new();
    for (number, line) in lines {
        let wrong = |why: &str| Fault::malformed(format!("line {number}: {why}"));
        let fields: BTreeMap<String, Value> =
            serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
        let time = fields.get("time").and_then(Value::as_u64);
        let time = time.ok_or_else(|| wrong("`time` is missing, in milliseconds since 1970"))?;
        let cost = match fields.get("cost") {
            None => 1,
            Some(cost) => cost.as_u64().ok_or_else(|| {
                let what = format!("`cost` is no whole number from 0 to {}", u64::MAX);
                wrong(&what)
            })?,
        };
        let named = fields
            .iter()
            .filter(|(name, _)| !matches!(&***name, "time" | "cost"));
        let entries = named.filter_map(|(name, value)| Some((&**name, value.as_str()?)));
        let entries: Vec<(&str, &str)> = entries.collect();
        let key = Key::Entries(&entries);
        rows.push(Recorded::new(time, key, cost, RecordedVerdict::Allow));
    }
    rows.sort_by_key(|row| row.at_ms);
    Ok(rows)
}

fn rows_max(call: &Call) -> Result<usize, Fault> {
    Ok(usize::try_from(page::limit(&call.query)?).unwrap_or(usize::MAX))
}

fn reader(call: &Call) -> Result<&StatisticsReader, Fault> {
    let none = || Fault::new(http::StatusCode::CONFLICT, "not_kept", NOT_COUNTED);
    call.shared.statistics.get().ok_or_else(none)
}

pub(crate) fn fault(error: ReadError) -> Fault {
    match error {
        ReadError::NotKept => Fault::new(http::StatusCode::CONFLICT, "not_kept", error.to_string()),
        ReadError::Database(error) => Fault::from(error),
    }
}

const NOT_COUNTED: &str =
    "requests are not counted here: see `statistics` in the server's settings";
const POINTS_MAX: u64 = 2000;
const WINDOW_MAX_S: u64 = 7 * DAY_S;
const MINUTES_MAX: u64 = 24 * 60;
