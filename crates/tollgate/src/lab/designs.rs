//! Rows that compare designs in scenarios: their columns, as a table and as part of a page.
//!
//! Not here: which columns there are (`supply`, `lease`), and rows of figures (`split`).

use serde_json::{Value, json};

use super::human::count;
use crate::report::table::{Align, ReportTable, TableCell, cell, tame};
use crate::report::text::{html as safe, put};
use crate::report::{Ink, Meaning, TerminalStyle};

/// A row about a design in a scenario.
pub(super) trait ScenarioRow {
    /// What happens.
    fn scenario(&self) -> &str;
    /// Who is compared.
    fn design(&self) -> &str;
}

/// A column: its name, and what stands in it; `None` where it does not apply.
pub(super) struct DesignColumn<R> {
    pub(super) name: &'static str,
    /// How gladly it is given up when there is no room.
    pub(super) rank: u8,
    pub(super) pick: fn(&R) -> Option<(String, Ink)>,
}

/// To a millionth; what is undefined is null.
pub(super) fn number(value: Option<f64>) -> Value {
    let value = value.filter(|value| value.is_finite());
    value.map_or(Value::Null, |value| json!((value * 1e6).round() / 1e6))
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "a column's cell may be missing, and this one is not"
)]
pub(super) fn plain(text: String) -> Option<(String, Ink)> {
    Some((text, Ink::Plain))
}

#[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
pub(super) fn float(value: u64) -> f64 {
    value as f64
}

/// A count that must be zero, unless the row is there to fail.
pub(super) fn bad(value: u64, may_break: bool) -> (String, Ink) {
    let ink = match (value, may_break) {
        (0, false) => Ink::Meaning(Meaning::Allowed),
        (0, true) => Ink::Plain,
        (_, false) => Ink::Meaning(Meaning::Denied),
        (_, true) => Ink::Dim,
    };
    (count(float(value)), ink)
}

/// Columns that some row has.
pub(super) fn shown<'a, R>(columns: &'a [DesignColumn<R>], rows: &[R]) -> Vec<&'a DesignColumn<R>> {
    let has = |column: &&DesignColumn<R>| rows.iter().any(|row| (column.pick)(row).is_some());
    columns.iter().filter(has).collect()
}

/// The rows as a table that fits the terminal.
pub(super) fn table<R: ScenarioRow>(
    columns: &[DesignColumn<R>],
    rows: &[R],
    look: TerminalStyle,
    text: &mut String,
) {
    let mut columns = shown(columns, rows);
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
        let again = std::mem::replace(&mut before, row.scenario()) == row.scenario();
        let name = if again { "" } else { row.scenario() };
        let mut cells: Vec<TableCell> = vec![cell(tame(name, 40)), cell(tame(row.design(), 40))];
        cells.extend(columns.iter().map(|column| match (column.pick)(row) {
            Some((text, ink)) => cell(text).ink(ink),
            None => cell("–").ink(Ink::Dim),
        }));
        lines.push(cells);
    }
    ReportTable {
        header: &header,
        rows: lines,
    }
    .write(look, text);
}

fn width<R: ScenarioRow>(columns: &[&DesignColumn<R>], rows: &[R]) -> usize {
    let chars = |text: &str| text.chars().count();
    let names = |pick: fn(&R) -> &str| {
        let widest = rows.iter().map(|row| chars(pick(row)).min(40)).max();
        widest.unwrap_or(0) + 2
    };
    let one = |column: &&DesignColumn<R>| {
        let cells = rows.iter().filter_map(|row| (column.pick)(row));
        let widest = cells.map(|(text, _)| chars(&text)).max().unwrap_or(0);
        widest.max(chars(column.name)) + 2
    };
    names(R::scenario) + names(R::design) + columns.iter().map(one).sum::<usize>()
}

/// The rows as a section of a page.
pub(super) fn section<R: ScenarioRow>(
    columns: &[DesignColumn<R>],
    rows: &[R],
    meaning: &str,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns = shown(columns, rows);
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
        let again = std::mem::replace(&mut before, row.scenario()) == row.scenario();
        put(
            &mut text,
            format_args!(
                "<tr{}><td>{}</td><td><i class=\"dot {}\"></i>{}</td>",
                if again { "" } else { " class=\"first\"" },
                if again {
                    String::new()
                } else {
                    safe(row.scenario())
                },
                super::html::colour(row.design()),
                safe(row.design())
            ),
        );
        for column in &columns {
            let shown = (column.pick)(row).map_or_else(|| "–".to_owned(), |(text, _)| text);
            put(&mut text, format_args!("<td class=\"n\">{shown}</td>"));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>");
    text.push_str(meaning);
    text.push_str("</section>\n");
    text
}
