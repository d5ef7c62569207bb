//! Line plots as SVG, with the table behind them.
//!
//! Our lines are solid; those of other publications and of the central bucket are dashed. A design has one colour
//! everywhere, and with few points each line has its own mark, so that no meaning depends on colour alone.

use tollgate_lab::{Line, PlotFigure, digits};

use super::colour::colour;
use crate::report::html::frame::{DrawingFrame, round_up};
use crate::report::text::{html as safe, put};

const FRAME: DrawingFrame = DrawingFrame {
    width: 600.0,
    height: 280.0,
    left: 56.0,
    right: 16.0,
    top: 28.0,
    bottom: 42.0,
};
/// Lines with at most this many points get marks.
const MARKED_MAX: usize = 16;
const TABLE_ROWS_MAX: usize = 60;

/// The plot, its legend and its table.
pub(super) fn section(figure: &PlotFigure) -> String {
    let legend: String = figure
        .lines
        .iter()
        .enumerate()
        .map(|(at, line)| key(figure, at, line))
        .collect();
    let scale = match (figure.x_log, figure.y_log) {
        (false, false) => "",
        (true, false) => "<span>logarithmic to the right</span>",
        (false, true) => "<span>logarithmic upwards</span>",
        (true, true) => "<span>logarithmic both ways</span>",
    };
    format!(
        "<section id=\"{}\"><h2>{}</h2>\n<figure><figcaption>{legend}{scale}</figcaption>\n{}</figure>\n{}</section>\n",
        safe(&figure.name),
        safe(&figure.title),
        Plot::of(figure).draw(),
        table(figure),
    )
}

fn key(figure: &PlotFigure, at: usize, line: &Line) -> String {
    let mark = if line.points.len() <= MARKED_MAX {
        mark(shape(figure, at), 13.0, 7.0, line.is_reference)
    } else {
        String::new()
    };
    format!(
        "<span><svg class=\"key {}\" viewBox=\"0 0 26 14\" aria-hidden=\"true\"><path class=\"{}\" \
         d=\"M1 7H25\"/>{mark}</svg>{}</span>",
        colour(&line.name),
        stroke(figure, at),
        safe(&line.name)
    )
}

/// The shape of a line's marks is that of its design, so that published figures match ours.
fn shape(figure: &PlotFigure, at: usize) -> usize {
    let Some(line) = figure.lines.get(at).filter(|line| line.is_reference) else {
        return at;
    };
    let own = line
        .name
        .rsplit_once(',')
        .map_or(&*line.name, |(name, _)| name);
    let design = figure.lines.iter().position(|line| line.name == own);
    design.unwrap_or(at)
}

/// Distinguishes lines of one design: the second is dotted, the third dashed differently.
fn stroke(figure: &PlotFigure, at: usize) -> &'static str {
    let Some(line) = figure.lines.get(at) else {
        return "line";
    };
    if line.is_reference {
        return "line dashed";
    }
    let alike = |other: &&Line| !other.is_reference && colour(&other.name) == colour(&line.name);
    match figure.lines.iter().take(at).filter(alike).count() {
        0 => "line",
        1 => "line second",
        _ => "line third",
    }
}

