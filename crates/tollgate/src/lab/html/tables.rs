//! The tables of a page: designs, published figures, invariants, single runs.
//!
//! Not here: plots.

use tollgate_lab::{Bar, Column, Report, Reported, Row, Spread, digits};

use super::super::human::{bytes, count, ratio, share, word};
use super::colour::colour;
use crate::report::text::{html as safe, put};

pub(super) fn rows(report: &Report) -> String {
    if report.rows.is_empty() {
        return String::new();
    }
    let with_counter = report.rows.iter().any(|row| row.design == "counter");
    let times = if with_counter {
        "<th class=\"n\">× counter</th>"
    } else {
        ""
    };
    let mut text = format!(
        "<section><h2>What each design did</h2>\n<div class=\"wide\"><table><thead><tr><th>set</th><th>design</th>\
         <th class=\"n\">total</th><th class=\"n\">area</th><th class=\"n\">over</th><th class=\"n\">under</th>\
         <th class=\"n\">false</th><th class=\"n\">sent</th>{times}<th class=\"n\">messages</th>\
         <th class=\"n\">state / node</th><th class=\"n\">of it local</th><th class=\"n\">busiest node</th>\
         <th class=\"n\">quiet after</th></tr></thead><tbody>\n"
    );
    let mut set = "";
    for row in &report.rows {
        let again = std::mem::replace(&mut set, &row.set) == row.set;
        put(
            &mut text,
            format_args!(
                "<tr{}><td>{}</td><td><i class=\"dot {}\"></i>{}</td>",
                if again { "" } else { " class=\"first\"" },
                if again { String::new() } else { safe(&row.set) },
                colour(&row.design),
                safe(&row.design)
            ),
        );
        text.push_str(&figures(report, row, with_counter));
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>");
    text.push_str(MEANING);
    text.push_str("</section>\n");
    text
}

const MEANING: &str = "<p class=\"soft\">Total: rejections at the end, in percent of those of one central bucket. Area: the \
    same for the sum over time. Over and under: the most that was admitted, or rejected, beyond the central bucket at \
    any instant. False: rejected although what the cluster itself admitted left a token. Means over seeds; spreads are \
    shown when pointed at.</p>";

fn figures(report: &Report, row: &Row, with_counter: bool) -> String {
    let mut cells = String::new();
    for column in [Column::Total, Column::Area] {
        let spread = row.column(column);
        let shown = spread.map_or_else(
            || "–".to_owned(),
            |spread| format!("{} %", share(spread.mean)),
        );
        cells.push_str(&number(&shown, spread));
    }
    for column in [Column::Over, Column::Under, Column::False] {
        let spread = row.column(column);
        cells.push_str(&number(
            &spread.map_or_else(String::new, |spread| digits(spread.mean)),
            spread,
        ));
    }
    cells.push_str(&number(&bytes(row.bytes.mean), Some(row.bytes)));
    if with_counter {
        let times = ratio(&report.rows, row, Column::Bytes).map_or_else(String::new, digits);
        cells.push_str(&number(&times, None));
    }
    cells.push_str(&number(&count(row.messages.mean), Some(row.messages)));
    for spread in [row.state_bytes, row.local_bytes, row.busiest_bytes] {
        cells.push_str(&number(&bytes(spread.mean), Some(spread)));
    }
    let quiet = row.quiet_s.map_or_else(
        || "never".to_owned(),
        |quiet| format!("{} s", digits(quiet.mean)),
    );
    cells.push_str(&number(&quiet, row.quiet_s));
    cells
}

fn number(shown: &str, spread: Option<Spread>) -> String {
    let class = if shown == "0" { "n zero" } else { "n" };
    match spread {
        Some(spread) => format!(
            "<td class=\"{class}\" title=\"± {}, {} to {}\">{shown}</td>",
            digits(spread.sd),
            digits(spread.min),
            digits(spread.max)
        ),
        None => format!("<td class=\"{class}\">{shown}</td>"),
    }
}

pub(super) fn reported(report: &Report) -> String {
    let told = || {
        report
            .rows
            .iter()
            .flat_map(|row| row.reported.iter().map(move |told| (row, told)))
    };
    let pairs: Vec<_> = told()
        .filter_map(|(row, told)| Some((row, told, ours(report, row, told)?)))
        .collect();
    if pairs.is_empty() {
        return String::new();
    }
    let near = pairs
        .iter()
        .filter(|(_, told, ours)| gap(*ours, told.value) <= 0.15)
        .count();
    let mut text = format!(
        "<section><h2>{near} of {} reported figures are met within 15 %</h2>\n<details{}><summary>Each of them</summary>\
         <div class=\"wide\"><table><thead><tr><th>set</th>\
         <th>design</th><th>figure</th><th class=\"n\">ours</th><th class=\"n\">theirs</th><th class=\"spread\"></th>\
         <th>reported by</th></tr></thead><tbody>\n",
        pairs.len(),
        if pairs.len() <= 40 { " open" } else { "" }
    );
    for (row, told, ours) in &pairs {
        let figure = if told.is_ratio {
            format!("{}, × counter", word(told.column))
        } else {
            word(told.column).to_owned()
        };
        put(
            &mut text,
            format_args!(
                "<tr><td>{}</td><td><i class=\"dot {}\"></i>{}</td><td>{figure}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
                safe(&row.set),
                colour(&row.design),
                safe(&row.design),
                shown(told, *ours),
                shown(told, told.value),
                beam(colour(&row.design), *ours, told.value),
                told.source.name()
            ),
        );
    }
    text.push_str("</tbody></table></div></details>");
    text.push_str(SOURCES);
    text.push_str("</section>\n");
    text
}

const SOURCES: &str = "<p class=\"soft\">Thesis: Henriksson and Bennhage, Trading performance for precision in a CRDT-based \
    rate-limiting system (2021); its data are not public, ours are made to its description. Reference: an independent \
    simulator of the same designs with its own traffic. Filled: ours; hollow: theirs.</p>";

fn ours(report: &Report, row: &Row, told: &Reported) -> Option<f64> {
    if told.is_ratio {
        return ratio(&report.rows, row, told.column);
    }
    row.column(told.column).map(|spread| spread.mean)
}

/// The difference of two figures, as a part of the larger.
fn gap(one: f64, other: f64) -> f64 {
    let most = one.abs().max(other.abs());
    if most > 0.0 {
        (one - other).abs() / most
    } else {
        0.0
    }
}

/// Our and the published figure as two marks on one line that starts at zero.
fn beam(colour: &str, ours: f64, theirs: f64) -> String {
    let most = ours.abs().max(theirs.abs()).max(f64::MIN_POSITIVE);
    let at = |value: f64| 8.0 + 224.0 * (value.abs() / most).clamp(0.0, 1.0);
    format!(
        "<svg class=\"beam {colour}\" viewBox=\"0 0 240 16\" aria-hidden=\"true\"><line class=\"grid\" x1=\"8\" x2=\"232\" \
         y1=\"8\" y2=\"8\"/><circle class=\"theirs\" cx=\"{:.1}\" cy=\"8\" r=\"5.5\"/>\
         <circle class=\"mark\" cx=\"{:.1}\" cy=\"8\" r=\"3.5\"/></svg>",
        at(theirs),
        at(ours)
    )
}

fn shown(told: &Reported, value: f64) -> String {
    match told.column {
        _ if told.is_ratio => digits(value),
        Column::Bytes | Column::State | Column::Local | Column::Busiest => bytes(value),
        Column::Total | Column::Area => format!("{} %", digits(value)),
        Column::Messages => count(value),
        Column::Over | Column::Under | Column::False => digits(value),
        Column::Quiet => format!("{} s", digits(value)),
    }
}

pub(super) fn bars(bars: &[Bar]) -> String {
    if bars.is_empty() {
        return String::new();
    }
    let met = bars.iter().filter(|bar| bar.met == Some(true)).count();
    let mut text = format!(
        "<section><h2>{met} of {} bars are met</h2>\n<div class=\"wide\"><table><thead><tr><th></th><th>what</th>\
         <th>bar</th><th>measured</th></tr></thead><tbody>\n",
        bars.len()
    );
    for bar in bars {
        let mark = match bar.met {
            Some(true) => "<td class=\"hit allowed\">● met</td>",
            Some(false) => "<td class=\"hit denied\">▲ missed</td>",
            None => "<td class=\"zero\">○ not run</td>",
        };
        put(
            &mut text,
            format_args!(
                "<tr>{mark}<td>{}</td><td>{}</td><td>{}</td></tr>\n",
                safe(&bar.name),
                safe(&bar.bar),
                safe(&bar.measured)
            ),
        );
    }
    text.push_str("</tbody></table></div></section>\n");
    text
}

/// The single runs, so that each can be run again.
pub(super) fn runs(report: &Report) -> String {
    let count: usize = report.rows.iter().map(|row| row.runs.len()).sum();
    if count == 0 || count > RUNS_MAX {
        return String::new();
    }
    let mut text = format!(
        "<section><h2>{count} runs, each the same wherever it is run again</h2>\n<details><summary>The single runs\
         </summary><div class=\"scroll\"><table><thead><tr><th>set</th><th>design</th><th class=\"n\">seed</th><th>hash</th>\
         <th class=\"n\">requests</th><th class=\"n\">rejected</th><th class=\"n\">central</th><th class=\"n\">over</th>\
         <th class=\"n\">under</th><th class=\"n\">false</th><th class=\"n\">bytes</th></tr></thead><tbody>\n"
    );
    for row in &report.rows {
        for run in &row.runs {
            put(
                &mut text,
                format_args!(
                    "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td><code>{:016x}</code></td>\
                     <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                     <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                    safe(&row.set),
                    safe(&row.design),
                    run.seed,
                    run.hash,
                    run.requests,
                    run.judged.rejected,
                    run.judged.central_rejected,
                    run.judged.over,
                    run.judged.under,
                    run.judged.false_rejections,
                    run.traffic.bytes
                ),
            );
        }
    }
    text.push_str("</tbody></table></div></details></section>\n");
    text
}

/// A page with more single runs would consist of little else.
const RUNS_MAX: usize = 2000;
