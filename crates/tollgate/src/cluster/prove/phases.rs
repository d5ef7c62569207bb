//! What both proofs say at the end: how much of the limit was used in each phase, live and simulated, and what was
//! beyond one bucket.
//!
//! Not here: what happens in a phase, and the rest of what a proof says.

use std::io::Write as _;

use serde_json::{Value, json};

use super::judge::JudgeSummary;
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::table::{cell, write_table};
use crate::report::{Ink, Meaning, TerminalStyle, units};

/// One phase, and what was used of the limit in it, in percent.
pub(in crate::cluster) struct PhaseRow {
    pub(in crate::cluster) name: &'static str,
    pub(in crate::cluster) nanos: u64,
    pub(in crate::cluster) live: f64,
    /// By each seed.
    pub(in crate::cluster) simulated: Vec<f64>,
}

/// What a proof found, in words and for programs.
pub(in crate::cluster) trait Proof {
    fn found(&self) -> &JudgeSummary;
    fn human(&self, look: TerminalStyle) -> String;
    fn json(&self) -> Value;

    /// Prints it; a failure where something was beyond the limit.
    fn conclude(&self, format: Format) -> Result<(), Failure> {
        let text = match format {
            Format::Human => self.human(TerminalStyle::of_stdout()),
            Format::Json => format!("{}\n", self.json()),
        };
        let mut out = std::io::stdout();
        out.write_all(text.as_bytes()).map_err(Failure::output)?;
        match self.found().violations {
            0 => Ok(()),
            count => Err(Failure::found(format!(
                "error: {count} admissions were beyond the limit"
            ))),
        }
    }
}

/// The phases as a table; where there are several seeds, with the least and the most of them.
pub(in crate::cluster) fn table(rows: &[&PhaseRow], look: TerminalStyle, text: &mut String) {
    let has_seeds = rows.iter().any(|row| row.simulated.len() > 1);
    let shown = if has_seeds { 6 } else { 4 };
    let header = [
        "phase",
        ">seconds",
        ">used live",
        ">simulated",
        ">from",
        ">to",
    ];
    let rows = rows.iter().map(|row| {
        let figures = [row.live, row.mean(), row.least(), row.most()];
        let mut cells = vec![cell(row.name), cell(format!("{:.1}", row.seconds()))];
        cells.extend(figures.map(|figure| cell(format!("{figure:.2} %"))));
        cells.truncate(shown);
        cells
    });
    write_table(&header[..shown], rows, look, text);
}

/// How many admissions were beyond one bucket.
pub(in crate::cluster) fn verdict(found: &JudgeSummary, look: TerminalStyle) -> String {
    let verdict = format!("{} beyond one bucket", units::exact(found.violations));
    let meaning = match found.violations {
        0 => Meaning::Allowed,
        _ => Meaning::Denied,
    };
    look.paint(Ink::Meaning(meaning), &verdict)
}

pub(in crate::cluster) fn mean(figures: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = figures.fold((0.0, 0_u32), |(sum, count), figure| {
        (sum + figure, count + 1)
    });
    sum / f64::from(count.max(1))
}

impl PhaseRow {
    #[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
    fn seconds(&self) -> f64 {
        self.nanos as f64 / 1e9
    }

    pub(super) fn mean(&self) -> f64 {
        mean(self.simulated.iter().copied())
    }

    fn least(&self) -> f64 {
        self.simulated.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.simulated.iter().copied().fold(0.0, f64::max)
    }

    pub(in crate::cluster) fn json(&self) -> Value {
        let mut row = json!({
            "name": self.name,
            "seconds": self.seconds(),
            "live_percent": self.live,
            "simulated_percent": self.mean(),
        });
        if self.simulated.len() > 1 {
            row["simulated_least"] = json!(self.least());
            row["simulated_most"] = json!(self.most());
        }
        row
    }
}
