//! The document's algorithm as it is printed, made sound, and ours, side by side: supply over time.
//!
//! Not here: how often they fail.

use super::cell_in;
use crate::catalogue::RunRequest;
use crate::experiment::parameters;
use crate::report::{Line, PlotFigure, Report};
use crate::supply::cells::{SupplyScenario, run as run_cells};
use crate::supply::design::SupplyDesign;
use crate::supply::picture;
use crate::supply::scenario::Scenario;
use crate::supply::stage::SupplySetting;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut cells = Vec::new();
    for scenario in [
        Scenario::Steady90,
        Scenario::Flash,
        Scenario::Idle,
        Scenario::Netsplit,
    ] {
        for design in designs() {
            cells.push(SupplyScenario {
                is_drawn: true,
                ..cell_in(scenario, design, &setting())
            });
        }
    }
    let ran = run_cells(
        &cells,
        seeds,
        &RunRequest {
            curves: true,
            ..*ask
        },
    );
    let mut figures = Vec::new();
    for (three, samples) in cells
        .chunks(designs().len())
        .zip(ran.samples.chunks(designs().len()))
    {
        let name = three.first().map_or("", |cell| &*cell.scenario);
        let sums: Vec<Line> = three
            .iter()
            .zip(samples)
            .map(|(cell, own)| picture::sum(&cell.design.name(), own, &setting()))
            .collect();
        figures.push(sums_figure(name, sums));
        for (cell, own) in three.iter().zip(samples) {
            let title = format!("{name}, {}: fill ratio of every node", cell.design.name());
            let id = format!("{name}-{}", figures.len());
            figures.push(picture::ratios(&id, title, own, &setting()));
        }
    }
    let most = |design: SupplyDesign| {
        let own = ran.rows.iter().filter(|row| row.design == design.name());
        own.filter_map(|row| row.more.most).fold(0.0, f64::max)
    };
    let conclusion = format!(
        "As printed, the richer node gains: the nodes together hold up to {:.0} times the limit. With sign and units made sound \
         it converges, but a netsplit makes up to {:.2} times the limit of it. Ours never holds more than the limit.",
        most(SupplyDesign::Printed),
        most(SupplyDesign::Document { inherits: true }),
    );
    Report {
        title: "The document's algorithm beside ours: supply over time".to_owned(),
        about: "Ten nodes, 10,000 requests per second. Each line is the fill ratio of one node: what it may use over what it is asked \
                for. Even lines are what all want; a sum above one is supply that nobody was given."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("nodes", "10")]),
        supply: ran.rows,
        figures,
        conclusion,
        ..Report::default()
    }
}

fn setting() -> SupplySetting {
    SupplySetting::rack(10)
}

fn designs() -> Vec<SupplyDesign> {
    vec![
        SupplyDesign::Printed,
        SupplyDesign::Document { inherits: true },
        SupplyDesign::Loans(super::scenarios::LEASED),
    ]
}

fn sums_figure(name: &str, mut lines: Vec<Line>) -> PlotFigure {
    // What explodes would flatten the rest.
    for line in &mut lines {
        for point in &mut line.points {
            point.1 = point.1.min(SUM_SHOWN_MAX);
        }
    }
    PlotFigure {
        name: format!("{name}-sum"),
        title: format!("{name}: what all nodes could use together"),
        x_label: "time, s".to_owned(),
        y_label: "sum, in parts of the limit (cut off at 4)".to_owned(),
        lines,
        ..PlotFigure::default()
    }
}

const SUM_SHOWN_MAX: f64 = 4.0;
