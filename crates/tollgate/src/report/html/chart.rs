//! Requests over time as stacked areas, with the table behind them.
//!
//! The meanings differ in pattern as well as in colour: denied is hatched, delayed is dotted.

#![allow(clippy::cast_precision_loss, reason = "pixels")]

use super::super::human::moment;
use super::super::text::put;
use super::super::timeline::View;
use super::super::{Meaning, Summary, units};
use super::frame::{DrawingFrame, round_up};
use crate::civil::{Civil, DAY_MS};

const FRAME: DrawingFrame = DrawingFrame {
    width: 1216.0,
    height: 280.0,
    left: 64.0,
    right: 12.0,
    top: 20.0,
    bottom: 28.0,
};
/// The share denied is lower, under the same axis.
const SHARE: DrawingFrame = DrawingFrame {
    height: 76.0,
    top: 12.0,
    bottom: 8.0,
    ..FRAME
};
const COLUMNS: usize = 240;

/// The chart, its legend and its table.
pub(super) fn section(summary: &Summary) -> String {
    let view = summary.timeline().view(COLUMNS);
    let shown: Vec<Meaning> = Meaning::ALL
        .into_iter()
        .filter(|meaning| summary.count(*meaning).requests > 0)
        .collect();
    let width = units::span(view.width_ms);
    let peak = units::rate(view.peak(), view.width_ms);
    let legend: String = shown.iter().rev().map(|meaning| key(*meaning)).collect();
    format!(
        "<section><h2>{}</h2>\n<figure><figcaption>\
         {legend}<span>requests per second, mean of {width}</span>\
         </figcaption>\n{}</figure>\n{}</section>\n",
        heading(summary, &view, &peak),
        Plot::new(&view).draw(&shown),
        share(&view) + &table(&view, &shown),
    )
}

/// The share denied over time, under the same axis; empty if nothing was denied.
fn share(view: &View) -> String {
    let shares = view.stacks.iter().map(|stack| {
        stack[Meaning::Denied as usize] as f64 / stack.iter().sum::<u64>().max(1) as f64
    });
    let worst = shares.clone().fold(0.0, f64::max);
    if worst <= 0.0 {
        return String::new();
    }
    let full = round_up(worst).min(1.0);
    let floor = SHARE.y(0.0);
    let mut path = format!("M{} {floor}", SHARE.left);
    for (column, share) in shares.enumerate() {
        let x = x(view, column + 1);
        put(
            &mut path,
            format_args!("V{:.1}H{x:.1}", SHARE.y(share / full)),
        );
    }
    let mut svg = SHARE.begin("Share of requests denied over time");
    SHARE.level(1.0, &format!("{} %", units::number(full * 100.0)), &mut svg);
    put(
        &mut svg,
        format_args!(
            "<path class=\"fill denied\" d=\"{path}V{floor}Z\"/>\
             <path fill=\"url(#hatch)\" d=\"{path}V{floor}Z\"/>\
             <text x=\"{label}\" y=\"{}\" text-anchor=\"end\">denied</text>\
             <text x=\"{label}\" y=\"{}\" text-anchor=\"end\">0</text>\n",
            SHARE.y(0.5) + 4.0,
            floor + 4.0,
            label = SHARE.left - 8.0,
        ),
    );
    SHARE.base(&mut svg);
    format!("<figure>{svg}</svg></figure>\n")
}

fn x(view: &View, column: usize) -> f64 {
    FRAME.x(column as f64 / view.stacks.len().max(1) as f64)
}

/// The main fact of the chart.
fn heading(summary: &Summary, view: &View, peak: &str) -> String {
    let denied = |stack: &[u64; 4]| stack[Meaning::Denied as usize];
    let worst = (0..view.stacks.len())
        .rev()
        .max_by_key(|column| denied(&view.stacks[*column]));
    match worst.filter(|column| denied(&view.stacks[*column]) > 0) {
        Some(column) => {
            let stack = &view.stacks[column];
            let start = summary.span().map_or(0, |(first, _)| first);
            let after = view.time_ms(column).saturating_sub(start);
            let when = if after == 0 {
                "at the start".to_owned()
            } else {
                format!("after {}", units::span(after))
            };
            format!(
                "At most {peak}; worst {when}, with {} denied",
                units::share(denied(stack), stack.iter().sum())
            )
        }
        None => format!("At most {peak}, and nothing denied"),
    }
}

