//! The experiments about supply, by name.
//!
//! Not here: the world, the designs, and how reports are shown.

mod bars;
mod convergence;
mod faults;
mod flow;
mod scenarios;
mod sweep;
mod told;

pub(crate) use bars::run as bars;
pub(crate) use convergence::run as convergence;
pub(crate) use faults::run as faults;
pub(crate) use flow::run as flow;
pub(crate) use scenarios::run as scenarios;
pub(crate) use sweep::run as sweep;

use super::cells::SupplyScenario;
use super::design::SupplyDesign;
use super::row::SupplyRow;
use super::scenario::Scenario;
use super::stage::{MILLI, SupplySetting};

fn cell(scenario: Scenario, design: SupplyDesign, nodes: u16) -> SupplyScenario {
    cell_in(scenario, design, &SupplySetting::rack(nodes))
}

fn cell_in(scenario: Scenario, design: SupplyDesign, setting: &SupplySetting) -> SupplyScenario {
    let nodes = setting.nodes;
    // A look takes as long as there are nodes, and comparing books as long as there are loans; of many it is done less
    // often.
    let setting = SupplySetting {
        sample_us: 100 * MILLI,
        look_every: (u64::from(nodes) / 10).pow(2).max(1),
        audit_every: u64::from(nodes),
        ..setting.clone()
    };
    SupplyScenario {
        scenario: scenario.name().to_owned(),
        design,
        label: None,
        nodes,
        plot: Box::new(move |seed| scenario.plot(&setting, seed)),
        reference: None,
        seeds_max: u64::MAX,
        recovers: false,
        is_drawn: false,
    }
}

/// What must never be seen in a row that is not there to fail.
fn failure(rows: &[SupplyRow]) -> Option<String> {
    let bad: Vec<String> = rows
        .iter()
        .filter(|row| !row.may_break)
        .filter(|row| row.over.unwrap_or(0) + row.violations.unwrap_or(0) > 0)
        .map(|row| format!("{} in {}", row.design, row.scenario))
        .collect();
    (!bad.is_empty()).then(|| format!("more than the limit: {}", bad.join(", ")))
}
