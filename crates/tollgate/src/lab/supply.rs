//! Rows about passing supply: their figures, and their columns.
//!
//! Not here: the rows of other experiments, and plots.

use serde_json::{Value, json};
use tollgate_lab::{SupplyRow, digits};

use super::designs::{DesignColumn, ReportRow, bad, column, dim, float, number, plain};
use super::human::count;

impl ReportRow for SupplyRow {
    const NAMES: [&'static str; 2] = ["scenario", "design"];
    const TITLE: &'static str = "What each design did";
    const MEANING: &'static str = "Lost: what one limiter that sees everything admits and the nodes together did not. Over: \
        admitted while one bucket of the whole limit had no token. Violations: looks at which the nodes together could use more than \
        the limit, or their books did not balance. Messages: per node and second; where rounds are counted, per node until even. \
        Reported: an independent simulator of the same designs.";
    const COLUMNS: &'static [DesignColumn<Self>] = &[
        column("nodes", 0, |row| plain(row.nodes.to_string())),
        column("rounds", 0, |row| plain(digits(row.rounds?))),
        column("lost %", 0, |row| plain(percent(row.lost_percent?))),
        column("reported", 1, |row| {
            dim(format!("{}ʳ", digits(row.reference?)))
        }),
        column("lost s", 5, |row| plain(percent(row.more.lost_s?))),
        column("over", 0, |row| Some(bad(row.over?, row.may_break))),
        column("worst", 7, |row| plain(row.more.worst?.to_string())),
        column("violations", 0, |row| {
            Some(bad(row.violations?, row.may_break))
        }),
        column("checks", 3, |row| plain(count(float(row.checks?)))),
        column("most/limit", 4, |row| plain(most(row.more.most?))),
        column("messages", 2, |row| plain(digits(row.messages_per_node_s?))),
        column("recovered", 2, |row| {
            plain(format!("{} of {}", row.recovered?, row.seeds))
        }),
        column("least back", 6, |row| {
            row.recovered?;
            plain(most(row.more.back?))
        }),
    ];

    fn names(&self) -> [&str; 2] {
        [&self.scenario, &self.design]
    }

    fn json(&self) -> Value {
        let more = &self.more;
        json!({
            "scenario": self.scenario,
            "design": self.design,
            "nodes": self.nodes,
            "seeds": self.seeds,
            "checks": self.checks,
            "violations": self.violations,
            "over": self.over,
            "lost_percent": number(self.lost_percent),
            "rounds": number(self.rounds),
            "messages_per_node_s": number(self.messages_per_node_s),
            "recovered": self.recovered,
            "over_worst": more.worst,
            "sum_most": number(more.most),
            "sum_mean": number(more.mean),
            "back_least": number(more.back),
            "lost_s": number(more.lost_s),
            "service_messages_per_node_s": number(more.service_messages),
            "reference": number(self.reference),
            "may_break": self.may_break,
            "hash": format!("{:016x}", more.hash),
        })
    }
}

fn percent(value: f64) -> String {
    format!("{value:.2}")
}

fn most(value: f64) -> String {
    if value >= 1e4 {
        format!("{value:.1e}")
    } else {
        format!("{value:.4}")
    }
}
