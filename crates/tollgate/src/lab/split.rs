//! Rows about cut buckets: as a table, as JSON, and as part of a page.
//!
//! Not here: the rows of other experiments, and plots.

use serde_json::{Map, Value, json};
use tollgate_lab::SplitRow;

use super::designs::{DesignColumn, number, plain, shown};
use super::human::digits;
use crate::report::table::{Align, ReportTable, TableCell, cell, tame};
use crate::report::text::{html as safe, put};
use crate::report::{Ink, Meaning, TerminalStyle};

/// A row for programs; what does not apply is null.
pub(super) fn json(row: &SplitRow) -> Map<String, Value> {
    let more = &row.more;
    let value = json!({
        "figure": row.figure,
        "series": row.series,
        "x": row.x,
        "p50_ms": number(row.p50_ms),
        "p95_ms": number(row.p95_ms),
        "p99_ms": number(row.p99_ms),
        "p_wait": number(row.p_wait),
        "k": row.k,
        "control_per_message": number(row.control_per_message),
        "violations": row.violations,
        "worst_p99_ms": number(more.worst_p99_ms),
        "max_ms": number(more.max_ms),
        "compared": more.what,
        "ours": number(more.ours),
        "ours_min": number(more.ours_min),
        "ours_max": number(more.ours_max),
        "paper": number(more.paper),
        "reference": number(more.reference),
        "seeds": more.seeds,
    });
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

const COLUMNS: [DesignColumn<SplitRow>; 14] = [
    DesignColumn {
        name: "compared",
        rank: 0,
        pick: |row| Some((row.more.what.to_owned(), Ink::Dim)),
    },
    DesignColumn {
        name: "ours",
        rank: 0,
        pick: |row| Some((digits(row.more.ours?), Ink::Bold)),
    },
    DesignColumn {
        name: "paper",
        rank: 0,
        pick: |row| plain(digits(row.more.paper?)),
    },
    DesignColumn {
        name: "reference",
        rank: 0,
        pick: |row| Some((digits(row.more.reference?), Ink::Dim)),
    },
    DesignColumn {
        name: "least",
        rank: 8,
        pick: |row| plain(digits(row.more.ours_min.filter(|_| row.more.seeds > 1)?)),
    },
    DesignColumn {
        name: "most",
        rank: 8,
        pick: |row| plain(digits(row.more.ours_max.filter(|_| row.more.seeds > 1)?)),
    },
    DesignColumn {
        name: "p50",
        rank: 7,
        pick: |row| plain(digits(row.p50_ms?)),
    },
    DesignColumn {
        name: "p95",
        rank: 6,
        pick: |row| plain(digits(row.p95_ms?)),
    },
    DesignColumn {
        name: "p99",
        rank: 3,
        pick: |row| plain(digits(row.p99_ms?)),
    },
    DesignColumn {
        name: "largest",
        rank: 9,
        pick: |row| plain(digits(row.more.max_ms?)),
    },
    DesignColumn {
        name: "wait %",
        rank: 4,
        pick: |row| plain(digits(100.0 * row.p_wait?)),
    },
    DesignColumn {
        name: "k",
        rank: 1,
        pick: |row| plain(row.k?.to_string()),
    },
    DesignColumn {
        name: "control",
        rank: 5,
        pick: |row| plain(digits(row.control_per_message.filter(|own| *own > 0.0)?)),
    },
    DesignColumn {
        name: "violations",
        rank: 2,
        pick: |row| {
            let ink = match row.violations? {
                0 => Ink::Meaning(Meaning::Allowed),
                _ => Ink::Meaning(Meaning::Denied),
            };
            Some((row.violations?.to_string(), ink))
        },
    },
];

/// The rows as a table that fits the terminal.
pub(super) fn table(rows: &[SplitRow], look: TerminalStyle, text: &mut String) {
    let mut columns = shown(&COLUMNS, rows);
    while width(&columns, rows) > look.columns {
        let last = columns.iter().map(|column| column.rank).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        columns.retain(|column| column.rank != last);
    }
    let mut header = vec![
        ("figure", Align::Left),
        ("series", Align::Left),
        ("x", Align::Right),
    ];
    header.extend(columns.iter().map(|column| (column.name, Align::Right)));
    let mut before = ("", "");
    let mut lines = Vec::new();
    for row in rows {
        let [figure, series] = names(row, &mut before);
        let mut cells: Vec<TableCell> = vec![
            cell(tame(figure, NAME_MAX)),
            cell(tame(series, NAME_MAX)),
            cell(digits(row.x)),
        ];
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

/// The figure and the series of a row, each but once.
fn names<'a>(row: &'a SplitRow, before: &mut (&'a str, &'a str)) -> [&'a str; 2] {
    let (figure, series) = std::mem::replace(before, (&row.figure, &row.series));
    let is_same = figure == row.figure;
    [
        if is_same { "" } else { &row.figure },
        if is_same && series == row.series {
            ""
        } else {
            &row.series
        },
    ]
}

const NAME_MAX: usize = 44;

fn width(columns: &[&DesignColumn<SplitRow>], rows: &[SplitRow]) -> usize {
    let chars = |text: &str| text.chars().count();
    let names = |pick: fn(&SplitRow) -> String| {
        let widest = rows.iter().map(|row| chars(&pick(row)).min(NAME_MAX)).max();
        widest.unwrap_or(0) + 2
    };
    let one = |column: &&DesignColumn<SplitRow>| {
        let cells = rows.iter().filter_map(|row| (column.pick)(row));
        let widest = cells.map(|(text, _)| chars(&text)).max().unwrap_or(0);
        widest.max(chars(column.name)) + 2
    };
    names(|row| row.figure.clone())
        + names(|row| row.series.clone())
        + names(|row| digits(row.x))
        + columns.iter().map(one).sum::<usize>()
}

/// The rows as a section of a page.
pub(super) fn section(rows: &[SplitRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns = shown(&COLUMNS, rows);
    let mut text = String::from(
        "<section><h2>Every point</h2>\n<div class=\"wide\"><table><thead><tr><th>figure</th><th>series</th><th class=\"n\">x</th>",
    );
    for column in &columns {
        put(
            &mut text,
            format_args!("<th class=\"n\">{}</th>", column.name),
        );
    }
    text.push_str("</tr></thead><tbody>\n");
    let mut before = ("", "");
    for row in rows {
        let [figure, series] = names(row, &mut before);
        put(
            &mut text,
            format_args!(
                "<tr{}><td>{}</td><td>{}</td><td class=\"n\">{}</td>",
                if figure.is_empty() {
                    ""
                } else {
                    " class=\"first\""
                },
                safe(figure),
                safe(series),
                digits(row.x)
            ),
        );
        for column in &columns {
            let shown = (column.pick)(row).map_or_else(|| "–".to_owned(), |(text, _)| text);
            put(
                &mut text,
                format_args!("<td class=\"n\">{}</td>", safe(&shown)),
            );
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>");
    text.push_str(MEANING);
    text.push_str("</section>\n");
    text
}

const MEANING: &str = "<p class=\"soft\">Times are milliseconds. Ours is the median over the seeds, with the least and the most of them. Wait: messages that \
    found no token. Control: frames between nodes per message. Violations: messages that left although the one bucket that was cut had no token for \
    them. Paper: what is printed there. Reference: an independent simulator.</p>";

/// What the columns of others are.
pub(super) const LEGEND: &str =
    "paper: what is printed there · reference: an independent simulator";
