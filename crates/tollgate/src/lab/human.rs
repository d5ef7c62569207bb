//! Reports for people: aligned tables that fit the terminal, and findings.
//!
//! Not here: plots.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use tollgate_lab::{Bar, Column, FigureSource, Report, Reported, Row, Spread, digits};

use super::{designs, lease, split};
use crate::report::table::{RankedColumn, TableCell, cell, tame, write_ranked, write_table};
use crate::report::{Ink, Meaning, TerminalStyle};

pub(super) fn report(report: &Report, per_seed: bool, look: TerminalStyle) -> String {
    let mut text = format!(
        "{}  {}\n\n",
        look.paint(Ink::Bold, &report.experiment),
        report.title
    );
    if !report.rows.is_empty() && report.bars.is_empty() {
        write_ranked(columns(&report.rows), look, &mut text);
    }
    if !report.supply.is_empty() && report.bars.is_empty() {
        designs::table(&report.supply, look, &mut text);
    }
    if !report.split.is_empty() {
        designs::table(&report.split, look, &mut text);
        text.push('\n');
    }
    if !report.lease.is_empty() {
        designs::table(&report.lease, look, &mut text);
        text.push('\n');
    }
    if per_seed && !report.rows.is_empty() {
        runs(&report.rows, look, &mut text);
    }
    if !report.bars.is_empty() {
        bars(&report.bars, look, &mut text);
    }
    text.push('\n');
    let legend = legend(report);
    let paragraphs = [
        report.conclusion.as_str(),
        &legend,
        &parameters(report),
        &report.closing,
    ];
    for paragraph in paragraphs {
        wrap(paragraph, look.width, &mut text);
    }
    text
}

/// The names of a row: the set, once, and the design.
fn names(rows: &[Row]) -> [RankedColumn; 2] {
    let mut set = "";
    let sets = rows.iter().map(|row| {
        let again = std::mem::replace(&mut set, &row.set) == row.set;
        let name = if again { "" } else { &row.set };
        cell(tame(name, 44))
    });
    let designs = rows.iter().map(|row| cell(tame(&row.design, 30)));
    let left = |name: &str, cells| RankedColumn {
        name: name.to_owned(),
        rank: 0,
        cells,
    };
    [
        left("set", sets.collect()),
        left("design", designs.collect()),
    ]
}

fn columns(rows: &[Row]) -> Vec<RankedColumn> {
    let right = |name: &str, rank, pick: &dyn Fn(&Row) -> TableCell| RankedColumn {
        name: format!(">{name}"),
        rank,
        cells: rows.iter().map(pick).collect(),
    };
    let any = |pick: fn(&Row) -> f64| rows.iter().any(|row| pick(row) > 0.0);
    let told = |columns: &'static [Column]| {
        let has = |told: &Reported| columns.contains(&told.column);
        rows.iter().any(|row| row.reported.iter().any(has))
    };
    // Published figures are beside the share they report.
    let by_total = told(&[Column::Total]) && !told(&[Column::Area]);
    let mut columns: Vec<RankedColumn> = names(rows).into();
    columns.extend([
        right("total %", if by_total { 0 } else { 3 }, &|row| {
            percent(row.total)
        }),
        right("±", 9, &|row| {
            cell(row.total.map_or_else(String::new, |total| digits(total.sd)))
        }),
        right("area %", if by_total { 3 } else { 0 }, &|row| {
            percent(row.area)
        }),
    ]);
    if told(&SHARES) {
        columns.push(right("reported", 2, &|row| {
            reported(&row.reported, &SHARES)
        }));
    }
    columns.push(right("over", 0, &|row| excess(row.over)));
    if any(|row| row.under.mean) {
        columns.push(right("under", 2, &|row| excess(row.under)));
    }
    if any(|row| row.false_rejections.mean) {
        columns.push(right("false", 2, &|row| excess(row.false_rejections)));
    }
    columns.push(right("sent", 0, &|row| cell(bytes(row.bytes.mean))));
    if told(&[Column::Bytes]) {
        columns.push(right("reported", 5, &|row| {
            reported(&row.reported, &[Column::Bytes])
        }));
    }
    if rows.iter().any(|row| row.design == "counter") {
        columns.push(right("× counter", 1, &|row| {
            cell(times(rows, row, Column::Bytes))
        }));
    }
    columns.push(right("messages", 7, &|row| cell(count(row.messages.mean))));
    columns.push(right("state/node", 4, &|row| {
        cell(bytes(row.state_bytes.mean))
    }));
    columns.push(right("quiet", 8, &|row| cell(quiet(row))));
    columns
}

