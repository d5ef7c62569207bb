//! Rows about passing supply: as a table, as JSON, and as part of a page.
//!
//! Not here: the rows of gossip designs, and plots.

use serde_json::{Map, Value, json};
use tollgate_lab::SupplyRow;

use super::human::{count, digits};
use crate::report::table::{Align, Cell, Table, cell, tame};
use crate::report::text::{html as safe, put};
use crate::report::{Ink, Look, Meaning};

/// A row for programs; what does not apply is null.
pub(super) fn json(row: &SupplyRow) -> Map<String, Value> {
    let more = &row.more;
    let value = json!({
        "scenario": row.scenario,
        "design": row.design,
        "nodes": row.nodes,
        "seeds": row.seeds,
        "checks": row.checks,
        "violations": row.violations,
        "over": row.over,
        "lost_percent": number(row.lost_percent),
        "rounds": number(row.rounds),
        "messages_per_node_s": number(row.messages_per_node_s),
        "recovered": row.recovered,
        "over_worst": more.worst,
        "sum_most": number(more.most),
        "sum_mean": number(more.mean),
        "back_least": number(more.back),
        "lost_s": number(more.lost_s),
        "service_messages_per_node_s": number(more.service_messages),
        "reference": number(row.reference),
        "may_break": row.may_break,
        "hash": format!("{:016x}", more.hash),
    });
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
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
    pick: fn(&SupplyRow) -> Option<(String, Ink)>,
}

const COLUMNS: [Column; 13] = [
    Column {
        name: "nodes",
        rank: 0,
        pick: |row| plain(row.nodes.to_string()),
    },
    Column {
        name: "rounds",
        rank: 0,
        pick: |row| plain(digits(row.rounds?)),
    },
    Column {
        name: "lost %",
        rank: 0,
        pick: |row| plain(percent(row.lost_percent?)),
    },
    Column {
        name: "reported",
        rank: 1,
        pick: |row| Some((format!("{}ʳ", digits(row.reference?)), Ink::Dim)),
    },
    Column {
        name: "lost s",
        rank: 5,
        pick: |row| plain(percent(row.more.lost_s?)),
    },
    Column {
        name: "over",
        rank: 0,
        pick: |row| Some(bad(row.over?, row.may_break)),
    },
    Column {
        name: "worst",
        rank: 7,
        pick: |row| plain(row.more.worst?.to_string()),
    },
    Column {
        name: "violations",
        rank: 0,
        pick: |row| Some(bad(row.violations?, row.may_break)),
    },
    Column {
        name: "checks",
        rank: 3,
        pick: |row| plain(count(float(row.checks?))),
    },
    Column {
        name: "most/limit",
        rank: 4,
        pick: |row| plain(most(row.more.most?)),
    },
    Column {
        name: "messages",
        rank: 2,
        pick: |row| plain(digits(row.messages_per_node_s?)),
    },
    Column {
        name: "recovered",
        rank: 2,
        pick: |row| plain(format!("{} of {}", row.recovered?, row.seeds)),
    },
    Column {
        name: "least back",
        rank: 6,
        pick: |row| {
            row.recovered?;
            plain(most(row.more.back?))
        },
    },
];

#[allow(
    clippy::unnecessary_wraps,
    reason = "a column's cell may be missing, and this one is not"
)]
fn plain(text: String) -> Option<(String, Ink)> {
    Some((text, Ink::Plain))
}

fn percent(value: f64) -> String {
    format!("{value:.2}")
}

#[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
fn float(value: u64) -> f64 {
    value as f64
}

fn most(value: f64) -> String {
    if value >= 1e4 {
        format!("{value:.1e}")
    } else {
        format!("{value:.4}")
    }
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
fn shown(rows: &[SupplyRow]) -> Vec<&'static Column> {
    let has = |column: &&Column| rows.iter().any(|row| (column.pick)(row).is_some());
    COLUMNS.iter().filter(has).collect()
}

/// The rows as a table that fits the terminal.
pub(super) fn table(rows: &[SupplyRow], look: Look, text: &mut String) {
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

fn width(columns: &[&Column], rows: &[SupplyRow]) -> usize {
    let chars = |text: &str| text.chars().count();
    let names = |pick: fn(&SupplyRow) -> &str| {
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
pub(super) fn section(rows: &[SupplyRow]) -> String {
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

const MEANING: &str = "<p class=\"soft\">Lost: what one limiter that sees everything admits and the nodes together did not. Over: \
    admitted while one bucket of the whole limit had no token. Violations: looks at which the nodes together could use more than \
    the limit, or their books did not balance. Messages: per node and second; where rounds are counted, per node until even. \
    Reported: an independent simulator of the same designs.</p>";
