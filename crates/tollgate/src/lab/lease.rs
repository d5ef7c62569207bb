//! Rows about leases: as a table, as JSON, and as part of a page.
//!
//! Not here: the rows of other experiments, and plots.

use serde_json::{Map, Value, json};
use tollgate_lab::{LeaseRow, LeaseSync};

use super::designs::{self, DesignColumn, ScenarioRow, bad, float, number, plain};
use super::human::{count, digits};
use crate::report::{Ink, TerminalStyle};

/// A row for programs; what does not apply is null.
pub(super) fn json(row: &LeaseRow) -> Map<String, Value> {
    let (more, expected) = (&row.more, &row.expected);
    let value = json!({
        "scenario": row.scenario,
        "design": row.design,
        "clients": row.clients,
        "seeds": row.seeds,
        "checks": row.checks,
        "violations": row.violations,
        "over": row.over,
        "over_worst": more.worst,
        "over_bound": more.bound,
        "admitted": number(row.admitted),
        "admitted_least": number(row.least),
        "messages_per_decision": number(row.messages),
        "waited": number(row.waited),
        "wait_ms": number(more.wait_ms),
        "failed": number(more.failed),
        "jain": number(more.jain),
        "worst_client": number(more.worst_client),
        "idle": number(more.idle),
        "lost_s": number(more.lost_s),
        "back_least": number(more.back),
        "back_most": number(more.back_most),
        "records_most": more.records,
        "records_end": more.records_end,
        "expected": {
            "admitted": number(expected.admitted),
            "messages_per_decision": number(expected.messages),
            "waited": number(expected.waited),
            "lost_s": number(expected.lost_s),
        },
        "sync": row.sync.as_ref().map(sync),
        "may_break": row.may_break,
        "hash": format!("{:016x}", more.hash),
    });
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// What is known of `sync` alone.
fn sync(own: &LeaseSync) -> Value {
    json!({
        "first": number(Some(own.first)),
        "first_formula": number(Some(own.first_bound)),
        "first_expected": number(own.expected_first),
        "steady": number(Some(own.steady)),
        "steady_formula": number(Some(own.steady_bound)),
        "steady_expected": number(own.expected_steady),
        "long_run": number(Some(own.long_run)),
        "long_run_expected": number(own.expected_long_run),
    })
}

const COLUMNS: [DesignColumn<LeaseRow>; 28] = [
    DesignColumn {
        name: "clients",
        rank: 2,
        pick: |row| plain(row.clients.to_string()),
    },
    DesignColumn {
        name: "admitted",
        rank: 0,
        pick: |row| plain(format!("{:.3}", row.admitted?)),
    },
    DesignColumn {
        name: "least",
        rank: 1,
        pick: |row| plain(format!("{:.3}", row.least.filter(|_| row.seeds > 1)?)),
    },
    DesignColumn {
        name: "expected",
        rank: 0,
        pick: |row| expected(row.expected.admitted?, 3),
    },
    DesignColumn {
        name: "messages",
        rank: 0,
        pick: |row| plain(digits(row.messages?)),
    },
    DesignColumn {
        name: "expected messages",
        rank: 3,
        pick: |row| expected(row.expected.messages?, 3),
    },
    DesignColumn {
        name: "waited %",
        rank: 0,
        pick: |row| plain(format!("{:.2}", 100.0 * row.waited?)),
    },
    DesignColumn {
        name: "expected waited %",
        rank: 4,
        pick: |row| expected(100.0 * row.expected.waited?, 1),
    },
    DesignColumn {
        name: "wait ms",
        rank: 2,
        pick: |row| plain(digits(row.more.wait_ms?)),
    },
    DesignColumn {
        name: "idle/burst",
        rank: 2,
        pick: |row| plain(format!("{:.3}", row.more.idle?)),
    },
    DesignColumn {
        name: "over",
        rank: 0,
        pick: |row| Some(bad(row.over?, row.may_break)),
    },
    DesignColumn {
        name: "lost s",
        rank: 0,
        pick: |row| plain(format!("{:.2}", row.more.lost_s?)),
    },
    DesignColumn {
        name: "expected lost s",
        rank: 0,
        pick: |row| expected(row.expected.lost_s?, 2),
    },
    DesignColumn {
        name: "first",
        rank: 0,
        pick: |row| plain(rounded(row.sync?.first)),
    },
    DesignColumn {
        name: "formula",
        rank: 0,
        pick: |row| plain(rounded(row.sync?.first_bound)),
    },
    DesignColumn {
        name: "expected first",
        rank: 4,
        pick: |row| expected(row.sync?.expected_first?, 0),
    },
    DesignColumn {
        name: "steady",
        rank: 0,
        pick: |row| plain(rounded(row.sync?.steady)),
    },
    DesignColumn {
        name: "steady formula",
        rank: 2,
        pick: |row| plain(rounded(row.sync?.steady_bound)),
    },
    DesignColumn {
        name: "long run",
        rank: 0,
        pick: |row| plain(format!("{:.2}", row.sync?.long_run)),
    },
    DesignColumn {
        name: "expected long run",
        rank: 3,
        pick: |row| expected(row.sync?.expected_long_run?, 2),
    },
    DesignColumn {
        name: "worst",
        rank: 6,
        pick: |row| plain(row.more.worst.filter(|own| *own > 0)?.to_string()),
    },
    DesignColumn {
        name: "violations",
        rank: 1,
        pick: |row| Some(bad(row.violations?, row.may_break)),
    },
    DesignColumn {
        name: "checks",
        rank: 5,
        pick: |row| plain(count(float(row.checks?))),
    },
    DesignColumn {
        name: "least back",
        rank: 5,
        pick: |row| plain(format!("{:.3}", row.more.back?)),
    },
    DesignColumn {
        name: "failed %",
        rank: 7,
        pick: |row| {
            plain(format!(
                "{:.2}",
                100.0 * row.more.failed.filter(|own| *own > 0.0)?
            ))
        },
    },
    DesignColumn {
        name: "jain",
        rank: 8,
        pick: |row| plain(format!("{:.3}", row.more.jain?)),
    },
    DesignColumn {
        name: "worst client",
        rank: 8,
        pick: |row| plain(format!("{:.2}", row.more.worst_client?)),
    },
    DesignColumn {
        name: "records",
        rank: 9,
        pick: |row| plain(row.more.records?.to_string()),
    },
];

/// What the reference simulator found.
#[allow(
    clippy::unnecessary_wraps,
    reason = "a column's cell may be missing, and this one is not"
)]
fn expected(value: f64, digits: usize) -> Option<(String, Ink)> {
    Some((format!("{value:.digits$}"), Ink::Dim))
}

fn rounded(value: f64) -> String {
    format!("{value:.0}")
}

impl ScenarioRow for LeaseRow {
    fn scenario(&self) -> &str {
        &self.scenario
    }

    fn design(&self) -> &str {
        &self.design
    }
}

/// The rows as a table that fits the terminal.
pub(super) fn table(rows: &[LeaseRow], look: TerminalStyle, text: &mut String) {
    designs::table(&COLUMNS, rows, look, text);
}

/// The rows as a section of a page.
pub(super) fn section(rows: &[LeaseRow]) -> String {
    designs::section(&COLUMNS, rows, MEANING)
}

const MEANING: &str = "<p class=\"soft\">Admitted: of what one exact bucket without delay admits of the same arrivals, the mean and the least of the seeds. Messages: \
    per decision, hints and repetitions included. Waited: requests that took a round trip. Over: admitted while one bucket had no token. Violations: \
    looks at which more could be spent than one bucket has, more was held than reserved, or more reserved than there is. Expected: an independent \
    simulator of the same rules.</p>";

/// What the columns of others are.
pub(super) const LEGEND: &str = "expected: an independent simulator of the same rules";