fn key(meaning: Meaning) -> String {
    let word = meaning.word();
    let pattern = match pattern(meaning) {
        Some(id) => format!("<rect width=\"14\" height=\"14\" fill=\"url(#{id})\"/>"),
        None => String::new(),
    };
    format!(
        "<span><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">\
         <rect class=\"fill {word}\" width=\"14\" height=\"14\"/>{pattern}</svg>{word}</span>"
    )
}

fn pattern(meaning: Meaning) -> Option<&'static str> {
    match meaning {
        Meaning::Denied => Some("hatch"),
        Meaning::Delayed => Some("dots"),
        Meaning::Allowed | Meaning::Unmatched => None,
    }
}

const PATTERNS: &str = "<defs>\
    <pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
    <path class=\"hatch\" d=\"M-1 1l2-2M0 6l6-6M5 7l2-2\"/></pattern>\
    <pattern id=\"dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
    <circle class=\"dots\" cx=\"2\" cy=\"2\" r=\"1\"/></pattern>\
    </defs>\n";

struct Plot<'a> {
    view: &'a View,
    /// Requests at the top of the axis.
    full: f64,
    /// Requests between two lines of the grid.
    step: f64,
}

impl<'a> Plot<'a> {
    fn new(view: &'a View) -> Self {
        const LINES: f64 = 4.0;
        let per_second = view.width_ms as f64 / 1000.0;
        let rate = view.peak() as f64 / per_second;
        let step = round_up(rate / LINES);
        let lines = (rate / step).ceil().max(1.0);
        Self {
            view,
            full: lines * step * per_second,
            step: step * per_second,
        }
    }

    fn x(&self, column: usize) -> f64 {
        x(self.view, column)
    }

    fn y(&self, requests: f64) -> f64 {
        FRAME.y(requests / self.full)
    }

