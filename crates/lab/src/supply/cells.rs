//! Cells of an experiment: a design in a scenario, and the runs of all of them on some threads.
//!
//! Not here: what the experiments are.

use super::design::SupplyDesign;
use super::row::SupplyRow;
use super::stage::{HoldingSample, Plot, SupplyOutcome};
use crate::catalogue::RunRequest;
use crate::experiment::cells as run_cells;

pub(super) type Plots = Box<dyn Fn(u64) -> Plot + Sync>;

pub(super) struct SupplyScenario {
    pub(super) scenario: String,
    pub(super) design: SupplyDesign,
    /// The name of the row, where it is not the design's.
    pub(super) label: Option<String>,
    pub(super) nodes: u16,
    pub(super) plot: Plots,
    /// The reference's figure.
    pub(super) reference: Option<f64>,
    pub(super) seeds_max: u64,
    /// Whether the end of a run tells if it recovered.
    pub(super) recovers: bool,
    /// Whether its first run is drawn.
    pub(super) is_drawn: bool,
}

pub(super) struct SupplyResults {
    pub(super) rows: Vec<SupplyRow>,
    /// Samples of the first seed, of cells that are drawn, in the order of the rows.
    pub(super) samples: Vec<Vec<HoldingSample>>,
}

pub(super) fn run(cells: &[SupplyScenario], seeds: u64, ask: &RunRequest<'_>) -> SupplyResults {
    let few = |cell: &SupplyScenario| seeds.min(cell.seeds_max);
    let outcomes = run_cells(cells, few, ask, |cell, seed| run_one(cell, ask, seed));
    let mut ran = SupplyResults {
        rows: Vec::new(),
        samples: Vec::new(),
    };
    for (cell, mut runs) in cells.iter().zip(outcomes) {
        let rate = (cell.plot)(ask.first).setting.rate;
        ran.rows.push(SupplyRow {
            scenario: cell.scenario.clone(),
            design: cell.label.clone().unwrap_or_else(|| cell.design.name()),
            nodes: cell.nodes,
            reference: cell.reference,
            may_break: cell.design.may_break(),
            ..SupplyRow::of(&runs, rate, cell.recovers)
        });
        let samples = runs.first_mut().map(|run| std::mem::take(&mut run.samples));
        ran.samples.push(samples.unwrap_or_default());
    }
    ran
}

fn run_one(cell: &SupplyScenario, ask: &RunRequest<'_>, seed: u64) -> SupplyOutcome {
    let mut plot = (cell.plot)(seed);
    if !(ask.curves && cell.is_drawn && seed == ask.first) {
        plot.setting.sample_us = 0;
    }
    cell.design.run(&plot)
}
