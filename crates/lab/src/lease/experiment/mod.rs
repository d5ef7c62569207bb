//! The experiments about leases, by name.
//!
//! Not here: the world, the designs, and how reports are shown.

mod cost;
mod distance;
mod failover;
mod faults;
mod sync;
mod told;
mod utilisation;

pub(crate) use cost::run as cost;
pub(crate) use distance::run as distance;
pub(crate) use failover::run as failover;
pub(crate) use faults::run as faults;
pub(crate) use sync::run as sync;
pub(crate) use utilisation::run as utilisation;

use super::row::LeaseRow;
use crate::experiment::commas;

/// What must never be seen in a row that is not there to fail.
fn failure(rows: &[LeaseRow]) -> Option<String> {
    let bad: Vec<String> = rows
        .iter()
        .filter(|row| !row.may_break)
        .filter(|row| row.over.unwrap_or(0) + row.violations.unwrap_or(0) > 0)
        .map(|row| format!("{} in {}", row.design, row.scenario))
        .collect();
    (!bad.is_empty()).then(|| format!("more than one bucket: {}", bad.join(", ")))
}

/// The line that everything is about.
fn closing(rows: &[LeaseRow]) -> String {
    let sum = |pick: fn(&LeaseRow) -> Option<u64>| -> u64 {
        let sound = rows.iter().filter(|row| !row.may_break);
        sound.filter_map(pick).sum()
    };
    format!(
        "{} over-admitted, {} invariant violations, {} checks",
        commas(sum(|row| row.over)),
        commas(sum(|row| row.violations)),
        commas(sum(|row| row.checks)),
    )
}

fn find<'a>(rows: &'a [LeaseRow], scenario: &str, design: &str) -> Option<&'a LeaseRow> {
    rows.iter()
        .find(|row| row.scenario == scenario && row.design == design)
}

/// A figure of the row of `lease` in a scenario.
fn of(rows: &[LeaseRow], scenario: &str, pick: impl Fn(&LeaseRow) -> Option<f64>) -> Option<f64> {
    find(rows, scenario, "lease").and_then(pick)
}
