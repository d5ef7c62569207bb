//! What came of it, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::prove::judge::JudgeSummary;
use super::super::prove::phases::{PhaseRow, Proof, table, verdict};
use super::lessee::LesseeCounts;
use super::{CLIENTS, NODES};
use crate::report::{TerminalStyle, units};

pub(super) struct LentReport {
    pub(super) rate: u64,
    pub(super) rows: Vec<PhaseRow>,
    pub(super) found: JudgeSummary,
    /// What clients counted while nothing happened.
    pub(super) calm: LesseeCounts,
    /// Messages for each decision then, simulated.
    pub(super) messages: f64,
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
impl LentReport {
    fn per_decision(&self, count: u64) -> f64 {
        count as f64 / (self.calm.decided as f64).max(1.0)
    }
}

impl Proof for LentReport {
    fn found(&self) -> &JudgeSummary {
        &self.found
    }

    fn human(&self, look: TerminalStyle) -> String {
        let mut text = format!(
            "{NODES} nodes lend {}/s, in bursts of as many, to {CLIENTS} clients that ask for twice as much\n\n",
            units::exact(self.rate)
        );
        let rows: Vec<&PhaseRow> = self.rows.iter().collect();
        table(&rows, look, &mut text);
        let found = &self.found;
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "\n{} admissions: {}\ncalm: {:.4} messages a decision, {:.4} simulated; {:.2} % waited for a node, {} found nobody",
            units::exact(found.admissions),
            verdict(found, look),
            self.per_decision(self.calm.messages),
            self.messages,
            100.0 * self.per_decision(self.calm.waited),
            units::exact(self.calm.failed),
        );
        text
    }

    fn json(&self) -> Value {
        let rows: Vec<_> = self.rows.iter().map(PhaseRow::json).collect();
        let found = &self.found;
        json!({
            "rate": self.rate,
            "nodes": NODES,
            "clients": CLIENTS,
            "phases": rows,
            "messages": self.per_decision(self.calm.messages),
            "messages_simulated": self.messages,
            "waited": self.per_decision(self.calm.waited),
            "failed": self.calm.failed,
            "admissions": found.admissions,
            "tokens": found.tokens,
            "violations": found.violations,
            "worst": found.worst,
        })
    }
}
