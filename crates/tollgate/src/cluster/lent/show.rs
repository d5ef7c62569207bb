//! What came of it, for people and for programs.

use std::fmt::Write as _;

use serde_json::json;

use super::super::prove::judge::Found;
use super::lessee::Counts;
use super::{CLIENTS, NODES};
use crate::cluster::options::ClusterFormat;
use crate::report::table::{Align, Cell, Table, cell};
use crate::report::{Ink, Look, Meaning, units};

/// What came of it.
pub(super) struct Report {
    pub(super) rate: u64,
    pub(super) rows: Vec<Row>,
    pub(super) found: Found,
    /// What clients counted while nothing happened.
    pub(super) calm: Counts,
    /// Messages for each decision then, simulated.
    pub(super) messages: f64,
}

/// One phase, and what was used of the limit in it, in percent.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) nanos: u64,
    pub(super) live: f64,
    /// By each seed.
    pub(super) simulated: Vec<f64>,
}

/// The mean of some figures.
pub(super) fn mean(figures: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = figures.fold((0.0, 0_u32), |(sum, count), figure| {
        (sum + figure, count + 1)
    });
    sum / f64::from(count.max(1))
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
impl Report {
    pub(super) fn text(&self, format: ClusterFormat) -> String {
        match format {
            ClusterFormat::Human => self.human(Look::of_stdout()),
            ClusterFormat::Json => self.json(),
        }
    }

    fn per_decision(&self, count: u64) -> f64 {
        count as f64 / (self.calm.decided as f64).max(1.0)
    }

    fn human(&self, look: Look) -> String {
        let mut text = format!(
            "{NODES} nodes lend {}/s, in bursts of as many, to {CLIENTS} clients that ask for twice as much\n\n",
            units::exact(self.rate)
        );
        let (left, right) = (Align::Left, Align::Right);
        let header = [
            ("phase", left),
            ("seconds", right),
            ("used live", right),
            ("simulated", right),
            ("from", right),
            ("to", right),
        ];
        let rows: Vec<Vec<Cell>> = self.rows.iter().map(Row::cells).collect();
        let table = Table {
            header: &header,
            rows,
        };
        table.write(look, &mut text);
        let found = &self.found;
        let verdict = format!("{} beyond one bucket", units::exact(found.violations));
        let ink = match found.violations {
            0 => Meaning::Allowed,
            _ => Meaning::Denied,
        };
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "\n{} admissions: {}\ncalm: {:.4} messages a decision, {:.4} simulated; {:.2} % waited for a node, {} found nobody",
            units::exact(found.admissions),
            look.paint(Ink::Meaning(ink), &verdict),
            self.per_decision(self.calm.messages),
            self.messages,
            100.0 * self.per_decision(self.calm.waited),
            units::exact(self.calm.failed),
        );
        text
    }

    fn json(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(Row::json).collect();
        let found = &self.found;
        let line = json!({
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
        });
        format!("{line}\n")
    }
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
impl Row {
    fn seconds(&self) -> f64 {
        self.nanos as f64 / 1e9
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            cell(self.name),
            cell(format!("{:.1}", self.seconds())),
            cell(format!("{:.2} %", self.live)),
            cell(format!("{:.2} %", self.mean())),
            cell(format!("{:.2} %", self.least())),
            cell(format!("{:.2} %", self.most())),
        ]
    }

    fn mean(&self) -> f64 {
        mean(self.simulated.iter().copied())
    }

    fn least(&self) -> f64 {
        self.simulated.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.simulated.iter().copied().fold(0.0, f64::max)
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "name": self.name,
            "seconds": self.seconds(),
            "live_percent": self.live,
            "simulated_percent": self.mean(),
            "simulated_least": self.least(),
            "simulated_most": self.most(),
        })
    }
}
