//! Rows about split buckets: their figures, and their columns.
//!
//! Not here: the rows of other experiments, and plots.

use serde_json::{Value, json};
use tollgate_lab::{SplitRow, digits};

use super::designs::{DesignColumn, ReportRow, bad, column, dim, number, plain};
use crate::report::Ink;

impl ReportRow for SplitRow {
    const NAMES: [&'static str; 2] = ["figure", "series"];
    const HAS_POINTS: bool = true;
    const TITLE: &'static str = "Every point";
    const MEANING: &'static str = "Times are milliseconds. Ours is the median over the seeds, with the least and the most of them. Wait: messages that \
        found no token. Control: frames between nodes per message. Violations: messages that left although the one bucket that was cut had no token for \
        them. Paper: what is printed there. Reference: an independent simulator.";
    const COLUMNS: &'static [DesignColumn<Self>] = &[
        column("x", 0, |row| plain(digits(row.x))),
        column("compared", 0, |row| dim(row.more.what.to_owned())),
        column("ours", 0, |row| Some((digits(row.more.ours?), Ink::Bold))),
        column("paper", 0, |row| plain(digits(row.more.paper?))),
        column("reference", 0, |row| dim(digits(row.more.reference?))),
        column("least", 8, |row| {
            plain(digits(row.more.ours_min.filter(|_| row.more.seeds > 1)?))
        }),
        column("most", 8, |row| {
            plain(digits(row.more.ours_max.filter(|_| row.more.seeds > 1)?))
        }),
        column("p50", 7, |row| plain(digits(row.p50_ms?))),
        column("p95", 6, |row| plain(digits(row.p95_ms?))),
        column("p99", 3, |row| plain(digits(row.p99_ms?))),
        column("largest", 9, |row| plain(digits(row.more.max_ms?))),
        column("wait %", 4, |row| plain(digits(100.0 * row.p_wait?))),
        column("k", 1, |row| plain(row.k?.to_string())),
        column("control", 5, |row| {
            plain(digits(row.control_per_message.filter(|own| *own > 0.0)?))
        }),
        column("violations", 2, |row| Some(bad(row.violations?, false))),
    ];

    fn names(&self) -> [&str; 2] {
        [&self.figure, &self.series]
    }

    fn json(&self) -> Value {
        let more = &self.more;
        json!({
            "figure": self.figure,
            "series": self.series,
            "x": self.x,
            "p50_ms": number(self.p50_ms),
            "p95_ms": number(self.p95_ms),
            "p99_ms": number(self.p99_ms),
            "p_wait": number(self.p_wait),
            "k": self.k,
            "control_per_message": number(self.control_per_message),
            "violations": self.violations,
            "worst_p99_ms": number(more.worst_p99_ms),
            "max_ms": number(more.max_ms),
            "compared": more.what,
            "ours": number(more.ours),
            "ours_min": number(more.ours_min),
            "ours_max": number(more.ours_max),
            "paper": number(more.paper),
            "reference": number(more.reference),
            "seeds": more.seeds,
        })
    }
}

/// Explains the columns of published figures.
pub(super) const LEGEND: &str =
    "paper: what is printed there · reference: an independent simulator";
