//! Reports for programs.
//!
//! Not here: anything for people.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use serde_json::{Map, Value, json};
use tollgate_lab::{Bar, Column, Report, Reported, Row, RunOutcome, Spread};

use super::designs::{ReportRow, number};

/// One object, without a line end.
pub(super) fn report(report: &Report, per_seed: bool) -> String {
    let parameters: Map<_, _> = report
        .parameters
        .iter()
        .map(|(name, value)| (name.replace(' ', "_"), plain(value)))
        .collect();
    let mut object = Map::new();
    object.insert("experiment".to_owned(), json!(report.experiment));
    object.insert("parameters".to_owned(), Value::Object(parameters));
    object.insert("rows".to_owned(), rows(report, per_seed).collect());
    if !report.bars.is_empty() {
        object.insert("bars".to_owned(), report.bars.iter().map(bar).collect());
    }
    object.insert("conclusion".to_owned(), json!(report.conclusion));
    if !report.closing.is_empty() {
        object.insert("closing".to_owned(), json!(report.closing));
    }
    Value::Object(object).to_string()
}

/// One object per row, and per bar, each on its line.
pub(super) fn lines(report: &Report, per_seed: bool) -> String {
    let named = |object: Value| {
        let mut line = Map::new();
        line.insert("experiment".to_owned(), json!(report.experiment));
        line.extend(object.as_object().cloned().unwrap_or_default());
        format!("{}\n", Value::Object(line))
    };
    let bars = report.bars.iter().map(bar);
    let objects = rows(report, per_seed).chain(bars);
    objects.map(named).collect()
}

fn rows(report: &Report, per_seed: bool) -> impl Iterator<Item = Value> {
    let gossip = report.rows.iter().map(move |one| row(one, per_seed));
    let supply = report.supply.iter().map(ReportRow::json);
    let split = report.split.iter().map(ReportRow::json);
    let lease = report.lease.iter().map(ReportRow::json);
    gossip.chain(supply).chain(split).chain(lease)
}

fn bar(bar: &Bar) -> Value {
    json!({ "name": bar.name, "bar": bar.bar, "measured": bar.measured, "met": bar.met })
}

/// A number as a number, anything else as text.
fn plain(value: &str) -> Value {
    let number = value.parse::<u64>().map(Value::from);
    number.unwrap_or_else(|_| Value::from(value))
}

const COLUMNS: [Column; 11] = [
    Column::Total,
    Column::Area,
    Column::Over,
    Column::Under,
    Column::False,
    Column::Bytes,
    Column::Messages,
    Column::State,
    Column::Local,
    Column::Busiest,
    Column::Quiet,
];

fn row(row: &Row, per_seed: bool) -> Value {
    let mut object = Map::new();
    object.insert("set".to_owned(), json!(row.set));
    object.insert("design".to_owned(), json!(row.design));
    object.insert("seeds".to_owned(), json!(row.seeds()));
    for column in COLUMNS {
        let (name, spread) = (column.name(), row.column(column));
        let mut put = |suffix: &str, pick: fn(&Spread) -> f64| {
            object.insert(format!("{name}{suffix}"), number(spread.as_ref().map(pick)));
        };
        put("", |spread| spread.mean);
        match column {
            Column::Total | Column::Area => {
                put("_sd", |spread| spread.sd);
                put("_min", |spread| spread.min);
            }
            Column::Over | Column::Under => {
                put("_sd", |spread| spread.sd);
                put("_max", |spread| spread.max);
            }
            _ => {}
        }
    }
    if !row.reported.is_empty() {
        object.insert(
            "reported".to_owned(),
            row.reported.iter().map(reported).collect(),
        );
    }
    if per_seed {
        object.insert("runs".to_owned(), row.runs.iter().map(outcome).collect());
    }
    Value::Object(object)
}

fn reported(told: &Reported) -> Value {
    json!({
        "column": told.column.name(),
        "times_counter": told.is_ratio,
        "value": told.value,
        "source": told.source.name(),
    })
}

fn outcome(run: &RunOutcome) -> Value {
    json!({
        "seed": run.seed,
        "hash": format!("{:016x}", run.hash),
        "requests": run.requests,
        "rejected": run.judged.rejected,
        "central_rejected": run.judged.central_rejected,
        "total": number(run.judged.total),
        "area": number(run.judged.area),
        "over": run.judged.over,
        "under": run.judged.under,
        "false": run.judged.false_rejections,
        "bytes": run.traffic.bytes,
        "messages": run.traffic.messages,
        "state_bytes": number(Some(run.state_bytes)),
        "local_bytes": number(Some(run.local_bytes)),
        "busiest_bytes": run.traffic.busiest_bytes,
        "quiet_s": number(run.quiet_s),
    })
}
