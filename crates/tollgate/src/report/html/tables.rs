//! The tables of the page: policies with their sparklines, keys, waits.

use super::super::text::{html as safe, put};
use super::super::{Meaning, PolicyCount, RequestCount, Summary, Waits, story, units};
use crate::civil::Civil;

const SPARK_COLUMNS: usize = 96;
const TOP_ROWS: usize = 10;

pub(super) fn policies(summary: &Summary) -> String {
    let mut rows: Vec<_> = summary.policies().enumerate().collect();
    rows.sort_by_key(|(_, (_, count))| {
        std::cmp::Reverse(count.denied.requests + count.delayed.requests)
    });
    let quiet = rows
        .iter()
        .filter(|(_, (_, count))| count.span.is_none())
        .count();
    let title = match (rows.len(), quiet) {
        (0, _) => return String::new(),
        (all, 0) => format!("Every policy bit ({all} of {all})"),
        (all, quiet) => format!("{} of {all} policies bit", all - quiet),
    };
    let mut text = format!(
        "<section><h2>{title}</h2>\n<div class=\"wide\"><table><thead><tr><th>contract</th>\
         <th>policy</th>\
         <th class=\"n\">denied</th><th class=\"n\">delayed</th><th class=\"n\">first</th>\
         <th class=\"n\">last</th><th class=\"spread\">over time</th></tr></thead><tbody>\n"
    );
    for (index, (label, count)) in rows {
        put(
            &mut text,
            format_args!(
                "<tr><td><code>{}</code></td><td><code>{}</code></td>{}{}<td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td>{}</td></tr>\n",
                safe(&label.contract),
                safe(&label.name),
                number(count.denied, Meaning::Denied),
                number(count.delayed, Meaning::Delayed),
                when(summary, count.span.map(|(first, _)| first)),
                when(summary, count.span.map(|(_, last)| last)),
                spark(
                    &summary.timeline().bites(index, SPARK_COLUMNS),
                    mostly(count)
                ),
            ),
        );
    }
    text.push_str("</tbody></table></div></section>\n");
    text
}

pub(super) fn pair(summary: &Summary) -> String {
    let (top, waits) = (top(summary), waits(summary));
    match (top.is_empty(), waits.is_empty()) {
        (true, true) => String::new(),
        (false, false) => format!("<div class=\"pair\">{top}{waits}</div>\n"),
        _ => top + &waits,
    }
}

fn top(summary: &Summary) -> String {
    let (list, denied) = (
        summary.top().list(TOP_ROWS),
        summary.count(Meaning::Denied).requests,
    );
    let Some(first) = list.first() else {
        return String::new();
    };
    let mut text = format!(
        "<section><h2>The first of {}{} denied keys takes {} of the denials</h2>\n<div \
         class=\"wide\"><table><thead><tr><th>key</th>\
         <th class=\"n\">denied</th><th class=\"n\">of all denials</th><th>last refused by</th>\
         </tr></thead><tbody>\n",
        if summary.top().is_exact() {
            ""
        } else {
            "more than "
        },
        units::exact(summary.top().len() as u64),
        units::share(first.count, denied)
    );
    for key in &list {
        let about = if key.over_max > 0 { "≤ " } else { "" };
        put(
            &mut text,
            format_args!(
                "<tr><td class=\"key\">{}</td><td class=\"n hit denied\">{about}{}</td>\
                 <td class=\"n\">{}</td><td><code>{}</code></td></tr>\n",
                safe(&short(&key.key)),
                units::exact(key.count),
                units::share(key.count, denied),
                summary
                    .label(key.policy)
                    .map_or(String::new(), |label| safe(&label.to_string())),
            ),
        );
    }
    let note = story::precision(summary).map_or(String::new(), |note| {
        format!("<p class=\"soft\">{note}</p>")
    });
    put(
        &mut text,
        format_args!("</tbody></table></div>{note}</section>\n"),
    );
    text
}

