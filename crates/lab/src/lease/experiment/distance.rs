//! What distance costs: every way to agree on the same arrivals, near and far.
//!
//! Not here: faults, and what each way does best at.

use tollgate_sim::Conditions;

use super::utilisation::seconds;
use super::{failure, find};
use crate::catalogue::RunRequest;
use crate::experiment::{commas, parameters};
use crate::lease::cells::{LeaseScenario, run as run_cells};
use crate::lease::design::Design;
use crate::lease::row::LeaseRow;
use crate::lease::scenario::Scenario;
use crate::lease::world::{LeaseSetting, MILLI, Plot, SECOND, skewed};
use crate::report::{Line, PlotFigure, Report};
use crate::supply::stage::Phase;

/// One way, in microseconds.
const DISTANCES: [u64; 4] = [100, 1_000, 10_000, 50_000];

const SYNC: Design = Design::Sync {
    interval_ns: 100 * MILLI,
    keeps: true,
};

/// In the order of the table.
const DESIGNS: [Design; 9] = [
    Design::Local,
    SYNC,
    Design::Lease,
    Design::Owner,
    Design::Store,
    Design::Gossip,
    Design::Supply,
    Design::Split,
    Design::Cut,
];

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let moving = DISTANCES
        .into_iter()
        .flat_map(|micros| DESIGNS.map(|design| cell(micros, design)));
    let at_once = [1_000, 50_000]
        .into_iter()
        .flat_map(|micros| DESIGNS.map(|design| herd(micros, design)));
    let cells: Vec<LeaseScenario> = moving.chain(at_once).collect();
    let ran = run_cells(&cells, seeds, ask);
    Report {
        title: "What distance costs".to_owned(),
        about: "Ten nodes share 1,000 requests per second with a burst of a second. A crowd of 0.9 of the limit goes from node to node every 5 s, beside \
                0.3 for all, 30 s; or all nodes are asked alike for three times the limit at once, 10 s. The same arrivals for every design. Over is what one bucket has no token for, worst the most that it was short of, idle the \
                tokens that lie at nodes, wait what a decision takes on average. Owner and store are asked about every request, and nothing is repeated; split refuses where it would let wait; where nothing moves, nodes neither lend tokens nor hire parts."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("nodes", "10"), ("limit", "1,000/s")]),
        failure: failure(&ran.rows),
        figures: figures(&ran.rows),
        conclusion: conclude(&ran.rows),
        lease: ran.rows,
        ..Report::default()
    }
}

fn name(micros: u64) -> String {
    // Thousandths of a millisecond, as thousandths of a second are written.
    format!("one way {}", seconds(micros).replace(" s", " ms"))
}

fn setting(micros: u64) -> LeaseSetting {
    LeaseSetting {
        weather: Conditions::between(micros * 1_000, micros * 1_200),
        ..LeaseSetting::usual(1_000, 1_000)
    }
}

fn cell(micros: u64, design: Design) -> LeaseScenario {
    LeaseScenario::new(&name(micros), design, move |seed| {
        Scenario::Flash.plot(setting(micros), seed)
    })
}

/// All nodes are asked alike for three times the limit.
fn herd(micros: u64, design: Design) -> LeaseScenario {
    let name = format!("all at once, {}", name(micros));
    LeaseScenario {
        seeds_max: 1,
        ..LeaseScenario::new(&name, design, move |seed| {
            let setting = LeaseSetting {
                until: 10 * SECOND,
                ..setting(micros)
            };
            let rates = skewed(setting.demand(300), setting.clients, 0);
            Plot {
                phases: vec![Phase { at: 0, rates }],
                ..Plot::steady(setting, 300, seed)
            }
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "a plot")]
fn figures(rows: &[LeaseRow]) -> Vec<PlotFigure> {
    let one =
        |name_: &str, title: &str, label: &str, pick: fn(&LeaseRow) -> Option<f64>| PlotFigure {
            name: name_.to_owned(),
            title: title.to_owned(),
            x_label: "one way, ms".to_owned(),
            y_label: label.to_owned(),
            x_log: true,
            lines: DESIGNS
                .into_iter()
                .map(|design| Line {
                    name: design.name(),
                    is_reference: false,
                    points: DISTANCES
                        .into_iter()
                        .filter_map(|micros| {
                            let row = find(rows, &name(micros), &design.name())?;
                            Some((micros as f64 / 1_000.0, pick(row)?))
                        })
                        .collect(),
                })
                .collect(),
            ..PlotFigure::default()
        };
    vec![
        one(
            "wait",
            "What a decision waits",
            "milliseconds, the mean",
            |row| row.more.wait_ms,
        ),
        one(
            "admitted",
            "Admitted beside one bucket that sees everything at once",
            "admitted of central",
            |row| row.admitted,
        ),
        one("messages", "Messages per decision", "messages", |row| {
            row.messages
        }),
    ]
}

fn conclude(rows: &[LeaseRow]) -> String {
    let at = |micros: u64, design: Design| find(rows, &name(micros), &design.name());
    let wait = |design: Design| {
        let row = at(50_000, design);
        row.and_then(|row| row.more.wait_ms).unwrap_or(f64::NAN)
    };
    let worst = |design: Design| {
        let own = rows.iter().filter(|row| row.design == design.name());
        commas(own.filter_map(|row| row.more.worst).max().unwrap_or(0))
    };
    format!(
        "With 50 ms one way a decision waits {:.1} ms on average at a store, {:.1} ms with leases and not at all where nodes decide alone. One bucket is short of up to {} \
         requests if nodes count alone, {} if they synchronise, {} with gossip, and of none with leases, an owner, a store, supply or a bucket that is cut.",
        wait(Design::Store),
        wait(Design::Lease),
        worst(Design::Local),
        worst(SYNC),
        worst(Design::Gossip),
    )
}
