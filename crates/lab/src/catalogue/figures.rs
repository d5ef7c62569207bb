//! What is drawn from rows: curves over time, and figures over a parameter.
//!
//! Not here: ink, axes, pixels.

#![allow(clippy::cast_precision_loss, reason = "plots")]

use super::words;
use crate::report::{Column, Line, PlotFigure, Row};
use crate::world::{Curves, RunOutcome};

/// A way to look at rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Cumulative requests and rejections over time, one plot per set.
    Rejections,
    /// Cumulative rejections alone, where requests would press them to the floor.
    Refusals,
    /// Rejections the central bucket has more, over time, one plot per set.
    Difference,
    /// Bytes of state of a node over time, one plot per set.
    Memory,
    /// The same in percent of the counter's highest, as the thesis draws it.
    MemoryShare,
    /// Bytes sent per second over time, one plot per set.
    Bandwidth,
    /// The same in percent of the counter's highest.
    BandwidthShare,
    /// Keys seen so far over time, one plot per set.
    Users,
    /// A column over the parameter that the experiment turns, one plot per series.
    Over(Column, &'static str),
}

/// Points of a curve at most; a page has a few hundred pixels for them.
const POINTS_MAX: usize = 240;

/// The plots of one view. `places` says where each row stands in plots over a parameter.
pub(super) fn draw(view: View, rows: &[Row], places: &[Option<(String, f64)>]) -> Vec<PlotFigure> {
    if let View::Over(column, label) = view {
        return sweep(column, label, rows, places);
    }
    sets(rows)
        .into_iter()
        .filter_map(|rows| over_time(view, &rows))
        .collect()
}

fn sets(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut sets: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        match sets
            .iter_mut()
            .find(|set| set.iter().all(|own| own.set == row.set))
        {
            Some(set) => set.push(row),
            None => sets.push(vec![row]),
        }
    }
    sets
}

fn over_time(view: View, rows: &[&Row]) -> Option<PlotFigure> {
    let first = rows.first()?;
    let scale = scale(view, rows);
    let mut lines = backdrop(view, first);
    for row in rows {
        lines.push(Line {
            name: row.design.clone(),
            is_reference: false,
            points: thin(curve(view, &row.runs, scale)),
        });
    }
    lines.retain(|line| !line.points.is_empty());
    if matches!(
        view,
        View::Rejections | View::Refusals | View::Difference | View::Users
    ) {
        level_out(&mut lines);
    }
    let (name, what, y_label) = labels(view);
    (!lines.is_empty()).then(|| PlotFigure {
        name: format!("{name}-{}", slug(&first.set)),
        title: format!("{}: {what}{}", first.set, extremes(view, &lines)),
        x_label: "time, s".to_owned(),
        y_label: y_label.to_owned(),
        y_log: matches!(
            view,
            View::Rejections
                | View::Memory
                | View::MemoryShare
                | View::Bandwidth
                | View::BandwidthShare
        ) && is_steep(&lines),
        lines,
        ..PlotFigure::default()
    })
}

/// What is counted stays when a run ends, so that its line goes on to the end of the longest.
fn level_out(lines: &mut [Line]) {
    let ends = lines.iter().filter_map(|line| line.points.last());
    let last = ends.map(|(x, _)| *x).fold(0.0, f64::max);
    for line in lines {
        if let Some((x, y)) = line.points.last().copied()
            && x < last
        {
            line.points.push((last, y));
        }
    }
}

/// The highest and the lowest of our lines, as part of a title.
fn extremes(view: View, lines: &[Line]) -> String {
    let ours = || lines.iter().filter(|line| !line.is_reference);
    let order = |a: &&Line, b: &&Line| top(a).total_cmp(&top(b));
    let (Some(most), Some(least)) = (ours().max_by(order), ours().min_by(order)) else {
        return String::new();
    };
    let unit = match view {
        View::MemoryShare | View::BandwidthShare => " %",
        View::Memory => " B",
        View::Bandwidth => " B/s",
        View::Rejections | View::Refusals | View::Difference | View::Users | View::Over(..) => "",
    };
    // A unit goes right after its prefix: 153 kB.
    let height = |line: &Line| match words::short(top(line)) {
        text if text.ends_with(char::is_alphabetic) => text + unit.trim_start(),
        text => text + unit,
    };
    let show = |line: &Line| format!("{} {}", line.name, height(line));
    if ours().count() < 2 {
        return format!("; at most {}", height(most));
    }
    if top(most) <= top(least) {
        return format!("; all {}", height(most));
    }
    format!("; most {}, least {}", show(most), show(least))
}