/// One of four rotating shapes, hollow for published figures.
fn mark(at: usize, x: f64, y: f64, is_hollow: bool) -> String {
    let class = if is_hollow { "mark hollow" } else { "mark" };
    let path = match at % 4 {
        0 => return format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"),
        1 => format!("M{:.1} {:.1}h6v6h-6Z", x - 3.0, y - 3.0),
        2 => format!("M{x:.1} {:.1}l4 7h-8Z", y - 4.0),
        _ => format!("M{x:.1} {:.1}l4 4l-4 4l-4 -4Z", y - 4.0),
    };
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

/// An axis: its range, and whether it is logarithmic.
#[derive(Clone, Copy, Debug)]
struct Axis {
    from: f64,
    to: f64,
    is_log: bool,
}

impl Axis {
    /// An axis that holds all values; a linear upright one begins at zero, unless everything is far above.
    fn of(values: impl Iterator<Item = f64>, is_log: bool, is_upright: bool) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        if most < least {
            return Self {
                from: 0.0,
                to: 1.0,
                is_log: false,
            };
        }
        if is_log {
            let least = values
                .iter()
                .copied()
                .filter(|value| *value > 0.0)
                .fold(f64::INFINITY, f64::min);
            if least.is_finite() && most > 0.0 {
                return Self::powers(least, most, is_upright);
            }
        }
        if !is_upright {
            let to = if most > least { most } else { least + 1.0 };
            return Self {
                from: least,
                to,
                is_log: false,
            };
        }
        let floor = least.min(0.0);
        let step = round_up((most - floor).max(1e-9) / 4.0);
        Self {
            from: (floor / step).floor() * step,
            to: ((most / step).ceil() * step).max(step),
            is_log: false,
        }
    }

    fn powers(least: f64, most: f64, is_upright: bool) -> Self {
        if !is_upright {
            let to = if most > least { most } else { least * 10.0 };
            return Self {
                from: least,
                to,
                is_log: true,
            };
        }
        let from = 10f64
            .powf(least.log10().floor())
            .max(10f64.powf((most / LOG_RANGE_MAX).log10().floor()));
        let to = 10f64.powf(most.log10().ceil());
        Self {
            from,
            to: to.max(from * 10.0),
            is_log: true,
        }
    }

    /// Where a value is, from 0 to 1.
    fn part(self, value: f64) -> f64 {
        let part = if self.is_log {
            let value = value.max(self.from);
            (value.log10() - self.from.log10()) / (self.to.log10() - self.from.log10())
        } else {
            (value - self.from) / (self.to - self.from)
        };
        part.clamp(0.0, 1.0)
    }

    /// Values with a line and a label.
    fn ticks(self, about: f64) -> Vec<f64> {
        if self.is_log {
            return self.log_ticks();
        }
        let step = round_up((self.to - self.from) / about);
        let mut ticks = Vec::new();
        let mut tick = (self.from / step).ceil() * step;
        while tick <= self.to + step * 1e-6 && ticks.len() < TICKS_MAX {
            ticks.push(if tick.abs() < step * 1e-6 { 0.0 } else { tick });
            tick += step;
        }
        ticks
    }

    fn log_ticks(self) -> Vec<f64> {
        let decades = self.to.log10() - self.from.log10();
        let leads: &[f64] = if decades > 3.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let mut ticks = Vec::new();
        let mut power = 10f64.powf(self.from.log10().floor());
        while power <= self.to * 1.001 && ticks.len() < TICKS_MAX {
            let here = leads.iter().map(|lead| lead * power);
            ticks
                .extend(here.filter(|tick| *tick >= self.from * 0.999 && *tick <= self.to * 1.001));
            power *= 10.0;
        }
        ticks
    }
}

const TICKS_MAX: usize = 40;
/// A mean over many seeds can be tiny; beyond this far below the top nothing is worth a decade.
const LOG_RANGE_MAX: f64 = 1e5;

struct Plot<'a> {
    figure: &'a PlotFigure,
    x: Axis,
    y: Axis,
}

impl<'a> Plot<'a> {
    fn of(figure: &'a PlotFigure) -> Self {
        let points = || figure.lines.iter().flat_map(|line| &line.points);
        Self {
            figure,
            x: Axis::of(points().map(|point| point.0), figure.x_log, false),
            y: Axis::of(points().map(|point| point.1), figure.y_log, true),
        }
    }

