//! Answers in words and tables.

use serde_json::Value;

use crate::report::TerminalStyle;
use crate::report::table::{cell, tame, write_table};

/// A table of items: each column is a name and its path in an item.
pub(super) fn table(items: &[Value], columns: &[(&str, &str)]) -> String {
    let header: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let row = |item: &Value| {
        let cells = columns
            .iter()
            .map(|(_, at)| cell(tame(&text(item.pointer(at)), CELL_MAX)));
        cells.collect()
    };
    let mut out = String::new();
    write_table(
        &header,
        items.iter().map(row),
        TerminalStyle::of_stdout(),
        &mut out,
    );
    out
}

/// A value as a person reads it.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| text(Some(item))).collect();
            items.join(", ")
        }
        Some(Value::Object(fields)) if fields.contains_key("name") => text(fields.get("name")),
        Some(other) => other.to_string(),
    }
}

/// Differences, one to a line.
pub(super) fn differences(diff: &Value) -> String {
    let lines = diff.as_array().into_iter().flatten();
    let lines: Vec<String> = lines
        .map(|line| format!("  {}\n", tame(&text(line.get("text")), LINE_MAX)))
        .collect();
    if lines.is_empty() {
        "  nothing is different\n".to_owned()
    } else {
        lines.concat()
    }
}

/// Why a key would pass or not.
pub(super) fn explanation(told: &Value) -> String {
    let mut out = format!("{}\n", tame(&text(told.get("summary")), LINE_MAX));
    let policies = told["policies"].as_array().map_or(&[][..], Vec::as_slice);
    if !policies.is_empty() {
        out.push('\n');
        let columns = [
            ("contract", "/contract"),
            ("policy", "/policy"),
            ("limit", "/limit"),
            ("holds", "/capacity"),
            ("left", "/remaining"),
            ("owes", "/debt"),
            ("passes", "/allowed"),
            ("again in ms", "/retry_after_ms"),
        ];
        out.push_str(&table(policies, &columns));
    }
    for by in told["assignments"].as_array().into_iter().flatten() {
        let (contract, by) = (text(by.get("contract")), text(by.get("assignment")));
        out.extend([
            "in ",
            &contract,
            " by the assignment ",
            &tame(&by, CELL_MAX),
            "\n",
        ]);
    }
    let bans = told["bans"].as_array().map_or(&[][..], Vec::as_slice);
    if !bans.is_empty() {
        out.push('\n');
        let columns = [
            ("ban", "/id"),
            ("of", "/identity"),
            ("in", "/contract"),
            ("until", "/until"),
            ("why", "/reason"),
        ];
        out.push_str(&table(bans, &columns));
    }
    out
}

const CELL_MAX: usize = 60;
const LINE_MAX: usize = 300;