fn waits(summary: &Summary) -> String {
    let rows: String = [
        ("wait of delayed requests", summary.waits()),
        ("retry-after of denied requests", summary.retries()),
    ]
    .into_iter()
    .filter_map(|(name, waits)| wait_row(name, waits))
    .collect();
    let never = match summary.never() {
        0 => String::new(),
        count => format!(
            "<p class=\"soft\">{} denied requests could never pass: they cost more than a \
             policy holds.</p>",
            units::exact(count)
        ),
    };
    if rows.is_empty() && never.is_empty() {
        return String::new();
    }
    let title = match (
        summary.waits().percentile_ns(99),
        summary.retries().percentile_ns(50),
    ) {
        (Some(p99), _) => format!(
            "99 % of the delayed waited no longer than {}",
            units::wait(p99)
        ),
        (None, Some(p50)) => format!("Half of the denied could pass after {}", units::wait(p50)),
        (None, None) => "No wait would have helped".to_owned(),
    };
    let table = if rows.is_empty() {
        String::new()
    } else {
        format!(
            "<div class=\"wide\"><table><thead><tr><th></th><th class=\"n\">p50</th>\
             <th class=\"n\">p99</th><th class=\"n\">longest</th></tr></thead><tbody>\
             {rows}</tbody></table></div>"
        )
    };
    format!("<section><h2>{title}</h2>\n{table}{never}</section>\n")
}

fn wait_row(name: &str, waits: &Waits) -> Option<String> {
    let times = [
        waits.percentile_ns(50)?,
        waits.percentile_ns(99)?,
        waits.max_ns()?,
    ];
    let mut cells = String::new();
    for ns in times {
        put(
            &mut cells,
            format_args!("<td class=\"n\" title=\"{ns} ns\">{}</td>", units::wait(ns)),
        );
    }
    Some(format!("<tr><td>{name}</td>{cells}</tr>\n"))
}

fn number(count: RequestCount, meaning: Meaning) -> String {
    match count.requests {
        0 => "<td class=\"n zero\">0</td>".to_owned(),
        requests => format!(
            "<td class=\"n hit {}\">{}</td>",
            meaning.word(),
            units::exact(requests)
        ),
    }
}

/// A time as the distance from the trace's start, with the absolute one behind it.
fn when(summary: &Summary, time_ms: Option<u64>) -> String {
    let start = summary.span().map_or(0, |(first, _)| first);
    match time_ms {
        None => "never".to_owned(),
        Some(time_ms) => format!(
            "<time title=\"{} UTC\">+{}</time>",
            Civil::from_unix_ms(time_ms),
            units::span(time_ms.saturating_sub(start))
        ),
    }
}

/// What a policy did more often.
fn mostly(count: &PolicyCount) -> Meaning {
    if count.delayed.requests > count.denied.requests {
        Meaning::Delayed
    } else {
        Meaning::Denied
    }
}

/// Bars for counts over time; a count above zero is at least a pixel high.
fn spark(counts: &[u64], meaning: Meaning) -> String {
    const WIDTH: u128 = 1200;
    const HEIGHT: u128 = 240;
    let (columns, peak) = (
        counts.len().max(1) as u128,
        u128::from(counts.iter().copied().max().unwrap_or(0)),
    );
    let mut path = String::new();
    for (column, count) in (0u128..).zip(counts).filter(|(_, count)| **count > 0) {
        let (from, to) = (column * WIDTH / columns, (column + 1) * WIDTH / columns);
        let height = (u128::from(*count) * (HEIGHT - 10) / peak.max(1)).max(10);
        put(
            &mut path,
            format_args!("M{from} {HEIGHT}V{}H{to}V{HEIGHT}Z", HEIGHT - height),
        );
    }
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"refusals and delays over time, at most {peak} at once\">\
         <line x1=\"0\" x2=\"{WIDTH}\" y1=\"{HEIGHT}\" y2=\"{HEIGHT}\" stroke-width=\"20\"/>\
         <path class=\"fill {}\" d=\"{path}\"/></svg>",
        meaning.word()
    )
}

fn short(key: &str) -> String {
    const SHOWN_MAX: usize = 200;
    super::super::table::tame(key, SHOWN_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_has_one_bar_for_each_count_that_is_not_zero() {
        assert_eq!(
            spark(&[0, 3, 0, u64::MAX], Meaning::Denied)
                .matches('Z')
                .count(),
            2
        );
        assert_eq!(spark(&[], Meaning::Denied).matches('Z').count(), 0);
    }
}
