//! Rows about passing supply: as a table, as JSON, and as part of a page.
//!
//! Not here: the rows of gossip designs, and plots.

use serde_json::{Map, Value, json};
use tollgate_lab::SupplyRow;

use super::designs::{self, DesignColumn, ScenarioRow, bad, float, number, plain};
use super::human::{count, digits};
use crate::report::{Ink, TerminalStyle};

/// A row for programs; what does not apply is null.
pub(super) fn json(row: &SupplyRow) -> Map<String, Value> {
    let more = &row.more;
    let value = json!({
        "scenario": row.scenario,
        "design": row.design,
        "nodes": row.nodes,
        "seeds": row.seeds,
        "checks": row.checks,
        "violations": row.violations,
        "over": row.over,
        "lost_percent": number(row.lost_percent),
        "rounds": number(row.rounds),
        "messages_per_node_s": number(row.messages_per_node_s),
        "recovered": row.recovered,
        "over_worst": more.worst,
        "sum_most": number(more.most),
        "sum_mean": number(more.mean),
        "back_least": number(more.back),
        "lost_s": number(more.lost_s),
        "service_messages_per_node_s": number(more.service_messages),
        "reference": number(row.reference),
        "may_break": row.may_break,
        "hash": format!("{:016x}", more.hash),
    });
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

const COLUMNS: [DesignColumn<SupplyRow>; 13] = [
    DesignColumn {
        name: "nodes",
        rank: 0,
        pick: |row| plain(row.nodes.to_string()),
    },
    DesignColumn {
        name: "rounds",
        rank: 0,
        pick: |row| plain(digits(row.rounds?)),
    },
    DesignColumn {
        name: "lost %",
        rank: 0,
        pick: |row| plain(percent(row.lost_percent?)),
    },
    DesignColumn {
        name: "reported",
        rank: 1,
        pick: |row| Some((format!("{}ʳ", digits(row.reference?)), Ink::Dim)),
    },
    DesignColumn {
        name: "lost s",
        rank: 5,
        pick: |row| plain(percent(row.more.lost_s?)),
    },
    DesignColumn {
        name: "over",
        rank: 0,
        pick: |row| Some(bad(row.over?, row.may_break)),
    },
    DesignColumn {
        name: "worst",
        rank: 7,
        pick: |row| plain(row.more.worst?.to_string()),
    },
    DesignColumn {
        name: "violations",
        rank: 0,
        pick: |row| Some(bad(row.violations?, row.may_break)),
    },
    DesignColumn {
        name: "checks",
        rank: 3,
        pick: |row| plain(count(float(row.checks?))),
    },
    DesignColumn {
        name: "most/limit",
        rank: 4,
        pick: |row| plain(most(row.more.most?)),
    },
    DesignColumn {
        name: "messages",
        rank: 2,
        pick: |row| plain(digits(row.messages_per_node_s?)),
    },
    DesignColumn {
        name: "recovered",
        rank: 2,
        pick: |row| plain(format!("{} of {}", row.recovered?, row.seeds)),
    },
    DesignColumn {
        name: "least back",
        rank: 6,
        pick: |row| {
            row.recovered?;
            plain(most(row.more.back?))
        },
    },
];

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

impl ScenarioRow for SupplyRow {
    fn scenario(&self) -> &str {
        &self.scenario
    }

    fn design(&self) -> &str {
        &self.design
    }
}

/// The rows as a table that fits the terminal.
pub(super) fn table(rows: &[SupplyRow], look: TerminalStyle, text: &mut String) {
    designs::table(&COLUMNS, rows, look, text);
}

/// The rows as a section of a page.
pub(super) fn section(rows: &[SupplyRow]) -> String {
    designs::section(&COLUMNS, rows, MEANING)
}

const MEANING: &str = "<p class=\"soft\">Lost: what one limiter that sees everything admits and the nodes together did not. Over: \
    admitted while one bucket of the whole limit had no token. Violations: looks at which the nodes together could use more than \
    the limit, or their books did not balance. Messages: per node and second; where rounds are counted, per node until even. \
    Reported: an independent simulator of the same designs.</p>";
