//! Random schedules of faults: is ever more admitted than one bucket of the limit would, and does all supply come back?
//!
//! Not here: the schedules.

use super::failure;
use crate::catalogue::RunRequest;
use crate::experiment::{commas, parameters};
use crate::report::{PlotFigure, Report};
use crate::supply::cells::{SupplyScenario, run as run_cells};
use crate::supply::design::SupplyDesign;
use crate::supply::loans::Tuning;
use crate::supply::picture;
use crate::supply::rival::Plant;
use crate::supply::row::SupplyRow;
use crate::supply::schedule;
use crate::supply::stage::SECOND;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let cells: Vec<SupplyScenario> = designs().into_iter().map(|own| cell(own, seeds)).collect();
    let ran = run_cells(&cells, seeds, ask);
    let lines = cells
        .iter()
        .zip(&ran.samples)
        .filter(|(_, samples)| !samples.is_empty())
        .map(|(cell, samples)| picture::sum(&cell.design.name(), samples, &schedule::setting()))
        .collect();
    let (conclusion, closing) = conclude(&ran.rows);
    Report {
        title: "Never one token over, whatever fails".to_owned(),
        about: "Five nodes share 1,000 requests per second. For 20 s nodes crash and restart, the network splits and heals, demand moves, \
                up to a fifth of the messages is lost, up to a fifth doubled, all up to 80 ms late; then 8 s without faults. Clocks drift \
                by up to a thousandth. Invariants are looked at after every event."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("nodes", "5"), ("limit", "1,000/s")]),
        failure: failure(&ran.rows),
        supply: ran.rows,
        figures: vec![PlotFigure {
            name: "sums".to_owned(),
            title: "What all nodes could use together under the first schedule".to_owned(),
            x_label: "time, s".to_owned(),
            y_label: "sum, in parts of the limit".to_owned(),
            lines,
            ..PlotFigure::default()
        }],
        conclusion,
        closing,
        ..Report::default()
    }
}

/// The lease that faults are survived with.
const LEASE_US: u64 = SECOND;

/// The term that faults are survived with.
pub(super) const TUNING: Tuning = Tuning {
    term_us: SECOND / 2,
    ..Tuning::USUAL
};

/// The same with a lease.
pub(super) fn leased() -> Tuning {
    Tuning {
        lease_us: Some(LEASE_US),
        ..TUNING
    }
}

pub(super) fn designs() -> Vec<SupplyDesign> {
    let mut designs = vec![
        SupplyDesign::Loans(TUNING),
        SupplyDesign::Loans(leased()),
        SupplyDesign::Ledger { lease_us: LEASE_US },
        SupplyDesign::Document { inherits: true },
        SupplyDesign::Document { inherits: false },
        SupplyDesign::Printed,
    ];
    designs.extend(Plant::ALL.map(|plant| SupplyDesign::Planted {
        lease_us: LEASE_US,
        plant,
    }));
    designs.push(SupplyDesign::Loans(Tuning {
        is_hasty: true,
        ..TUNING
    }));
    designs
}

pub(super) fn cell(design: SupplyDesign, seeds: u64) -> SupplyScenario {
    SupplyScenario {
        scenario: "faults".to_owned(),
        design,
        label: None,
        nodes: schedule::setting().nodes,
        plot: Box::new(schedule::plot),
        reference: None,
        seeds_max: seeds,
        recovers: true,
        is_drawn: !design.name().starts_with(MUTANT) && design != SupplyDesign::Printed,
    }
}

/// The line that everything is about.
fn conclude(rows: &[SupplyRow]) -> (String, String) {
    let sound: Vec<&SupplyRow> = rows.iter().filter(|row| !row.may_break).collect();
    let sum = |pick: fn(&SupplyRow) -> Option<u64>| -> u64 {
        sound.iter().filter_map(|row| pick(row)).sum()
    };
    let mutants = mutants(rows);
    let back: u64 = sum(|row| row.recovered);
    let runs: u64 = sound.iter().map(|row| row.seeds).sum();
    let conclusion = format!(
        "{mutants} All supply is back 8 s after the last fault in {} of {} runs.",
        commas(back),
        commas(runs)
    );
    let closing = format!(
        "{} over-admitted, {} invariant violations, {} checks",
        commas(sum(|row| row.over)),
        commas(sum(|row| row.violations)),
        commas(sum(|row| row.checks)),
    );
    (conclusion, closing)
}

const MUTANT: &str = "mutant";

/// Which mutants were seen to break something: an invariant, the limit, or the return of all supply.
pub(super) fn mutants(rows: &[SupplyRow]) -> String {
    let is_found = |row: &&SupplyRow| {
        row.over.unwrap_or(0) + row.violations.unwrap_or(0) > 0
            || row.recovered.is_some_and(|back| back < row.seeds)
    };
    let (found, missed): (Vec<&SupplyRow>, Vec<&SupplyRow>) = rows
        .iter()
        .filter(|row| row.design.starts_with(MUTANT))
        .partition(is_found);
    let all = found.len() + missed.len();
    if missed.is_empty() {
        return format!("All {all} mutants are found.");
    }
    let missed: Vec<&str> = missed.iter().map(|row| &*row.design).collect();
    format!(
        "{} of {all} mutants are found, but not {}.",
        found.len(),
        missed.join(", ")
    )
}
