//! Eight scenarios of a minute, beside a central limiter, and what one failure costs under several leases.
//!
//! Not here: random faults.

use super::told;
use super::{cell, cell_in, failure};
use crate::catalogue::RunRequest;
use crate::experiment::parameters;
use crate::report::Report;
use crate::supply::cells::{SupplyScenario, run as run_cells};
use crate::supply::design::SupplyDesign;
use crate::supply::loans::Tuning;
use crate::supply::picture;
use crate::supply::row::SupplyRow;
use crate::supply::scenario::Scenario;
use crate::supply::stage::{SECOND, SupplySetting};

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut cells = scenarios();
    cells.extend(deep());
    cells.extend(failures());
    let ran = run_cells(&cells, seeds, ask);
    let mut figures = Vec::new();
    for ((cell, row), samples) in cells.iter().zip(&ran.rows).zip(&ran.samples) {
        if !samples.is_empty() {
            let setting = (cell.plot)(ask.first).setting;
            let name = format!("{}-{}", row.scenario, figures.len());
            figures.push(picture::ratios(&name, title(row), samples, &setting));
        }
    }
    let conclusion = conclude(&ran.rows);
    Report {
        title: "What is lost against one limiter that sees everything".to_owned(),
        about: "Nodes share 10,000 requests per second and a bucket of 100 ms of it for a minute; messages take 0.25 to 0.5 ms, rounds \
                100 ms. Lost is what a central limiter admits and the nodes together did not. Everything admitted is replayed through \
                one bucket of the whole limit, and the sum of what nodes can use is compared with the limit after every event."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("limit", "10,000/s"), ("bucket", "100 ms")]),
        failure: failure(&ran.rows),
        supply: ran.rows,
        figures,
        conclusion,
        ..Report::default()
    }
}

fn title(row: &SupplyRow) -> String {
    let lost = row.lost_percent.unwrap_or(0.0);
    format!(
        "{}, {} nodes, {}: {lost:.2} % lost",
        row.scenario, row.nodes, row.design
    )
}

fn scenarios() -> Vec<SupplyScenario> {
    let mut cells = Vec::new();
    for (nodes, seeds_max) in [(10, u64::MAX), (30, 3), (100, 1)] {
        for scenario in Scenario::ALL {
            for design in designs(nodes) {
                cells.push(SupplyScenario {
                    reference: told::lost(nodes, design, scenario),
                    seeds_max,
                    is_drawn: nodes == 10
                        && (design == SupplyDesign::Loans(LEASED)
                            || design == SupplyDesign::Document { inherits: true }),
                    ..cell(scenario, design, nodes)
                });
            }
        }
    }
    cells
}

fn designs(nodes: u16) -> Vec<SupplyDesign> {
    let lease_us = 5 * SECOND;
    let rivals = [
        SupplyDesign::Static,
        SupplyDesign::Document { inherits: true },
        SupplyDesign::Ledger { lease_us },
    ];
    let rounds_only = SupplyDesign::Loans(Tuning {
        rounds_only: true,
        ..LEASED
    });
    let mut designs = vec![SupplyDesign::Loans(LEASED)];
    if nodes <= 30 {
        designs.push(rounds_only);
    }
    designs.extend(rivals.into_iter().skip(usize::from(nodes > 30)));
    designs
}

/// The lease that is recommended.
pub(super) const LEASED: Tuning = Tuning {
    lease_us: Some(60 * SECOND),
    ..Tuning::USUAL
};

fn failures() -> Vec<SupplyScenario> {
    let mut cells = Vec::new();
    for scenario in [Scenario::Crash, Scenario::Netsplit] {
        for lease in [1, 2, 5, 10, 30] {
            let lease_us = lease * SECOND;
            let loans = SupplyDesign::Loans(Tuning {
                lease_us: Some(lease_us),
                ..Tuning::USUAL
            });
            cells.extend([loans, SupplyDesign::Ledger { lease_us }].map(|own| cost(scenario, own)));
        }
        cells.push(cost(scenario, SupplyDesign::Loans(Tuning::USUAL)));
    }
    cells.sort_by_key(|cell| {
        (
            cell.scenario.clone(),
            matches!(cell.design, SupplyDesign::Ledger { .. }),
        )
    });
    cells
}

fn cost(scenario: Scenario, design: SupplyDesign) -> SupplyScenario {
    SupplyScenario {
        scenario: format!("cost of a {}", scenario.name()),
        ..cell(scenario, design, 10)
    }
}

/// The residue of a hundred nodes is mostly that a bucket is split; a deeper one shows it.
fn deep() -> Vec<SupplyScenario> {
    let setting = SupplySetting {
        depth_us: SECOND,
        ..SupplySetting::rack(100)
    };
    let one = |scenario: Scenario| SupplyScenario {
        scenario: format!("{}, bucket 1 s", scenario.name()),
        reference: told::deep(scenario),
        seeds_max: 1,
        ..cell_in(scenario, SupplyDesign::Loans(LEASED), &setting)
    };
    Scenario::ALL.map(one).into()
}

fn conclude(rows: &[SupplyRow]) -> String {
    let over: u64 = rows.iter().filter_map(|row| row.over).sum();
    let mean = |nodes: u16, design: SupplyDesign| {
        let names = Scenario::ALL.map(Scenario::name);
        let own: Vec<f64> = rows
            .iter()
            .filter(|row| row.nodes == nodes && row.design == design.name())
            .filter(|row| names.contains(&&*row.scenario))
            .filter_map(|row| row.lost_percent)
            .collect();
        let count = own.len().max(1);
        #[allow(clippy::cast_precision_loss, reason = "a handful")]
        let mean = own.iter().sum::<f64>() / count as f64;
        mean
    };
    let ours = SupplyDesign::Loans(LEASED);
    let document = SupplyDesign::Document { inherits: true };
    format!(
        "Loans with a lease of 60 s lose {:.2} % of what a central limiter admits with 10 nodes, {:.2} % with 30 and {:.2} % with 100; \
         the document's algorithm {:.2} %, {:.2} % and {:.2} %. {over} requests over the limit in all rows.",
        mean(10, ours),
        mean(30, ours),
        mean(100, ours),
        mean(10, document),
        mean(30, document),
        mean(100, document),
    )
}