    fn draw(&self) -> String {
        let title = &self.figure.title;
        let mut svg = FRAME.begin(&format!("{title}; the table below has the numbers"));
        self.draw_levels(&mut svg);
        self.draw_base(&mut svg);
        // Reference lines are drawn underneath.
        let (theirs, ours): (Vec<_>, Vec<_>) = self
            .figure
            .lines
            .iter()
            .enumerate()
            .partition(|(_, line)| line.is_reference);
        for (at, line) in theirs.into_iter().chain(ours) {
            self.draw_line(at, line, &mut svg);
        }
        self.draw_hover(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_levels(&self, svg: &mut String) {
        for level in self.y.ticks(4.0) {
            FRAME.level(self.y.part(level), &label(level), svg);
        }
        let unit = safe(&self.figure.y_label);
        put(
            svg,
            format_args!("<text class=\"unit\" x=\"0\" y=\"12\">{unit}</text>\n"),
        );
    }

    fn draw_base(&self, svg: &mut String) {
        FRAME.base(svg);
        for tick in self.x.ticks(8.0) {
            FRAME.mark(self.x.part(tick), &label(tick), svg);
        }
        put(
            svg,
            format_args!(
                "<text class=\"unit\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\n",
                FRAME.end(),
                FRAME.height - 6.0,
                safe(&self.figure.x_label)
            ),
        );
    }

    fn draw_line(&self, at: usize, line: &Line, svg: &mut String) {
        let mut path = String::new();
        let mut marks = String::new();
        let known = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite();
        for point in line.points.iter().filter(known) {
            let (x, y) = (FRAME.x(self.x.part(point.0)), FRAME.y(self.y.part(point.1)));
            let step = if path.is_empty() { 'M' } else { 'L' };
            put(&mut path, format_args!("{step}{x:.1} {y:.1}"));
            if line.points.len() <= MARKED_MAX {
                marks.push_str(&mark(shape(self.figure, at), x, y, line.is_reference));
            }
        }
        put(
            svg,
            format_args!(
                "<g class=\"{}\"><path class=\"{}\" d=\"{path}\"/>{marks}</g>\n",
                colour(&line.name),
                stroke(self.figure, at)
            ),
        );
    }

    /// The lines' values at a place, shown on hover.
    fn draw_hover(&self, svg: &mut String) {
        let xs = xs(self.figure, HOVERS_MAX);
        let places: Vec<f64> = xs.iter().map(|x| FRAME.x(self.x.part(*x))).collect();
        for (at, (x, here)) in xs.iter().zip(&places).enumerate() {
            let before = at
                .checked_sub(1)
                .and_then(|at| places.get(at))
                .map_or(FRAME.left, |left| f64::midpoint(*left, *here));
            let after = places
                .get(at + 1)
                .map_or(FRAME.end(), |right| f64::midpoint(*right, *here));
            let mut told = format!("{} = {}", self.figure.x_label, label(*x));
            for line in &self.figure.lines {
                if let Some(y) = value_at(line, *x) {
                    put(&mut told, format_args!("\n{}: {}", line.name, digits(y)));
                }
            }
            FRAME.hover(before, after, &told, svg);
        }
    }
}

const HOVERS_MAX: usize = 120;

/// Places where something is drawn, each once, ascending; at most `count_max`.
fn xs(figure: &PlotFigure, count_max: usize) -> Vec<f64> {
    let mut xs: Vec<f64> = figure
        .lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.0)
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    let every = xs.len().div_ceil(count_max).max(1);
    let last = xs.len().saturating_sub(1);
    xs.into_iter()
        .enumerate()
        .filter(|(at, _)| at % every == 0 || *at == last)
        .map(|(_, x)| x)
        .collect()
}

/// The last value at or before a place on a dense line; only the exact one on a line of few points.
fn value_at(line: &Line, x: f64) -> Option<f64> {
    let before = line.points.iter().rev().find(|point| point.0 <= x + 1e-9)?;
    let is_there = (before.0 - x).abs() < 1e-6;
    let is_known = before.1.is_finite();
    (is_known && (is_there || line.points.len() > MARKED_MAX)).then_some(before.1)
}

fn table(figure: &PlotFigure) -> String {
    let mut names = String::new();
    for line in &figure.lines {
        put(
            &mut names,
            format_args!("<th class=\"n\">{}</th>", safe(&line.name)),
        );
    }
    let mut text = format!(
        "<details><summary>The same as a table</summary><div class=\"scroll\"><table><thead><tr><th class=\"n\">{}</th>\
         {names}</tr></thead><tbody>\n",
        safe(&figure.x_label)
    );
    for x in xs(figure, TABLE_ROWS_MAX) {
        put(
            &mut text,
            format_args!("<tr><td class=\"n\">{}</td>", label(x)),
        );
        for line in &figure.lines {
            let shown = value_at(line, x).map_or_else(String::new, exact);
            put(&mut text, format_args!("<td class=\"n\">{shown}</td>"));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div></details>\n");
    text
}

/// A number in a table: whole if it is large.
fn exact(value: f64) -> String {
    if value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else {
        digits(value)
    }
}

/// A number on an axis.
fn label(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!(
        "{}{unit}",
        if text.is_empty() || text == "-0" {
            "0"
        } else {
            text
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(points: &[(f64, f64)], log: bool) -> PlotFigure {
        PlotFigure {
            title: "a < b".into(),
            x_log: log,
            y_log: log,
            lines: vec![Line {
                name: "home, <i>".into(),
                is_reference: log,
                points: points.to_vec(),
            }],
            ..PlotFigure::default()
        }
    }

    #[test]
    fn whatever_is_drawn_has_a_place() {
        let cases: [&[(f64, f64)]; 7] = [
            &[],
            &[(0.0, 0.0)],
            &[(5.0, 5.0)],
            &[(1.0, -3.0), (2.0, 4.0)],
            &[(0.0, 0.0), (1e9, 1e12)],
            &[(1.0, f64::NAN), (2.0, f64::INFINITY)],
            &[(10.0, 1e-9), (1000.0, 1e9)],
        ];
        for points in cases {
            for log in [false, true] {
                let text = section(&figure(points, log));
                assert!(
                    !text.contains("NaN\"") && !text.contains("inf\""),
                    "{points:?} {text}"
                );
                assert!(!text.contains("<i>"), "names are escaped");
            }
        }
    }

    #[test]
    fn axes_have_a_few_round_ticks() {
        let axis = Axis::of([0.0, 6450.0].into_iter(), false, true);
        assert_eq!(axis.ticks(4.0), [0.0, 2000.0, 4000.0, 6000.0, 8000.0]);
        let axis = Axis::of([10.0, 300.0].into_iter(), true, false);
        assert_eq!(axis.ticks(8.0), [10.0, 20.0, 50.0, 100.0, 200.0]);
        for size in [1e-6, 0.3, 7.0, 1e4, 3e11] {
            let ticks = Axis::of([0.0, size].into_iter(), false, true)
                .ticks(4.0)
                .len();
            assert!((3..=12).contains(&ticks), "{size} {ticks}");
        }
    }

    #[test]
    fn labels_are_short() {
        let shown = [0.0, 0.25, 5.0, 1500.0, 20_000.0, 2.5e6].map(label);
        assert_eq!(shown, ["0", "0.25", "5", "1500", "20 k", "2.5 M"]);
    }
}
