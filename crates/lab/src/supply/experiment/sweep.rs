//! One setting turned at a time: what flash crowds and steps then lose.
//!
//! Not here: the scenarios.

use tollgate_sim::Conditions;

use super::scenarios::LEASED;
use super::{cell_in, failure, told};
use crate::catalogue::RunRequest;
use crate::experiment::parameters;
use crate::report::Report;
use crate::supply::cells::{SupplyScenario, run as run_cells};
use crate::supply::design::SupplyDesign;
use crate::supply::loans::Tuning;
use crate::supply::scenario::Scenario;
use crate::supply::stage::{MILLI, RACK, SupplySetting};

const NODES: u16 = 30;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let cells = cells();
    let ran = run_cells(&cells, seeds, ask);
    Report {
        title: "What each setting is worth".to_owned(),
        about: "Thirty nodes; one setting is turned and everything else is as usual. Lost percent in flash crowds and in steps.".to_owned(),
        parameters: parameters(seeds, ask, &[("nodes", "30")]),
        failure: failure(&ran.rows),
        conclusion: "Over-admission is 0 in every cell that is not there to fail.".to_owned(),
        supply: ran.rows,
        ..Report::default()
    }
}

fn cells() -> Vec<SupplyScenario> {
    let rack = || SupplySetting::rack(NODES);
    let usual = LEASED;
    let mut cells = Vec::new();
    for (gap, told) in [2, 5, 10, 20, 50].into_iter().zip(told::GAPS) {
        let tuning = Tuning {
            gap_us: gap * MILLI,
            ..usual
        };
        cells.extend(pair(&format!("gap {gap} ms"), &rack(), tuning, told));
    }
    for (probes_min, told) in [1, 2, 3, 5, 8].into_iter().zip(told::PROBES) {
        let tuning = Tuning {
            probes_min,
            ..usual
        };
        cells.extend(pair(&format!("{probes_min} peers"), &rack(), tuning, told));
    }
    for ((label, weather), told) in weathers().into_iter().zip(told::WEATHERS) {
        let setting = SupplySetting { weather, ..rack() };
        cells.extend(pair(&label, &setting, usual, told));
    }
    for (round, told) in [20, 50, 100, 200, 500, 1_000].into_iter().zip(told::ROUNDS) {
        let setting = SupplySetting {
            round_us: round * MILLI,
            ..rack()
        };
        // A term holds some rounds at least.
        let tuning = Tuning {
            term_us: usual.term_us.max(4 * round * MILLI),
            ..usual
        };
        cells.extend(pair(&format!("round {round} ms"), &setting, tuning, told));
    }
    for (term, told) in [200, 500, 1_000, 2_000, 5_000].into_iter().zip(told::TERMS) {
        let tuning = Tuning {
            term_us: term * MILLI,
            ..usual
        };
        // Four rounds of 100 ms do not fit into the shortest.
        let setting = SupplySetting {
            round_us: (100 * MILLI).min(term * MILLI / 4),
            ..rack()
        };
        cells.extend(pair(&format!("term {term} ms"), &setting, tuning, told));
    }
    for (depth, told) in [10, 20, 50, 100, 200, 1_000].into_iter().zip(told::DEPTHS) {
        let setting = SupplySetting {
            depth_us: depth * MILLI,
            ..rack()
        };
        cells.extend(pair(&format!("bucket {depth} ms"), &setting, usual, told));
    }
    cells
}

/// Delays, then loss and copies.
fn weathers() -> Vec<(String, Conditions)> {
    let delay = |(label, delay_min, delay_max): (&str, u64, u64)| {
        let weather = Conditions::between(delay_min, delay_max);
        (format!("delay {label} ms"), weather)
    };
    let loss = |percent: u32| {
        let weather = Conditions {
            loss: percent * 10_000,
            copies: percent * 10_000,
            ..RACK
        };
        (format!("{percent} % lost, {percent} % doubled"), weather)
    };
    let delays = [
        ("0.25–0.5", 250, 500),
        ("2–4", 2 * MILLI, 4 * MILLI),
        ("20–40", 20 * MILLI, 40 * MILLI),
        ("75–150", 75 * MILLI, 150 * MILLI),
    ];
    delays
        .map(delay)
        .into_iter()
        .chain([1, 10, 30].map(loss))
        .collect()
}

/// A setting in flash crowds and in steps.
fn pair(
    label: &str,
    setting: &SupplySetting,
    tuning: Tuning,
    told: (f64, f64),
) -> Vec<SupplyScenario> {
    [(Scenario::Flash, told.0), (Scenario::Step, told.1)]
        .map(|(scenario, told)| SupplyScenario {
            scenario: format!("{label}, {}", scenario.name()),
            reference: Some(told),
            ..cell_in(scenario, SupplyDesign::Loans(tuning), setting)
        })
        .into()
}
