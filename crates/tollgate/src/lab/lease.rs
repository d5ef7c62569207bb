//! Rows about leases: their figures, and their columns.
//!
//! Not here: the rows of other experiments, and plots.

use serde_json::{Value, json};
use tollgate_lab::{LeaseRow, LeaseSync, digits};

use super::designs::{DesignColumn, ReportRow, bad, column, dim, float, number, plain};
use super::human::count;

impl ReportRow for LeaseRow {
    const NAMES: [&'static str; 2] = ["scenario", "design"];
    const TITLE: &'static str = "What each design did";
    const MEANING: &'static str = "Admitted: of what one exact bucket without delay admits of the same arrivals, the mean and the least of the seeds. Messages: \
        per decision, hints and repetitions included. Waited: requests that took a round trip. Over: admitted while one bucket had no token. Violations: \
        looks at which more could be spent than one bucket has, more was held than reserved, or more reserved than there is. Expected: an independent \
        simulator of the same rules.";
    const COLUMNS: &'static [DesignColumn<Self>] = &[
        column("clients", 2, |row| plain(row.clients.to_string())),
        column("admitted", 0, |row| plain(thousandths(row.admitted?))),
        column("least", 1, |row| {
            plain(thousandths(row.least.filter(|_| row.seeds > 1)?))
        }),
        column("expected", 0, |row| {
            dim(thousandths(row.expected.admitted?))
        }),
        column("messages", 0, |row| plain(digits(row.messages?))),
        column("expected messages", 3, |row| {
            dim(thousandths(row.expected.messages?))
        }),
        column("waited %", 0, |row| plain(percent(row.waited?))),
        column("expected waited %", 4, |row| {
            dim(format!("{:.1}", 100.0 * row.expected.waited?))
        }),
        column("wait ms", 2, |row| plain(digits(row.more.wait_ms?))),
        column("idle/burst", 2, |row| plain(thousandths(row.more.idle?))),
        column("over", 0, |row| Some(bad(row.over?, row.may_break))),
        column("lost s", 0, |row| plain(hundredths(row.more.lost_s?))),
        column("expected lost s", 0, |row| {
            dim(hundredths(row.expected.lost_s?))
        }),
        column("first", 0, |row| plain(rounded(row.sync?.first))),
        column("formula", 0, |row| plain(rounded(row.sync?.first_bound))),
        column("expected first", 4, |row| {
            dim(rounded(row.sync?.expected_first?))
        }),
        column("steady", 0, |row| plain(rounded(row.sync?.steady))),
        column("steady formula", 2, |row| {
            plain(rounded(row.sync?.steady_bound))
        }),
        column("long run", 0, |row| plain(hundredths(row.sync?.long_run))),
        column("expected long run", 3, |row| {
            dim(hundredths(row.sync?.expected_long_run?))
        }),
        column("worst", 6, |row| {
            plain(row.more.worst.filter(|own| *own > 0)?.to_string())
        }),
        column("violations", 1, |row| {
            Some(bad(row.violations?, row.may_break))
        }),
        column("checks", 5, |row| plain(count(float(row.checks?)))),
        column("least back", 5, |row| plain(thousandths(row.more.back?))),
        column("failed %", 7, |row| {
            plain(percent(row.more.failed.filter(|own| *own > 0.0)?))
        }),
        column("jain", 8, |row| plain(thousandths(row.more.jain?))),
        column("worst client", 8, |row| {
            plain(hundredths(row.more.worst_client?))
        }),
        column("records", 9, |row| plain(row.more.records?.to_string())),
    ];

    fn names(&self) -> [&str; 2] {
        [&self.scenario, &self.design]
    }

    fn json(&self) -> Value {
        let (more, expected) = (&self.more, &self.expected);
        json!({
            "scenario": self.scenario,
            "design": self.design,
            "clients": self.clients,
            "seeds": self.seeds,
            "checks": self.checks,
            "violations": self.violations,
            "over": self.over,
            "over_worst": more.worst,
            "over_bound": more.bound,
            "admitted": number(self.admitted),
            "admitted_least": number(self.least),
            "messages_per_decision": number(self.messages),
            "waited": number(self.waited),
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
            "sync": self.sync.as_ref().map(sync),
            "may_break": self.may_break,
            "hash": format!("{:016x}", more.hash),
        })
    }
}

/// The fields of `sync` alone.
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

fn rounded(value: f64) -> String {
    format!("{value:.0}")
}

fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

fn thousandths(value: f64) -> String {
    format!("{value:.3}")
}

fn percent(share: f64) -> String {
    hundredths(100.0 * share)
}

/// Explains the columns of published figures.
pub(super) const LEGEND: &str = "expected: an independent simulator of the same rules";
