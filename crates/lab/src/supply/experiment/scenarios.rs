//! Eight scenarios of a minute, beside a central limiter, and what one failure costs under several leases.
//!
//! Not here: random faults.

use super::told;
use super::{cell, failure, parameters};
use crate::catalogue::Ask;
use crate::report::{Figure, Report};
use crate::supply::cells::{Cell, run as run_cells};
use crate::supply::design::Design;
use crate::supply::picture;
use crate::supply::row::SupplyRow;
use crate::supply::scenario::Scenario;
use crate::supply::world::{SECOND, Setting};

/// Runs it.
pub(crate) fn run(seeds: u64, ask: &Ask<'_>) -> Report {
    let mut cells = scenarios();
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
        figures: sums_first(figures),
        conclusion,
        ..Report::default()
    }
}

fn sums_first(figures: Vec<Figure>) -> Vec<Figure> {
    figures
}

fn title(row: &SupplyRow) -> String {
    let lost = row.lost_percent.unwrap_or(0.0);
    format!(
        "{}, {} nodes, {}: {lost:.2} % lost",
        row.scenario, row.nodes, row.design
    )
}

/// Every design in every scenario.
fn scenarios() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (nodes, seeds_max) in [(10, u64::MAX), (30, 3), (100, 1)] {
        for scenario in Scenario::ALL {
            for design in designs(nodes) {
                cells.push(Cell {
                    reference: told::lost(nodes, design, scenario),
                    seeds_max,
                    is_drawn: nodes == 10 && design != Design::Static,
                    ..cell(scenario, design, nodes)
                });
            }
        }
    }
    cells
}

fn designs(nodes: u16) -> Vec<Design> {
    let mut designs = vec![
        Design::Static,
        Design::Document { inherits: true },
        Design::Ledger {
            lease_us: 5 * SECOND,
        },
    ];
    if nodes > 30 {
        designs.remove(0);
    }
    designs
}

/// One failure under several leases.
fn failures() -> Vec<Cell> {
    let mut cells = Vec::new();
    for scenario in [Scenario::Crash, Scenario::Netsplit] {
        for lease in [1, 2, 5, 10, 30] {
            let design = Design::Ledger {
                lease_us: lease * SECOND,
            };
            cells.push(Cell {
                scenario: format!("cost of a {}", scenario.name()),
                ..cell(scenario, design, 10)
            });
        }
    }
    cells
}

fn conclude(rows: &[SupplyRow]) -> String {
    let over: u64 = rows.iter().filter_map(|row| row.over).sum();
    format!("{over} requests over the limit in all rows.")
}

const _: fn(u16) -> Setting = Setting::rack;