    fn draw(&self, shown: &[Meaning]) -> String {
        let mut svg = FRAME.begin("Requests per second over time; the table below has the numbers");
        svg.push_str(PATTERNS);
        self.draw_levels(&mut svg);
        for meaning in shown {
            self.draw_area(*meaning, &mut svg);
        }
        self.draw_times(&mut svg);
        self.draw_hover(shown, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_levels(&self, svg: &mut String) {
        let mut level = 0.0;
        while level <= self.full * 1.001 {
            let label = units::number(level * 1000.0 / self.view.width_ms as f64);
            let unit = if level > 0.0 { "/s" } else { "" };
            FRAME.level(level / self.full, &(label + unit), svg);
            level += self.step;
        }
    }

    /// The area between what is stacked below a meaning and itself.
    fn draw_area(&self, meaning: Meaning, svg: &mut String) {
        let top = meaning as usize + 1;
        let sum = |stack: &[u64; 4], len: usize| self.y(stack[..len].iter().sum::<u64>() as f64);
        let mut path = format!("M{:.1} {:.1}", self.x(0), self.y(0.0));
        for (column, stack) in self.view.stacks.iter().enumerate() {
            put(
                &mut path,
                format_args!("V{:.1}H{:.1}", sum(stack, top), self.x(column + 1)),
            );
        }
        for (column, stack) in self.view.stacks.iter().enumerate().rev() {
            put(
                &mut path,
                format_args!("V{:.1}H{:.1}", sum(stack, top - 1), self.x(column)),
            );
        }
        let word = meaning.word();
        put(
            svg,
            format_args!("<path class=\"fill {word}\" d=\"{path}Z\"/>\n"),
        );
        if let Some(id) = pattern(meaning) {
            put(
                svg,
                format_args!("<path fill=\"url(#{id})\" d=\"{path}Z\"/>\n"),
            );
        }
    }

    fn draw_times(&self, svg: &mut String) {
        let columns = self.view.stacks.len() as u64;
        let span = self.view.width_ms.saturating_mul(columns);
        let step = tick_ms(span);
        FRAME.base(svg);
        let first = self.view.start_ms.div_ceil(step) * step;
        for time in (0..12).map(|tick| first + tick * step) {
            let offset = time - self.view.start_ms;
            let part = offset as f64 / span as f64;
            if offset > span || FRAME.x(part) > FRAME.end() - 24.0 {
                break;
            }
            FRAME.mark(part, &tick_label(time, span), svg);
        }
    }

    /// A column's values, shown on hover.
    fn draw_hover(&self, shown: &[Meaning], svg: &mut String) {
        for (column, stack) in self.view.stacks.iter().enumerate() {
            let begun = Civil::from_unix_ms(self.view.time_ms(column));
            let mut said = format!("{begun} UTC");
            for meaning in shown.iter().rev() {
                let count = units::exact(stack[*meaning as usize]);
                put(&mut said, format_args!("\n{count} {}", meaning.word()));
            }
            FRAME.hover(self.x(column), self.x(column + 1), &said, svg);
        }
    }
}

fn table(view: &View, shown: &[Meaning]) -> String {
    let mut names = String::new();
    for meaning in shown.iter().rev() {
        put(
            &mut names,
            format_args!("<th class=\"n\">{}</th>", meaning.word()),
        );
    }
    let mut text = format!(
        "<details><summary>The same as a table</summary><div class=\"scroll\"><table><thead><tr>\
         <th>from (UTC)</th><th class=\"n\">requests</th>\
         {names}<th class=\"n\">denied share</th></tr></thead><tbody>\n"
    );
    for (column, stack) in view.stacks.iter().enumerate() {
        let total: u64 = stack.iter().sum();
        let mut counts = String::new();
        for meaning in shown.iter().rev() {
            let count = units::exact(stack[*meaning as usize]);
            put(&mut counts, format_args!("<td class=\"n\">{count}</td>"));
        }
        put(
            &mut text,
            format_args!(
                "<tr><td>{}</td><td class=\"n\">{}</td>{counts}<td class=\"n\">{}</td></tr>\n",
                Civil::from_unix_ms(view.time_ms(column)),
                units::exact(total),
                units::share(stack[Meaning::Denied as usize], total)
            ),
        );
    }
    text.push_str("</tbody></table></div></details>\n");
    text
}

/// A round step that puts at most ten times on the axis.
fn tick_ms(span_ms: u64) -> u64 {
    const MINUTE: u64 = 60_000;
    const STEPS: [u64; 28] = [
        1,
        2,
        5,
        10,
        20,
        50,
        100,
        200,
        500,
        1000,
        2000,
        5000,
        10_000,
        30_000,
        MINUTE,
        2 * MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        30 * MINUTE,
        60 * MINUTE,
        120 * MINUTE,
        360 * MINUTE,
        720 * MINUTE,
        DAY_MS,
        7 * DAY_MS,
        30 * DAY_MS,
        365 * DAY_MS,
        3650 * DAY_MS,
    ];
    STEPS
        .into_iter()
        .find(|step| span_ms / step <= 10)
        .unwrap_or(span_ms / 10 + 1)
}

/// A time on the axis; midnight is shown as its date.
fn tick_label(time_ms: u64, span_ms: u64) -> String {
    let long = span_ms > 1_200_000;
    if long && time_ms.is_multiple_of(DAY_MS) {
        return Civil::from_unix_ms(time_ms).date();
    }
    moment(time_ms, span_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_a_few_times_whatever_the_span() {
        let mut span = 1u64;
        while span < 1 << 44 {
            assert!(span / tick_ms(span) <= 10, "{span}");
            span = span * 3 / 2 + 1;
        }
        assert_eq!(tick_label(1_700_006_400_000, 10_800_000), "2023-11-15");
        assert_eq!(tick_label(1_700_002_800_000, 10_800_000), "23:00");
    }

    #[test]
    fn a_chart_of_one_moment_has_finite_places() {
        let view = View {
            start_ms: 5,
            width_ms: 1,
            stacks: vec![[0, 1, 0, 0]],
        };
        let svg = Plot::new(&view).draw(&[Meaning::Allowed]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
