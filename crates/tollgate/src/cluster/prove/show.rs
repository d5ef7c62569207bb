//! What came of it, for people and for programs.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::judge::Found;
use super::story::{BURST, NODES, RATE};
use crate::cluster::options::ClusterFormat;
use crate::report::table::{Align, Cell, Table, cell};
use crate::report::{Ink, Look, Meaning, units};

/// What came of it.
pub(super) struct Report {
    pub(super) rows: Vec<Row>,
    pub(super) found: Found,
    /// Tokens asked for.
    pub(super) offered: u64,
    /// How long it took until all of the limit could be used again.
    pub(super) recovered: Duration,
    /// Why a proxy stood for the network, where one did.
    pub(super) obstacle: Option<String>,
}

/// One phase, and what was used of the limit in it, in percent.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) nanos: u64,
    pub(super) live: f64,
    pub(super) simulated: f64,
}

impl Report {
    pub(super) fn text(&self, format: ClusterFormat) -> String {
        match format {
            ClusterFormat::Human => self.human(Look::of_stdout()),
            ClusterFormat::Json => self.json(),
        }
    }

    fn human(&self, look: Look) -> String {
        let cut = match &self.obstacle {
            None => "by links of network namespaces".to_owned(),
            Some(why) => format!("by a proxy, without network namespaces: {why}"),
        };
        let mut text = format!(
            "{NODES} processes share {}/s in bursts of {}; twice as much is asked; cut {cut}\n\n",
            units::exact(RATE),
            units::exact(BURST)
        );
        let (left, right) = (Align::Left, Align::Right);
        let header = [
            ("phase", left),
            ("seconds", right),
            ("used live", right),
            ("simulated", right),
        ];
        let mut rows: Vec<Vec<Cell>> = self.rows.iter().map(Row::cells).collect();
        rows.push(self.whole().cells());
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
            look.paint(Ink::Meaning(ink), &verdict),
            self.recovered.as_secs_f64()
        );
        text
    }

    fn json(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(Row::json).collect();
        let found = &self.found;
        let line = json!({
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
        });
        format!("{line}\n")
    }

    /// All phases together.
    #[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
    fn whole(&self) -> Row {
        let nanos: u64 = self.rows.iter().map(|row| row.nanos).sum();
        let mean = |of: fn(&Row) -> f64| {
            let sum: f64 = self.rows.iter().map(|row| of(row) * row.nanos as f64).sum();
            sum / nanos.max(1) as f64
        };
        Row {
            name: "all",
            nanos,
            live: mean(|row| row.live),
            simulated: mean(|row| row.simulated),
        }
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
            cell(format!("{:.2} %", self.simulated)),
        ]
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "name": self.name,
            "seconds": self.seconds(),
            "live_percent": self.live,
            "simulated_percent": self.simulated,
        })
    }
}
