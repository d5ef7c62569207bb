//! Compares Tollgate's figures with the promised bars, and reports each result.

use serde::Serialize;

use crate::memory::KeyKind;
use crate::report::BenchReport;
use crate::subjects::{GOVERNOR, OURS, REFERENCE};
use crate::threads::CLEAN_MIN;

/// How a bar ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BarVerdict {
    /// The figure meets the bar.
    Met,
    /// The figure misses the bar.
    Missed,
    /// This run did not measure the figure.
    NotMeasured,
    /// Other processes used the cores, so the figure is meaningless.
    TooBusy,
}

#[derive(Debug, Serialize)]
pub(crate) struct BenchBar {
    pub(crate) what: &'static str,
    /// In words.
    pub(crate) target: String,
    pub(crate) measured: Option<f64>,
    pub(crate) verdict: BarVerdict,
}

/// Judges every promise by the figures of a run.
pub(crate) fn judge(report: &BenchReport) -> Vec<BenchBar> {
    let governor = |row| time_ratio(report, row, GOVERNOR);
    let memory = |kinds: &[KeyKind]| bytes_per_key(report, kinds);
    let one = [KeyKind::Number, KeyKind::Text21, KeyKind::Text64];
    vec![
        at_most("hot key, time over governor", 0.5, governor("hot")),
        at_most(
            "hot key, instructions over governor",
            0.5,
            instruction_ratio(report),
        ),
        at_most("1 M u64 keys, time over governor", 0.5, governor("u64-1m")),
        at_most(
            "10 M u64 keys, time over governor",
            0.5,
            governor("u64-10m"),
        ),
        at_most(
            "1 M strings of 21 bytes, time over governor",
            0.5,
            governor("text-1m"),
        ),
        at_most(
            "1 M u64 keys by 32, time over hashbrown",
            1.5,
            time_ratio(report, "batch-1m", REFERENCE),
        ),
        at_most(
            "bytes per key, one limit, worst key kind",
            32.0,
            memory(&one),
        ),
        at_most("bytes per key, two limits", 64.0, memory(&[KeyKind::Two])),
        scaling(
            "2 threads over one, distinct keys",
            1.8,
            report,
            "threads-distinct",
        ),
        scaling(
            "2 threads over one, one hot key",
            0.6,
            report,
            "threads-hot",
        ),
    ]
}

pub(crate) fn at_most(what: &'static str, bound: f64, measured: Option<f64>) -> BenchBar {
    let verdict = verdict(measured.map(|figure| figure <= bound));
    BenchBar {
        what,
        target: format!("<= {bound}"),
        measured,
        verdict,
    }
}

pub(crate) fn at_least(what: &'static str, bound: f64, measured: Option<f64>) -> BenchBar {
    let verdict = verdict(measured.map(|figure| figure >= bound));
    BenchBar {
        what,
        target: format!(">= {bound}"),
        measured,
        verdict,
    }
}

fn verdict(kept: Option<bool>) -> BarVerdict {
    match kept {
        Some(true) => BarVerdict::Met,
        Some(false) => BarVerdict::Missed,
        None => BarVerdict::NotMeasured,
    }
}

fn time_ratio(report: &BenchReport, row: &str, other: &str) -> Option<f64> {
    let row = report.rows.iter().find(|report| report.row == row)?;
    Some(row.cpu_ns(OURS)? / row.cpu_ns(other)?)
}

fn instruction_ratio(report: &BenchReport) -> Option<f64> {
    let hot = |name: &str| {
        report
            .instructions
            .iter()
            .find(|line| line.subject == name)?
            .hot
    };
    Some(hot(OURS)? / hot(GOVERNOR)?)
}

/// The worst of the kinds that were measured.
fn bytes_per_key(report: &BenchReport, kinds: &[KeyKind]) -> Option<f64> {
    let ours = report.memory.iter().filter(|line| line.subject == OURS);
    let figures = ours
        .filter(|line| kinds.contains(&line.kind))
        .map(|line| line.bytes_per_key);
    figures.max_by(f64::total_cmp)
}

fn scaling(what: &'static str, bound: f64, report: &BenchReport, row: &str) -> BenchBar {
    let row = report.threads.iter().find(|report| report.row == row);
    let line = row.and_then(|row| row.line(OURS));
    let measured = line
        .and_then(|line| line.scaling)
        .map(|scaling| scaling.median);
    let bar = at_least(what, bound, measured);
    match line {
        Some(line) if measured.is_some() && line.clean < CLEAN_MIN => BenchBar {
            verdict: BarVerdict::TooBusy,
            ..bar
        },
        _ => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_our_figures_judges_nothing() {
        let bars = judge(&BenchReport::default());
        assert!(
            bars.iter()
                .all(|bar| bar.verdict == BarVerdict::NotMeasured)
        );
    }

    #[test]
    fn a_bar_is_met_at_its_bound() {
        assert_eq!(at_most("", 0.5, Some(0.5)).verdict, BarVerdict::Met);
        assert_eq!(at_most("", 0.5, Some(0.51)).verdict, BarVerdict::Missed);
        assert_eq!(at_least("", 1.8, Some(1.79)).verdict, BarVerdict::Missed);
    }
}
