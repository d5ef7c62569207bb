//! Rows about leases: as a table, as JSON, and as part of a page.
//!
//! Not here: the rows of other experiments, and plots.

use serde_json::{Map, Value, json};
use tollgate_lab::{LeaseRow, LeaseSync};

use super::human::{count, digits};
use crate::report::table::{Align, Cell, Table, cell, tame};
use crate::report::text::{html as safe, put};
use crate::report::{Ink, Look, Meaning};

/// A row for programs; what does not apply is null.
pub(super) fn json(row: &LeaseRow) -> Map<String, Value> {
    let (more, expected) = (&row.more, &row.expected);
    let value = json!({
        "scenario": row.scenario,
        "design": row.design,
        "clients": row.clients,
        "seeds": row.seeds,
        "checks": row.checks,
        "violations": row.violations,
        "over": row.over,
        "over_worst": more.worst,
        "over_bound": more.bound,
        "admitted": number(row.admitted),
        "admitted_least": number(row.least),
        "messages_per_decision": number(row.messages),
        "waited": number(row.waited),
        "wait_ms": number(more.wait_ms),
        "failed": number(more.failed),
        "jain": number(more.jain),
        "worst_client": number(more.worst_client),
        "idle": number(more.idle),
        "lost_s": number(more.lost_s),
        "back_least": number(more.back),
        "back_most": number(more.back_most),
        "records_most": more.records,
        "records_end": more.records_end,
        "expected": {
            "admitted": number(expected.admitted),
            "messages_per_decision": number(expected.messages),
            "waited": number(expected.waited),
            "lost_s": number(expected.lost_s),
        },
        "sync": row.sync.as_ref().map(sync),
        "may_break": row.may_break,
        "hash": format!("{:016x}", more.hash),
    });
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// What is known of `sync` alone.
fn sync(own: &LeaseSync) -> Value {
    json!({
        "first": number(Some(own.first)),
        "first_formula": number(Some(own.first_bound)),
        "first_expected": number(own.expected_first),
        "steady": number(Some(own.steady)),
        "steady_formula": number(Some(own.steady_bound)),
        "steady_expected": number(own.expected_steady),
        "long_run": number(Some(own.long_run)),
        "long_run_expected": number(own.expected_long_run),
    })
}

/// To a millionth; what is undefined is null.
fn number(value: Option<f64>) -> Value {
    let value = value.filter(|value| value.is_finite());
    value.map_or(Value::Null, |value| json!((value * 1e6).round() / 1e6))
}

/// A column: its name, and what stands in it; `None` where it does not apply.
struct Column {
    name: &'static str,
    /// How gladly it is given up when there is no room.
    rank: u8,
    pick: fn(&LeaseRow) -> Option<(String, Ink)>,
}

const COLUMNS: [Column; 28] = [
    Column {
        name: "clients",
        rank: 2,
        pick: |row| plain(row.clients.to_string()),
    },
    Column {
        name: "admitted",
        rank: 0,
        pick: |row| plain(format!("{:.3}", row.admitted?)),
    },
    Column {
        name: "least",
        rank: 1,
        pick: |row| plain(format!("{:.3}", row.least.filter(|_| row.seeds > 1)?)),
    },
    Column {
        name: "expected",
        rank: 0,
        pick: |row| expected(row.expected.admitted?, 3),
    },
    Column {
        name: "messages",
        rank: 0,
        pick: |row| plain(digits(row.messages?)),
    },
    Column {
        name: "expected messages",
        rank: 3,
        pick: |row| expected(row.expected.messages?, 3),
    },
    Column {
        name: "waited %",
        rank: 0,
        pick: |row| plain(format!("{:.2}", 100.0 * row.waited?)),
    },
    Column {
        name: "expected waited %",
        rank: 4,
        pick: |row| expected(100.0 * row.expected.waited?, 1),
    },
    Column {
        name: "lost s",
        rank: 0,
        pick: |row| plain(format!("{:.2}", row.more.lost_s?)),
    },
    Column {
        name: "expected lost s",
        rank: 0,
        pick: |row| expected(row.expected.lost_s?, 2),
    },
    Column {
        name: "first",
        rank: 0,
        pick: |row| plain(rounded(row.sync?.first)),
    },
    Column {
        name: "formula",
        rank: 0,
        pick: |row| plain(rounded(row.sync?.first_bound)),
    },
    Column {
        name: "expected first",
        rank: 4,
        pick: |row| expected(row.sync?.expected_first?, 0),
    },
    Column {
        name: "steady",
        rank: 0,
        pick: |row| plain(rounded(row.sync?.steady)),
    },
    Column {
        name: "steady formula",
        rank: 2,
        pick: |row| plain(rounded(row.sync?.steady_bound)),
    },
    Column {
        name: "long run",
        rank: 0,
        pick: |row| plain(format!("{:.2}", row.sync?.long_run)),
    },
    Column {
        name: "expected long run",
        rank: 3,
        pick: |row| expected(row.sync?.expected_long_run?, 2),
    },
    Column {
        name: "over",
        rank: 0,
        pick: |row| Some(bad(row.over?, row.may_break)),
    },
    Column {
        name: "worst",
        rank: 6,
        pick: |row| plain(row.more.worst.filter(|own| *own > 0)?.to_string()),
    },
    Column {
        name: "violations",
        rank: 1,
        pick: |row| Some(bad(row.violations?, row.may_break)),
    },
    Column {
        name: "checks",
        rank: 5,
        pick: |row| plain(count(float(row.checks?))),
    },
    Column {
        name: "least back",
        rank: 5,
        pick: |row| plain(format!("{:.3}", row.more.back?)),
    },
    Column {
        name: "failed %",
        rank: 7,
        pick: |row| {
            plain(format!(
                "{:.2}",
                100.0 * row.more.failed.filter(|own| *own > 0.0)?
            ))
        },
    },
    Column {
        name: "wait ms",
        rank: 7,
        pick: |row| plain(digits(row.more.wait_ms?)),
    },
    Column {
        name: "jain",
        rank: 8,
        pick: |row| plain(format!("{:.3}", row.more.jain?)),
    },
    Column {
        name: "worst client",
        rank: 8,
        pick: |row| plain(format!("{:.2}", row.more.worst_client?)),
    },
    Column {
        name: "idle/burst",
        rank: 8,
        pick: |row| plain(format!("{:.3}", row.more.idle?)),
    },
    Column {
        name: "records",
        rank: 9,
        pick: |row| plain(row.more.records?.to_string()),
    },
];

#[allow(
    clippy::unnecessary_wraps,
    reason = "a column's cell may be missing, and this one is not"
)]
fn plain(text: String) -> Option<(String, Ink)> {
    Some((text, Ink::Plain))
}

