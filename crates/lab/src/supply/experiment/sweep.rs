//! One setting turned at a time: what flash crowds and steps then lose.
//!
//! Not here: the scenarios.

use super::{cell_in, failure, parameters};
use crate::catalogue::Ask;
use crate::report::Report;
use crate::supply::cells::{Cell, run as run_cells};
use crate::supply::design::Design;
use crate::supply::scenario::Scenario;
use crate::supply::world::{MILLI, SECOND, Setting, Weather};

const NODES: u16 = 30;

/// Runs it.
pub(crate) fn run(seeds: u64, ask: &Ask<'_>) -> Report {
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

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (label, weather) in delays() {
        cells.extend(pair(
            &label,
            Setting {
                weather,
                ..Setting::rack(NODES)
            },
        ));
    }
    for millis in [10, 20, 50, 100, 200, 1_000] {
        let setting = Setting {
            depth_us: millis * MILLI,
            ..Setting::rack(NODES)
        };
        cells.extend(pair(&format!("bucket {millis} ms"), setting));
    }
    cells
}

fn delays() -> Vec<(String, Weather)> {
    let delay = |(label, min, max): (&str, u64, u64)| {
        let weather = Weather {
            delay_min: min,
            delay_max: max,
            ..Weather::RACK
        };
        (format!("delay {label} ms"), weather)
    };
    [
        ("0.25–0.5", 250, 500),
        ("2–4", 2 * MILLI, 4 * MILLI),
        ("20–40", 20 * MILLI, 40 * MILLI),
        ("75–150", 75 * MILLI, 150 * MILLI),
    ]
    .map(delay)
    .into()
}

/// A setting in flash crowds and in steps.
fn pair(label: &str, setting: Setting) -> Vec<Cell> {
    let design = Design::Ledger {
        lease_us: 5 * SECOND,
    };
    [Scenario::Flash, Scenario::Step]
        .map(|scenario| Cell {
            scenario: format!("{}, {label}", scenario.name()),
            ..cell_in(scenario, design, setting.clone())
        })
        .into()
}
