//! The figures of a run, ready to be printed or written as JSON; nothing is measured here.

use serde::Serialize;

use crate::bars::BenchBar;
use crate::instructions::Instructions;
use crate::measure::Cost;
use crate::memory::Memory;
use crate::rows::BenchRow;
use crate::stopwatch::Spread;
use crate::subjects::{GOVERNOR, REFERENCE, SubjectEntry, SubjectRole};
use crate::threads::Scaling;

/// Everything one run found out.
#[derive(Debug, Default, Serialize)]
pub(crate) struct BenchReport {
    pub(crate) clocks: Vec<ClockPrice>,
    pub(crate) rows: Vec<RowReport>,
    pub(crate) threads: Vec<ThreadsReport>,
    pub(crate) instructions: Vec<Instructions>,
    pub(crate) memory: Vec<Memory>,
    /// What was promised, and whether it was kept.
    pub(crate) bars: Vec<BenchBar>,
}

/// What one read of a clock costs.
#[derive(Debug, Serialize)]
pub(crate) struct ClockPrice {
    pub(crate) name: &'static str,
    /// CPU nanoseconds per call.
    pub(crate) cpu_ns: Spread,
}

/// One row of one thread.
#[derive(Debug, Serialize)]
pub(crate) struct RowReport {
    pub(crate) row: String,
    pub(crate) title: &'static str,
    /// One line per entry, also for those that take no part.
    pub(crate) lines: Vec<RowLine>,
}

/// One entry in a row of one thread.
#[derive(Debug, Serialize)]
pub(crate) struct RowLine {
    pub(crate) subject: &'static str,
    /// What it decides.
    pub(crate) decides: &'static str,
    /// CPU nanoseconds per decision; nothing if it took no part.
    pub(crate) cpu_ns: Option<Spread>,
    /// Wall nanoseconds per decision.
    pub(crate) wall_ns: Option<Spread>,
    /// CPU time over that of governor in the same row.
    pub(crate) to_governor: Option<f64>,
    /// CPU time over that of the bare map in the same row.
    pub(crate) to_hashbrown: Option<f64>,
}

impl RowReport {
    /// Arranges costs in the order of the entries.
    pub(crate) fn new(row: BenchRow, entries: &[SubjectEntry], costs: &[Cost]) -> Self {
        let median = |name: &str| {
            costs
                .iter()
                .find(|cost| cost.name == name)
                .map(|cost| cost.cpu_ns.median)
        };
        let line = |entry: &SubjectEntry| {
            let cost = costs.iter().find(|cost| cost.name == entry.name);
            let ratio = |name| Some(cost?.cpu_ns.median / median(name)?);
            RowLine {
                subject: entry.name,
                decides: entry.decides,
                cpu_ns: cost.map(|cost| cost.cpu_ns),
                wall_ns: cost.map(|cost| cost.wall_ns),
                to_governor: ratio(GOVERNOR),
                to_hashbrown: ratio(REFERENCE),
            }
        };
        Self {
            row: row.name(),
            title: row.title(),
            lines: entries.iter().map(line).collect(),
        }
    }

    /// Finds the line of an entry that took part.
    pub(crate) fn cpu_ns(&self, subject: &str) -> Option<f64> {
        let line = self.lines.iter().find(|line| line.subject == subject)?;
        Some(line.cpu_ns?.median)
    }
}

/// One row of two threads.
#[derive(Debug, Serialize)]
pub(crate) struct ThreadsReport {
    pub(crate) row: String,
    pub(crate) title: &'static str,
    /// One line per entry, also for those that take no part.
    pub(crate) lines: Vec<ThreadsLine>,
}

/// One entry in a row of two threads.
#[derive(Debug, Serialize)]
pub(crate) struct ThreadsLine {
    pub(crate) subject: &'static str,
    /// Wall nanoseconds per decision, one thread.
    pub(crate) one_ns: Option<Spread>,
    /// Wall nanoseconds per decision, two threads together.
    pub(crate) two_ns: Option<Spread>,
    /// Throughput of two threads over one, by wall time.
    pub(crate) scaling: Option<Spread>,
    /// Rounds in which every thread had a core to itself.
    pub(crate) clean: usize,
    /// Rounds in all.
    pub(crate) rounds: usize,
}

impl ThreadsReport {
    /// Arranges scalings in the order of the entries; the floor and the reference stay out.
    pub(crate) fn new(row: BenchRow, entries: &[SubjectEntry], scalings: &[Scaling]) -> Self {
        let line = |entry: &SubjectEntry| {
            let scaling = scalings.iter().find(|scaling| scaling.name == entry.name);
            ThreadsLine {
                subject: entry.name,
                one_ns: scaling.map(|scaling| scaling.one_ns),
                two_ns: scaling.map(|scaling| scaling.two_ns),
                scaling: scaling.map(|scaling| scaling.ratio),
                clean: scaling.map_or(0, |scaling| scaling.clean),
                rounds: scaling.map_or(0, |scaling| scaling.rounds),
            }
        };
        let shown = entries
            .iter()
            .filter(|entry| entry.role != SubjectRole::Reference);
        Self {
            row: row.name(),
            title: row.title(),
            lines: shown.map(line).collect(),
        }
    }

    /// Finds the line of an entry.
    pub(crate) fn line(&self, subject: &str) -> Option<&ThreadsLine> {
        self.lines.iter().find(|line| line.subject == subject)
    }
}
