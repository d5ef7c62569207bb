//! Cells of an experiment: a design in a scenario, and the runs of all of them on some threads.
//!
//! Not here: what the experiments are.

use super::design::Design;
use super::row::{LeaseExpected, LeaseRow};
use super::world::{LeaseOutcome, Plot};
use crate::catalogue::RunRequest;
use crate::experiment::cells as run_cells;

pub(super) type Plots = Box<dyn Fn(u64) -> Plot + Sync>;

pub(super) struct LeaseScenario {
    pub(super) scenario: String,
    pub(super) design: Design,
    /// The name of the row, where it is not the design's: something that must be seen to fail.
    pub(super) mutant: Option<&'static str>,
    pub(super) plot: Plots,
    pub(super) expected: LeaseExpected,
    pub(super) seeds_max: u64,
    /// Whether it is compared with the same run in which nothing happens.
    pub(super) is_compared: bool,
}

impl LeaseScenario {
    pub(super) fn new(
        scenario: &str,
        design: Design,
        plot: impl Fn(u64) -> Plot + Sync + 'static,
    ) -> Self {
        Self {
            scenario: scenario.to_owned(),
            design,
            mutant: None,
            plot: Box::new(plot),
            expected: LeaseExpected::default(),
            seeds_max: u64::MAX,
            is_compared: false,
        }
    }

    /// With what the specification's simulator found: admitted, messages, waited.
    pub(super) fn told(self, figures: [Option<f64>; 3]) -> Self {
        let [admitted, messages, waited] = figures;
        Self {
            expected: LeaseExpected {
                admitted,
                messages,
                waited,
                lost_s: None,
            },
            ..self
        }
    }
}

pub(super) struct LeaseResults {
    pub(super) rows: Vec<LeaseRow>,
    /// Slots of the first seed of each row.
    pub(super) slots: Vec<Vec<(u32, u32)>>,
}

pub(super) fn run(cells: &[LeaseScenario], seeds: u64, ask: &RunRequest<'_>) -> LeaseResults {
    let few = |cell: &LeaseScenario| seeds.min(cell.seeds_max);
    let outcomes = run_cells(cells, few, ask, run_one);
    let mut ran = LeaseResults {
        rows: Vec::new(),
        slots: Vec::new(),
    };
    for (cell, both) in cells.iter().zip(outcomes) {
        let (mut runs, calm): (Vec<LeaseOutcome>, Vec<Option<LeaseOutcome>>) =
            both.into_iter().unzip();
        let calm: Vec<LeaseOutcome> = calm.into_iter().flatten().collect();
        let setting = (cell.plot)(ask.first).setting;
        ran.rows.push(LeaseRow {
            scenario: cell.scenario.clone(),
            design: cell
                .mutant
                .map_or_else(|| cell.design.name(), str::to_owned),
            clients: setting.clients,
            expected: cell.expected,
            may_break: cell.design.may_break() || cell.mutant.is_some(),
            ..LeaseRow::of(&runs, &calm, setting.per_second)
        });
        if let Some(row) = ran.rows.last_mut().filter(|_| !cell.design.has_idle()) {
            row.more.idle = None;
        }
        let slots = runs.first_mut().map(|run| std::mem::take(&mut run.slots));
        ran.slots.push(slots.unwrap_or_default());
    }
    ran
}

fn run_one(cell: &LeaseScenario, seed: u64) -> (LeaseOutcome, Option<LeaseOutcome>) {
    let mut plot = (cell.plot)(seed);
    let outcome = cell.design.run(&plot);
    let calm = cell.is_compared.then(|| {
        plot.changes.clear();
        cell.design.run(&plot)
    });
    (outcome, calm)
}
