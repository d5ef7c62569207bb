//! The experiments about cut buckets, by name.
//!
//! Not here: topics, brokers, and how reports are shown.

mod adaptor;
mod borrow;
mod eq1;
mod fig11;
mod fig6;
mod fig7;
mod fig8;
mod fig9;
mod profiling;
mod prop1;
mod table1;

pub(crate) use adaptor::run as adaptor;
pub(crate) use borrow::run as borrow;
pub(crate) use eq1::run as eq1;
pub(crate) use fig6::{run_a as fig6a, run_b as fig6b};
pub(crate) use fig7::run as fig7;
pub(crate) use fig8::run as fig8;
pub(crate) use fig9::run as fig9;
pub(crate) use fig11::run as fig11;
pub(crate) use profiling::run as profiling;
pub(crate) use prop1::run as prop1;
pub(crate) use table1::run as table1;

use super::row::{Measure, SplitRow};
use super::topic::TopicBucket;
use super::traffic::{Burst, arrivals};
use crate::catalogue::RunRequest;
use crate::experiment::{all, bar, parameters};
use crate::report::{Line, PlotFigure, Report};
use tollgate_split::plan::profile::{BucketTarget, profile};

/// The paper, as it is cited.
const PAPER: &str = "C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill, Impact of Distributed Rate Limiting on Load Distribution in a \
                     Latency-sensitive Messaging Service";

/// Every cell with every seed; the runs of each cell together.
fn cells<T: Sync, R: Send>(
    cells: &[T],
    seeds: u64,
    ask: &RunRequest<'_>,
    run: impl Fn(&T, u64) -> R + Sync,
) -> Vec<Vec<R>> {
    crate::experiment::cells(cells, |_| seeds, ask, run)
}

/// The bucket that a trace needs, with slack in percent of its burst.
fn profiled(bursts: &[Burst], slack_percent: u32) -> TopicBucket {
    let found = profile(&arrivals(bursts), BucketTarget::default());
    found.map_or(TopicBucket::per_second(1, 1), |found| TopicBucket {
        rate_milli: found.rate_milli,
        burst: found.with_slack(slack_percent * 10),
    })
}

/// What nothing may break: every departure stream conforms to the undivided bucket.
fn finish(mut report: Report) -> Report {
    let broken: Vec<String> = report
        .split
        .iter()
        .filter(|row| row.violations.unwrap_or(0) > 0)
        .map(|row| format!("{} {}", row.figure, row.series))
        .collect();
    if !broken.is_empty() {
        report.failure = Some(format!(
            "more left than one bucket lets go: {}",
            broken.join(", ")
        ));
    }
    report.closing = format!("{PAPER}.");
    report
}

fn find<'a>(rows: &'a [SplitRow], figure: &str, series: &str, x: f64) -> Option<&'a SplitRow> {
    rows.iter()
        .find(|row| row.figure == figure && row.series == series && row.x.total_cmp(&x).is_eq())
}

struct Drawn<'a> {
    figure: &'a str,
    title: &'a str,
    x: &'a str,
    y: &'a str,
    y_log: bool,
}

impl Drawn<'_> {
    /// All lines of a figure, those of the reference and of the paper dashed beside them.
    fn draw(&self, rows: &[SplitRow], pick: fn(&SplitRow) -> Option<f64>) -> PlotFigure {
        let own: Vec<&SplitRow> = rows
            .iter()
            .filter(|row| row.figure == self.figure)
            .collect();
        let mut names: Vec<&str> = Vec::new();
        for row in &own {
            if !names.contains(&&*row.series) {
                names.push(&row.series);
            }
        }
        let line = |name: String,
                    series: &str,
                    is_reference,
                    pick: &dyn Fn(&SplitRow) -> Option<f64>| Line {
            name,
            is_reference,
            points: own
                .iter()
                .filter(|row| row.series == series)
                .filter_map(|row| Some((row.x, pick(row)?)))
                .filter(|(_, y)| !self.y_log || *y > 0.0)
                .collect(),
        };
        let mut lines = Vec::new();
        for series in names {
            lines.push(line(series.to_owned(), series, false, &pick));
            lines.push(line(format!("{series}, reference"), series, true, &|row| {
                row.more.reference
            }));
            lines.push(line(format!("{series}, paper"), series, true, &|row| {
                row.more.paper
            }));
        }
        lines.retain(|line| !line.points.is_empty());
        PlotFigure {
            name: self.figure.replace([' ', '.'], "-"),
            title: self.title.to_owned(),
            x_label: self.x.to_owned(),
            y_label: self.y.to_owned(),
            x_log: false,
            y_log: self.y_log,
            lines,
        }
    }
}

/// Ours, as it is compared.
fn ours(row: &SplitRow) -> Option<f64> {
    row.more.ours
}

/// A figure of a row with two digits after the point; a dash where there is none.
fn two(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

/// Runs are compared by their latency of 99 messages in a hundred.
const P99: Measure = Measure {
    what: "p99 ms",
    pick: |run| run.p99,
};
/// Runs are compared by that of the broker where it is longest.
const WORST: Measure = Measure {
    what: "worst p99",
    pick: |run| run.worst,
};
const MEAN_MS: Measure = Measure {
    what: "mean ms",
    pick: |run| run.mean,
};