/// What a view is called, what it shows, and its unit.
fn labels(view: View) -> (&'static str, &'static str, &'static str) {
    match view {
        View::Refusals => ("refusals", "rejections so far", "rejections"),
        View::Rejections => ("rejections", "requests and rejections so far", "requests"),
        View::Difference => (
            "difference",
            "rejections that the central bucket has more",
            "rejections short of central",
        ),
        View::Memory => ("memory", "state of a node", "bytes per node"),
        View::MemoryShare => ("memory", "state of a node", "% of the counter's highest"),
        View::Bandwidth => ("bandwidth", "sent by all nodes", "bytes per second"),
        View::BandwidthShare => (
            "bandwidth",
            "sent by all nodes",
            "% of the counter's highest",
        ),
        View::Users => ("users", "users seen so far", "users"),
        View::Over(..) => ("over", "", ""),
    }
}

/// What every design is compared with in the same plot.
fn backdrop(view: View, row: &Row) -> Vec<Line> {
    let line = |name: &str, pick: fn(&Curves) -> &[u64]| Line {
        name: name.to_owned(),
        is_reference: true,
        points: thin(mean(&row.runs, 1.0, &|curves, at| level(pick(curves), at))),
    };
    match view {
        View::Refusals => vec![line("central", |curves| &curves.central_rejected)],
        View::Rejections => vec![
            line("requests", |curves| &curves.requests),
            line("central", |curves| &curves.central_rejected),
        ],
        _ => Vec::new(),
    }
}

/// What the values of a view are multiplied by.
fn scale(view: View, rows: &[&Row]) -> f64 {
    let base = match view {
        View::MemoryShare => View::Memory,
        View::BandwidthShare => View::Bandwidth,
        _ => return 1.0,
    };
    let counter = rows
        .iter()
        .find(|row| row.design == "counter")
        .or(rows.first());
    let points = counter.map_or_else(Vec::new, |row| curve(base, &row.runs, 1.0));
    let highest = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    if highest > 0.0 { 100.0 / highest } else { 1.0 }
}

/// The mean curve of some runs.
fn curve(view: View, runs: &[RunOutcome], scale: f64) -> Vec<(f64, f64)> {
    match view {
        View::Rejections | View::Refusals => {
            mean(runs, scale, &|curves, at| level(&curves.rejected, at))
        }
        View::Difference => mean(runs, scale, &|curves, at| {
            level(&curves.central_rejected, at) - level(&curves.rejected, at)
        }),
        View::Memory | View::MemoryShare => mean(runs, scale, &|curves, at| {
            curves.state_bytes.get(at).copied().unwrap_or(0.0)
        }),
        View::Bandwidth | View::BandwidthShare => smooth(&mean(runs, scale, &|curves, at| {
            let sent = curves.sent_bytes.get(at).copied().unwrap_or(0);
            sent as f64 / curves.step_s.max(f64::MIN_POSITIVE)
        })),
        View::Users => mean(runs, scale, &|curves, at| level(&curves.keys, at)),
        View::Over(..) => Vec::new(),
    }
}

/// A cumulative count at a step; after its end it stays.
fn level(curve: &[u64], at: usize) -> f64 {
    curve.get(at).or(curve.last()).copied().unwrap_or(0) as f64
}

fn mean(runs: &[RunOutcome], scale: f64, pick: &dyn Fn(&Curves, usize) -> f64) -> Vec<(f64, f64)> {
    // The batch keeps the curves of the first seeds only.
    let drawn = |run: &&RunOutcome| !run.curves.requests.is_empty();
    let curves = || runs.iter().filter(drawn).map(|run| &run.curves);
    let len = curves().map(|curves| curves.requests.len()).max();
    let step_s = curves().map(|curves| curves.step_s).fold(0.0, f64::max);
    let at = |step: usize| {
        let sum: f64 = curves().map(|curves| pick(curves, step)).sum();
        (
            step as f64 * step_s,
            scale * sum / curves().count().max(1) as f64,
        )
    };
    (0..len.unwrap_or(0)).map(at).collect()
}

/// Bandwidth jumps from step to step; the mean of a second can be read.
fn smooth(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let in_a_second = points.iter().take_while(|(x, _)| *x < 1.0).count();
    let wide = points.len().div_ceil(POINTS_MAX).max(in_a_second).max(1);
    let group = |group: &[(f64, f64)]| {
        let sum: f64 = group.iter().map(|(_, value)| value).sum();
        (
            group.first().map_or(0.0, |(x, _)| *x),
            sum / group.len().max(1) as f64,
        )
    };
    points.chunks(wide).map(group).collect()
}

/// Every so many points of a long curve, and its last.
fn thin(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(POINTS_MAX).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.into_iter().enumerate();
    kept.filter(|(at, _)| at % every == 0 || *at == last)
        .map(|(_, point)| point)
        .collect()
}