fn percent(spread: Option<Spread>) -> TableCell {
    let Some(spread) = spread else {
        return cell("–").ink(Ink::Dim);
    };
    let ink = match spread.mean {
        mean if mean >= 99.95 => Ink::Meaning(Meaning::Allowed),
        mean if mean < 90.0 => Ink::Meaning(Meaning::Denied),
        _ => Ink::Plain,
    };
    cell(share(spread.mean)).ink(ink)
}

/// Two decimals; less than 100 % is never shown as 100 %.
pub(super) fn share(percent: f64) -> String {
    match percent {
        percent if percent < 100.0 => format!("{:.2}", percent.min(99.99)),
        percent => format!("{percent:.2}"),
    }
}

fn excess(spread: Spread) -> TableCell {
    let ink = if spread.max > 0.0 {
        Ink::Plain
    } else {
        Ink::Dim
    };
    cell(digits(spread.mean)).ink(ink)
}

fn quiet(row: &Row) -> String {
    match row.quiet_s {
        Some(quiet) => format!("{} s", digits(quiet.mean)),
        None => "never".to_owned(),
    }
}

/// A row's cost in multiples of the counter's on the same set.
pub(super) fn times(rows: &[Row], row: &Row, column: Column) -> String {
    ratio(rows, row, column).map_or_else(String::new, |ratio| format!("{} ×", digits(ratio)))
}

/// The same as a number.
pub(super) fn ratio(rows: &[Row], row: &Row, column: Column) -> Option<f64> {
    let counter = rows
        .iter()
        .find(|own| own.set == row.set && own.design == "counter")?;
    let (mine, its) = (row.column(column)?.mean, counter.column(column)?.mean);
    (its > 0.0).then_some(mine / its)
}

/// Shares of the central rejections, the better known first.
const SHARES: [Column; 2] = [Column::Area, Column::Total];

/// The published figures for the first of these columns that has any; a letter names the source.
fn reported(told: &[Reported], columns: &[Column]) -> TableCell {
    let of = |source| {
        let mine = |column: &Column| {
            told.iter()
                .find(|told| told.column == *column && told.source == source)
        };
        columns.iter().find_map(mine)
    };
    let one = |told: &Reported| {
        let value = match told.column {
            _ if told.is_ratio => format!("{} ×", digits(told.value)),
            Column::Bytes => bytes(told.value),
            _ => digits(told.value),
        };
        let who = match told.source {
            FigureSource::Thesis => "ᵗ",
            FigureSource::Reference => "ʳ",
        };
        format!("{value}{who}")
    };
    let sources = [FigureSource::Thesis, FigureSource::Reference];
    let shown: Vec<String> = sources.into_iter().filter_map(of).map(one).collect();
    cell(shown.join(" ")).ink(Ink::Dim)
}

pub(super) fn word(column: Column) -> &'static str {
    match column {
        Column::Bytes => "sent",
        Column::State => "state",
        Column::Local => "local",
        Column::Busiest => "busiest",
        Column::Quiet => "quiet",
        other => other.name(),
    }
}