/// What the specification's simulator found.
#[allow(
    clippy::unnecessary_wraps,
    reason = "a column's cell may be missing, and this one is not"
)]
fn expected(value: f64, digits: usize) -> Option<(String, Ink)> {
    Some((format!("{value:.digits$}"), Ink::Dim))
}

fn rounded(value: f64) -> String {
    format!("{value:.0}")
}

#[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
fn float(value: u64) -> f64 {
    value as f64
}

/// A count that must be zero, unless the row is there to fail.
fn bad(value: u64, may_break: bool) -> (String, Ink) {
    let ink = match (value, may_break) {
        (0, false) => Ink::Meaning(Meaning::Allowed),
        (0, true) => Ink::Plain,
        (_, false) => Ink::Meaning(Meaning::Denied),
        (_, true) => Ink::Dim,
    };
    (count(float(value)), ink)
}

/// Columns that some row has.
fn shown(rows: &[LeaseRow]) -> Vec<&'static Column> {
    let has = |column: &&Column| rows.iter().any(|row| (column.pick)(row).is_some());
    COLUMNS.iter().filter(has).collect()
}

/// The rows as a table that fits the terminal.
pub(super) fn table(rows: &[LeaseRow], look: Look, text: &mut String) {
    let mut columns = shown(rows);
    while width(&columns, rows) > look.columns {
        let last = columns.iter().map(|column| column.rank).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        columns.retain(|column| column.rank != last);
    }
    let mut header = vec![("scenario", Align::Left), ("design", Align::Left)];
    header.extend(columns.iter().map(|column| (column.name, Align::Right)));
    let mut before = "";
    let mut lines = Vec::new();
    for row in rows {
        let again = std::mem::replace(&mut before, &row.scenario) == row.scenario;
        let name = if again { "" } else { &*row.scenario };
        let mut cells: Vec<Cell> = vec![cell(tame(name, 40)), cell(tame(&row.design, 40))];
        cells.extend(columns.iter().map(|column| match (column.pick)(row) {
            Some((text, ink)) => cell(text).ink(ink),
            None => cell("–").ink(Ink::Dim),
        }));
        lines.push(cells);
    }
    Table {
        header: &header,
        rows: lines,
    }
    .write(look, text);
}

fn width(columns: &[&Column], rows: &[LeaseRow]) -> usize {
    let chars = |text: &str| text.chars().count();
    let names = |pick: fn(&LeaseRow) -> &str| {
        let widest = rows.iter().map(|row| chars(pick(row)).min(40)).max();
        widest.unwrap_or(0) + 2
    };
    let one = |column: &&Column| {
        let cells = rows.iter().filter_map(|row| (column.pick)(row));
        let widest = cells.map(|(text, _)| chars(&text)).max().unwrap_or(0);
        widest.max(chars(column.name)) + 2
    };
    names(|row| &row.scenario) + names(|row| &row.design) + columns.iter().map(one).sum::<usize>()
}

/// The rows as a section of a page.
pub(super) fn section(rows: &[LeaseRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns = shown(rows);
    let mut text = String::from(
        "<section><h2>What each design did</h2>\n<div class=\"wide\"><table><thead><tr><th>scenario</th><th>design</th>",
    );
    for column in &columns {
        put(
            &mut text,
            format_args!("<th class=\"n\">{}</th>", column.name),
        );
    }
    text.push_str("</tr></thead><tbody>\n");
    let mut before = "";
    for row in rows {
        let again = std::mem::replace(&mut before, &row.scenario) == row.scenario;
        put(
            &mut text,
            format_args!(
                "<tr{}><td>{}</td><td><i class=\"dot {}\"></i>{}</td>",
                if again { "" } else { " class=\"first\"" },
                if again {
                    String::new()
                } else {
                    safe(&row.scenario)
                },
                super::html::colour(&row.design),
                safe(&row.design)
            ),
        );
        for column in &columns {
            let shown = (column.pick)(row).map_or_else(|| "–".to_owned(), |(text, _)| text);
            put(&mut text, format_args!("<td class=\"n\">{shown}</td>"));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>");
    text.push_str(MEANING);
    text.push_str("</section>\n");
    text
}

const MEANING: &str = "<p class=\"soft\">Admitted: of what one exact bucket without delay admits of the same arrivals, the mean and the least of the seeds. Messages: \
    per decision, hints and repetitions included. Waited: requests that took a round trip. Over: admitted while one bucket had no token. Violations: \
    looks at which more could be spent than one bucket has, more was held than reserved, or more reserved than there is. Expected: an independent \
    simulator of the same rules.</p>";

/// What the columns of others are.
pub(super) const LEGEND: &str = "expected: an independent simulator of the same rules";
