//! Rows with two names and figures: as a table, and as part of a page.
//!
//! Not here: which columns there are (`supply`, `split`, `lease`).

use serde_json::{Value, json};

use super::human::count;
use crate::report::table::{RankedColumn, cell, tame, write_ranked};
use crate::report::text::{html as safe, put};
use crate::report::{Ink, Meaning, TerminalStyle};

pub(super) trait ReportRow: Sized + 'static {
    const NAMES: [&'static str; 2];
    /// Whether the second name is a line of points, and shown only once.
    const HAS_POINTS: bool = false;
    const COLUMNS: &'static [DesignColumn<Self>];
    /// The texts above and below the rows on a page.
    const TITLE: &'static str;
    const MEANING: &'static str;

    fn names(&self) -> [&str; 2];
    /// The row for programs; figures that do not apply are null.
    fn json(&self) -> Value;
}

/// A column: its name, its rank (lower ranks are kept longer), and its cells; `None` if it does not apply.
pub(super) struct DesignColumn<R> {
    name: &'static str,
    rank: u8,
    pick: fn(&R) -> Option<(String, Ink)>,
}

pub(super) const fn column<R>(
    name: &'static str,
    rank: u8,
    pick: fn(&R) -> Option<(String, Ink)>,
) -> DesignColumn<R> {
    DesignColumn { name, rank, pick }
}

/// To a millionth; undefined is null.
pub(super) fn number(value: Option<f64>) -> Value {
    let value = value.filter(|value| value.is_finite());
    value.map_or(Value::Null, |value| json!((value * 1e6).round() / 1e6))
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "a column's cell may be missing, and these are not"
)]
pub(super) fn plain(text: String) -> Option<(String, Ink)> {
    Some((text, Ink::Plain))
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "a column's cell may be missing, and these are not"
)]
pub(super) fn dim(text: String) -> Option<(String, Ink)> {
    Some((text, Ink::Dim))
}

#[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
pub(super) fn float(value: u64) -> f64 {
    value as f64
}

/// A count that must be zero, unless the row demonstrates a failure.
pub(super) fn bad(value: u64, may_break: bool) -> (String, Ink) {
    let ink = match (value, may_break) {
        (0, false) => Ink::Meaning(Meaning::Allowed),
        (0, true) => Ink::Plain,
        (_, false) => Ink::Meaning(Meaning::Denied),
        (_, true) => Ink::Dim,
    };
    (count(float(value)), ink)
}

fn shown<R: ReportRow>(rows: &[R]) -> impl Iterator<Item = &'static DesignColumn<R>> {
    let has = |column: &&DesignColumn<R>| rows.iter().any(|row| (column.pick)(row).is_some());
    R::COLUMNS.iter().filter(has)
}

/// The names of each row; repeated ones are left out.
fn names<R: ReportRow>(rows: &[R]) -> Vec<[&str; 2]> {
    let mut before = ["", ""];
    let each = rows.iter().map(|row| {
        let [first, second] = row.names();
        let is_same = before[0] == first;
        let is_again = is_same && before[1] == second;
        before = [first, second];
        [
            if is_same { "" } else { first },
            if R::HAS_POINTS && is_again {
                ""
            } else {
                second
            },
        ]
    });
    each.collect()
}

const NAME_MAX: usize = 44;

/// The rows as a table that fits the terminal.
pub(super) fn table<R: ReportRow>(rows: &[R], look: TerminalStyle, text: &mut String) {
    let names = names(rows);
    let mut columns: Vec<RankedColumn> = Vec::new();
    for (at, name) in R::NAMES.into_iter().enumerate() {
        let cells = names.iter().map(|own| cell(tame(own[at], NAME_MAX)));
        columns.push(RankedColumn {
            name: name.to_owned(),
            rank: 0,
            cells: cells.collect(),
        });
    }
    columns.extend(shown(rows).map(|column| {
        let cells = rows.iter().map(|row| match (column.pick)(row) {
            Some((text, ink)) => cell(text).ink(ink),
            None => cell("–").ink(Ink::Dim),
        });
        RankedColumn {
            name: format!(">{}", column.name),
            rank: column.rank,
            cells: cells.collect(),
        }
    }));
    write_ranked(columns, look, text);
}

pub(super) fn section<R: ReportRow>(rows: &[R]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let [first, second] = R::NAMES;
    let mut text = format!(
        "<section><h2>{}</h2>\n<div class=\"wide\"><table><thead><tr><th>{first}</th><th>{second}</th>",
        R::TITLE
    );
    for column in shown(rows) {
        put(
            &mut text,
            format_args!("<th class=\"n\">{}</th>", column.name),
        );
    }
    text.push_str("</tr></thead><tbody>\n");
    for (row, [first, second]) in rows.iter().zip(names(rows)) {
        let class = if first.is_empty() {
            ""
        } else {
            " class=\"first\""
        };
        let (first, second) = (safe(first), name(second));
        put(
            &mut text,
            format_args!("<tr{class}><td>{first}</td><td>{second}</td>"),
        );
        for column in shown(rows) {
            let shown = (column.pick)(row).map_or_else(|| "–".to_owned(), |(text, _)| safe(&text));
            put(&mut text, format_args!("<td class=\"n\">{shown}</td>"));
        }
        text.push_str("</tr>\n");
    }
    put(
        &mut text,
        format_args!(
            "</tbody></table></div><p class=\"soft\">{}</p></section>\n",
            R::MEANING
        ),
    );
    text
}

/// A name beside its colour in plots.
fn name(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!(
            "<i class=\"dot {}\"></i>{}",
            super::html::colour(name),
            safe(name)
        ),
    }
}