fn legend(report: &Report) -> String {
    let told = |source| {
        report
            .rows
            .iter()
            .flat_map(|row| &row.reported)
            .any(|told| told.source == source)
    };
    let mut parts = Vec::new();
    if told(FigureSource::Thesis) {
        parts.push("ᵗ Henriksson and Bennhage (2021)");
    }
    let by_reference = report.supply.iter().any(|row| row.reference.is_some());
    if told(FigureSource::Reference) || by_reference {
        parts.push("ʳ an independent simulator of the same designs");
    }
    if !report.split.is_empty() {
        parts.push(split::LEGEND);
    }
    if !report.lease.is_empty() {
        parts.push(lease::LEGEND);
    }
    parts.join(" · ")
}

fn parameters(report: &Report) -> String {
    let one = |(name, value): &(String, String)| format!("{name} {}", tame(value, 60));
    report
        .parameters
        .iter()
        .map(one)
        .collect::<Vec<_>>()
        .join(" · ")
}

fn runs(rows: &[Row], look: TerminalStyle, text: &mut String) {
    let header = [
        "set", "design", ">seed", "hash", ">total %", ">over", ">under", ">false", ">sent",
    ];
    let mut lines = Vec::new();
    for row in rows {
        lines.extend(row.runs.iter().map(|run| {
            vec![
                cell(tame(&row.set, 30)),
                cell(tame(&row.design, 30)),
                cell(run.seed.to_string()),
                cell(format!("{:016x}", run.hash)).ink(Ink::Dim),
                cell(run.judged.total.map_or_else(|| "–".to_owned(), digits)),
                cell(run.judged.over.to_string()),
                cell(run.judged.under.to_string()),
                cell(run.judged.false_rejections.to_string()),
                cell(bytes(run.traffic.bytes as f64)),
            ]
        }));
    }
    text.push('\n');
    write_table(&header, lines, look, text);
}

fn bars(bars: &[Bar], look: TerminalStyle, text: &mut String) {
    let header = ["", "what", "bar", "measured"];
    let line = |bar: &Bar| {
        let (mark, ink) = match bar.met {
            Some(true) => ("met", Ink::Meaning(Meaning::Allowed)),
            Some(false) => ("missed", Ink::Meaning(Meaning::Denied)),
            None => ("–", Ink::Dim),
        };
        vec![
            cell(mark).ink(ink),
            cell(&*bar.name),
            cell(&*bar.bar),
            cell(&*bar.measured),
        ]
    };
    write_table(&header, bars.iter().map(line), look, text);
}

/// Appends a paragraph in lines of at most that width.
fn wrap(paragraph: &str, width: usize, text: &mut String) {
    let mut column = 0;
    for word in paragraph.split_whitespace() {
        let long = word.chars().count();
        if column > 0 && column + 1 + long > width {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += long;
    }
    if column > 0 {
        text.push('\n');
    }
}

/// `202 kB`, `3.3 MB`: thousands, as in the published figures.
pub(super) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = value;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!(
        "{} {}",
        digits(value),
        UNITS.get(unit).copied().unwrap_or("TB")
    )
}

pub(super) fn count(value: f64) -> String {
    match value {
        value if value < 9999.5 => format!("{value:.0}"),
        value if value < 999_500.0 => format!("{} k", digits(value / 1e3)),
        value => format!("{} M", digits(value / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes(223_000.0), "223 kB");
        assert_eq!(bytes(3_286_000.0), "3.29 MB");
        assert_eq!(count(86_881.0), "86.9 k");
    }

    #[test]
    fn paragraphs_stay_within_their_width() {
        let mut text = String::new();
        wrap(&"word ".repeat(50), 60, &mut text);
        assert!(text.lines().all(|line| line.chars().count() <= 60));
        assert_eq!(text.split_whitespace().count(), 50);
    }

    #[test]
    fn a_narrow_terminal_loses_columns_and_nothing_else() {
        let row = Row {
            set: "B-extreme".into(),
            design: "counter".into(),
            ..Row::default()
        };
        let report_ = Report {
            rows: vec![row],
            ..Report::default()
        };
        for width in [60, 80, 140] {
            let text = report(&report_, false, TerminalStyle::PLAIN.with_width(width));
            assert!(
                text.contains("B-extreme") && text.contains("over"),
                "{text}"
            );
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
        }
    }
}
