//! One point of one line of one figure, as a row to print.
//!
//! Not here: how it is printed.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use super::measure::Figures;

/// One point of one line of one figure, over all seeds. What does not apply is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitRow {
    /// The figure or table.
    pub figure: String,
    /// The line.
    pub series: String,
    /// Where on the line.
    pub x: f64,
    /// The median time of a message, in milliseconds: the median over the seeds, as all that follows.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
    /// The part of the messages that waited for tokens.
    pub p_wait: Option<f64>,
    /// Brokers that take part.
    pub k: Option<u32>,
    /// Frames between nodes, per message.
    pub control_per_message: Option<f64>,
    /// Messages that left although the undivided bucket had no token for them, of all seeds together.
    pub violations: Option<u64>,
    /// More about the same runs.
    pub more: SplitMore,
}

/// What else is known of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitMore {
    /// What is compared with what others report.
    pub what: &'static str,
    /// Ours.
    pub ours: Option<f64>,
    /// The least of all seeds.
    pub ours_min: Option<f64>,
    /// The greatest.
    pub ours_max: Option<f64>,
    /// What the paper prints, if it is a figure.
    pub paper: Option<f64>,
    /// What an independent simulator found.
    pub reference: Option<f64>,
    /// The 99th percentile of the slowest broker, in milliseconds.
    pub worst_p99_ms: Option<f64>,
    /// The longest time, in milliseconds.
    pub max_ms: Option<f64>,
    /// How many runs.
    pub seeds: u64,
}

/// Which figure is compared.
pub(super) type Pick = fn(&Figures) -> f64;

/// A figure by which runs are compared, and what it is called.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) what: &'static str,
    pub(super) pick: Pick,
}

impl SplitRow {
    /// A row that others can be compared with by a figure that is no time of a message.
    pub(super) fn plain(
        figure: &str,
        series: &str,
        x: f64,
        what: &'static str,
        ours: &[f64],
    ) -> Self {
        Self {
            figure: figure.to_owned(),
            series: series.to_owned(),
            x,
            more: SplitMore {
                what,
                ours: median(ours.to_vec()),
                ours_min: ours.iter().copied().reduce(f64::min),
                ours_max: ours.iter().copied().reduce(f64::max),
                seeds: ours.len() as u64,
                ..SplitMore::default()
            },
            ..Self::default()
        }
    }

    /// The row of some runs, compared by one of their figures.
    pub(super) fn of(
        figure: &str,
        series: &str,
        x: f64,
        measure: Measure,
        runs: &[Figures],
    ) -> Self {
        let all = |pick: Pick| -> Vec<f64> { runs.iter().map(pick).collect() };
        let middle = |pick: Pick| median(all(pick));
        let Measure { what, pick } = measure;
        let row = Self::plain(figure, series, x, what, &all(pick));
        Self {
            p50_ms: middle(|run| run.p50),
            p95_ms: middle(|run| run.p95),
            p99_ms: middle(|run| run.p99),
            p_wait: middle(|run| run.p_wait),
            k: runs.iter().map(|run| run.k).max(),
            control_per_message: middle(|run| run.control),
            violations: Some(runs.iter().map(|run| run.violations).sum()),
            more: SplitMore {
                worst_p99_ms: middle(|run| run.worst),
                max_ms: runs.iter().map(|run| run.max).reduce(f64::max),
                ..row.more
            },
            ..row
        }
    }

    /// With what others report.
    #[must_use]
    pub(super) fn told(mut self, paper: Option<f64>, reference: Option<f64>) -> Self {
        self.more.paper = paper;
        self.more.reference = reference;
        self
    }

    /// Ours over the reference's.
    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.more.ours? / self.more.reference?)
    }
}

/// The middle of some values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let high = values.get(values.len() / 2).copied()?;
    let low = values.get((values.len() - 1) / 2).copied()?;
    Some(if high.is_infinite() {
        low
    } else {
        f64::midpoint(low, high)
    })
}
