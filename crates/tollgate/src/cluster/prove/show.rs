//! What came of it, for people and for programs.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::judge::JudgeSummary;
use super::phases::{PhaseRow, Proof, table, verdict};
use super::story::{BURST, NODES, RATE};
use crate::report::{TerminalStyle, units};

pub(super) struct ProveReport {
    pub(super) rows: Vec<PhaseRow>,
    pub(super) found: JudgeSummary,
    /// Tokens asked for.
    pub(super) offered: u64,
    /// How long it took until all of the limit could be used again.
    pub(super) recovered: Duration,
    /// Why a proxy stood for the network, where one did.
    pub(super) obstacle: Option<String>,
}

impl Proof for ProveReport {
    fn found(&self) -> &JudgeSummary {
        &self.found
    }

    fn human(&self, look: TerminalStyle) -> String {
        let cut = match &self.obstacle {
            None => "by links of network namespaces".to_owned(),
            Some(why) => format!("by a proxy, without network namespaces: {why}"),
        };
        let mut text = format!(
            "{NODES} processes share {}/s in bursts of {}; twice as much is asked; cut {cut}\n\n",
            units::exact(RATE),
            units::exact(BURST)
        );
        let whole = self.whole();
        let rows: Vec<&PhaseRow> = self.rows.iter().chain([&whole]).collect();
        table(&rows, look, &mut text);
        let found = &self.found;
        let worst = match found.violations {
            0 => String::new(),
            _ => format!(", worst by {} tokens", units::exact(found.worst)),
        };
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "\n{} admissions of {} tokens, {} asked for: {}{worst}\nall of the limit may be used again after {:.1} s",
            units::exact(found.admissions),
            units::exact(found.tokens),
            units::exact(self.offered),
            verdict(found, look),
            self.recovered.as_secs_f64()
        );
        text
    }

    fn json(&self) -> Value {
        let rows: Vec<_> = self.rows.iter().map(PhaseRow::json).collect();
        let found = &self.found;
        json!({
            "network": if self.obstacle.is_none() { "namespaces" } else { "proxy" },
            "obstacle": self.obstacle,
            "nodes": NODES,
            "rate": RATE,
            "burst": BURST,
            "phases": rows,
            "all": self.whole().json(),
            "admissions": found.admissions,
            "tokens": found.tokens,
            "offered": self.offered,
            "violations": found.violations,
            "worst": found.worst,
            "recovered_s": self.recovered.as_secs_f64(),
        })
    }
}

impl ProveReport {
    #[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
    fn whole(&self) -> PhaseRow {
        let nanos: u64 = self.rows.iter().map(|row| row.nanos).sum();
        let mean = |of: fn(&PhaseRow) -> f64| {
            let sum: f64 = self.rows.iter().map(|row| of(row) * row.nanos as f64).sum();
            sum / nanos.max(1) as f64
        };
        PhaseRow {
            name: "all",
            nanos,
            live: mean(|row| row.live),
            simulated: vec![mean(PhaseRow::mean)],
        }
    }
}