/// Whether one line would press the others to the floor.
fn is_steep(lines: &[Line]) -> bool {
    let tops: Vec<f64> = lines.iter().map(top).filter(|top| *top > 0.0).collect();
    let least = tops.iter().copied().fold(f64::INFINITY, f64::min);
    tops.iter().any(|top| *top > 20.0 * least)
}

fn top(line: &Line) -> f64 {
    line.points.iter().map(|(_, y)| *y).fold(0.0, f64::max)
}

/// A column over a parameter: one plot per series, one line per design, dashed what others report.
fn sweep(
    column: Column,
    label: &str,
    rows: &[Row],
    places: &[Option<(String, f64)>],
) -> Vec<PlotFigure> {
    let standing: Vec<_> = rows
        .iter()
        .zip(places)
        .filter_map(|(row, place)| Some((row, place.as_ref()?)))
        .collect();
    let mut series: Vec<&str> = Vec::new();
    for (_, (name, _)) in &standing {
        if !series.contains(&name.as_str()) {
            series.push(name);
        }
    }
    let of_series = |name: &&str| {
        let mine: Vec<_> = standing
            .iter()
            .filter(|(_, (own, _))| own == name)
            .map(|(row, (_, x))| (*row, *x))
            .collect();
        plot(column, label, name, &mine)
    };
    series.iter().filter_map(of_series).collect()
}

fn plot(column: Column, label: &str, series: &str, rows: &[(&Row, f64)]) -> Option<PlotFigure> {
    let mut lines: Vec<Line> = Vec::new();
    for (row, x) in rows {
        let measured = row.column(column).map(|spread| spread.mean);
        extend(&mut lines, &row.design, false, measured.map(|y| (*x, y)));
        let told = row
            .reported
            .iter()
            .find(|told| told.column == column && !told.is_ratio);
        if let Some(told) = told {
            let name = format!("{}, {}", row.design, told.source.name());
            extend(&mut lines, &name, true, Some((*x, told.value)));
        }
    }
    lines.sort_by_key(|line| line.is_reference);
    let ys = || lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y);
    let (least, most) = (ys().fold(f64::INFINITY, f64::min), ys().fold(0.0, f64::max));
    let xs = || rows.iter().map(|(_, x)| *x);
    let (near, far) = (xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max));
    (lines.len() > 1 || rows.len() > 1).then(|| PlotFigure {
        name: format!("{}-{}", column.name(), slug(series)),
        title: format!("{series}: {}{}", column_words(column), ends(&lines)),
        x_label: label.to_owned(),
        y_label: unit(column).to_owned(),
        x_log: near > 0.0 && far > 8.0 * near,
        y_log: least > 0.0 && most > 20.0 * least,
        lines,
    })
}

/// Who has most and who least where the parameter is largest, as part of a title.
fn ends(lines: &[Line]) -> String {
    let ours = || lines.iter().filter(|line| !line.is_reference);
    let far = ours()
        .flat_map(|line| &line.points)
        .map(|(x, _)| *x)
        .fold(0.0, f64::max);
    let there = ours().filter_map(|line| {
        let (_, y) = line.points.iter().find(|(x, _)| *x >= far)?;
        Some((&line.name, *y))
    });
    let mut there: Vec<(&String, f64)> = there.collect();
    there.sort_by(|a, b| b.1.total_cmp(&a.1));
    match *there.as_slice() {
        [(most, high), .., (least, low)] if high > low => {
            let (far, high, low) = (words::short(far), words::short(high), words::short(low));
            format!("; at {far} most {most} {high}, least {least} {low}")
        }
        _ => String::new(),
    }
}

fn extend(lines: &mut Vec<Line>, name: &str, is_reference: bool, point: Option<(f64, f64)>) {
    let Some(point) = point else { return };
    match lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.points.push(point),
        None => lines.push(Line {
            name: name.to_owned(),
            is_reference,
            points: vec![point],
        }),
    }
}

fn column_words(column: Column) -> &'static str {
    match column {
        Column::Total => "rejections at the end, of the central bucket's",
        Column::Area => "rejections over time, of the central bucket's",
        Column::Over => "most admitted beyond the central bucket",
        Column::Under => "most rejected beyond the central bucket",
        Column::False => "rejected with tokens left",
        Column::Bytes => "bytes sent until quiet",
        Column::Messages => "messages sent until quiet",
        Column::State => "state of a node",
        Column::Local => "state of a node that decisions are made from",
        Column::Busiest => "bytes of the busiest node",
        Column::Quiet => "time until quiet",
    }
}

fn unit(column: Column) -> &'static str {
    match column {
        Column::Total | Column::Area => "%",
        Column::Over | Column::Under | Column::False => "requests",
        Column::Messages => "messages",
        Column::Bytes | Column::State | Column::Local | Column::Busiest => "bytes",
        Column::Quiet => "seconds",
    }
}

/// A text as part of a name in a link.
fn slug(text: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(letter).collect()
}
