//! What leases cost: messages, round trips, records; and where they are not worth it.
//!
//! Not here: how much is used.

use super::told::{self, CLIENTS, known};
use super::utilisation::{seconds, steady_name, times};
use super::{closing, failure, find, of};
use crate::catalogue::RunRequest;
use crate::experiment::{BarDirection, parameters, row_bar};
use crate::lease::cells::{LeaseScenario, run as run_cells};
use crate::lease::design::Design;
use crate::lease::row::LeaseRow;
use crate::lease::world::{LeaseSetting, Plot, SECOND, skewed};
use crate::report::{Bar, Line, PlotFigure, Report};
use crate::supply::stage::{PER_SECOND, Phase};

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut cells = grid();
    cells.extend(worth());
    cells.extend(cold());
    let ran = run_cells(&cells, seeds, ask);
    Report {
        title: "What leases cost, and where they pay".to_owned(),
        about: "Messages per decision (questions, answers, hints, repetitions; asking takes two) and the share of requests that waited a \
                round trip, by limit, burst and number of clients at 0.9 and 2 times the limit, 20 s; then equal clients by what the limit and the \
                burst leave each of them; then keys that are hardly used."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("one way", "1.0 to 1.2 ms"), ("term", "2 s")]),
        failure: failure(&ran.rows),
        bars: judge(&ran.rows),
        figures: figures(&ran.rows),
        conclusion: conclude(&ran.rows),
        closing: closing(&ran.rows),
        lease: ran.rows,
        ..Report::default()
    }
}

fn name(clients: u16, per_second: u64, burst_ms: u64, load: u64) -> String {
    let steady = steady_name(per_second, burst_ms, load);
    format!("{clients} clients, {steady}")
}

/// By limit, burst and clients.
fn grid() -> Vec<LeaseScenario> {
    let mut cells = Vec::new();
    for ((per_second, burst_ms), by_clients) in told::GRID {
        for (clients, by_load) in CLIENTS.into_iter().zip(by_clients) {
            for (load, told) in [90, 200].into_iter().zip(by_load) {
                let setting = LeaseSetting {
                    clients,
                    until: 20 * SECOND,
                    ..LeaseSetting::usual(per_second, burst_ms)
                };
                let name = name(clients, per_second, burst_ms, load);
                let cell = LeaseScenario::new(&name, Design::Lease, move |seed| {
                    Plot::steady(setting.clone(), load, seed)
                });
                cells.push(cell.told(told.map(known)));
            }
        }
    }
    cells
}

/// Equal clients: what the limit leaves each in a term, and the burst.
fn worth() -> Vec<LeaseScenario> {
    let mut cells = Vec::new();
    for (uses, depth, by_load) in told::WORTH {
        for (load, [messages, waited]) in [90, 200].into_iter().zip(by_load) {
            let name = format!("{uses} tokens, depth {depth} each, {}", times(load));
            let cell = LeaseScenario::new(&name, Design::Lease, move |seed| {
                let setting = LeaseSetting {
                    burst: 10 * depth,
                    until: 60 * SECOND,
                    // Ten clients, two seconds.
                    ..LeaseSetting::usual(uses * 5, 1_000)
                };
                let rates = skewed(setting.demand(load), setting.clients, 0);
                Plot {
                    phases: vec![Phase { at: 0, rates }],
                    ..Plot::steady(setting, load, seed)
                }
            });
            cells.push(cell.told([None, Some(messages), Some(waited)]));
        }
    }
    cells
}

const COLD: &str = "cold key: 100 clients, 2 requests/s";
const COOLING: &str = "100 clients, 100 requests/s, then none";

/// Keys that are hardly used.
fn cold() -> Vec<LeaseScenario> {
    let setting = || LeaseSetting {
        clients: 100,
        until: 60 * SECOND,
        ..LeaseSetting::usual(1_000, 1_000)
    };
    let asked = |per_second: u64| skewed(per_second * PER_SECOND, 100, 10);
    let cold = LeaseScenario::new(COLD, Design::Lease, move |seed| Plot {
        phases: vec![Phase {
            at: 0,
            rates: skewed(2 * PER_SECOND, 100, 0),
        }],
        ..Plot::steady(setting(), 0, seed)
    });
    let cooling = LeaseScenario::new(COOLING, Design::Lease, move |seed| Plot {
        phases: vec![
            Phase {
                at: 0,
                rates: asked(100),
            },
            Phase {
                at: 50 * crate::supply::stage::SECOND,
                rates: vec![0; 100],
            },
        ],
        ..Plot::steady(setting(), 0, seed)
    });
    vec![cold.told([None, Some(2.0), Some(1.0)]), cooling]
}

fn judge(rows: &[LeaseRow]) -> Vec<Bar> {
    let messages =
        |clients, limit, load| of(rows, &name(clients, limit, 1_000, load), |row| row.messages);
    let waited = |load| of(rows, &name(10, 1_000, 1_000, load), |row| row.waited);
    let records = |scenario: &str, pick: fn(&LeaseRow) -> Option<u64>| {
        let count = find(rows, scenario, "lease").and_then(pick);
        #[allow(clippy::cast_precision_loss, reason = "a hundred at most")]
        count.map(|count| count as f64)
    };
    vec![
        row_bar(
            "L8 messages per decision, 10 clients, 2x, burst 1 s: 100 / 1,000 / 10,000 per s",
            BarDirection::Most,
            4,
            &[
                (messages(10, 100, 200), 0.5),
                (messages(10, 1_000, 200), 0.05),
                (messages(10, 10_000, 200), 0.005),
            ],
        ),
        row_bar(
            "L9 hot key, messages per decision: 1,000/s one client, 10,000/s three, 10,000/s ten at 2x",
            BarDirection::Most,
            4,
            &[
                (messages(1, 1_000, 200), 0.01),
                (messages(3, 10_000, 90), 0.01),
                (messages(10, 10_000, 200), 0.01),
            ],
        ),
        row_bar(
            "L10 share that waited, 10 clients, 1,000/s, burst 1 s: 0.9x / 2x",
            BarDirection::Most,
            4,
            &[(waited(90), 0.01), (waited(200), 0.02)],
        ),
        row_bar(
            "L18 cold key: messages per decision, records; records 10 s after demand ended",
            BarDirection::Most,
            3,
            &[
                (of(rows, COLD, |row| row.messages), 2.0),
                (records(COLD, |row| row.more.records), 0.0),
                (records(COOLING, |row| row.more.records_end), 0.0),
            ],
        ),
    ]
}

/// Messages by clients, one line per limit; and by depth per client.
#[allow(clippy::cast_precision_loss, reason = "a plot")]
fn figures(rows: &[LeaseRow]) -> Vec<PlotFigure> {
    let line = |per_second: u64, told: bool| Line {
        name: format!("{per_second}/s{}", if told { ", expected" } else { "" }),
        is_reference: told,
        points: CLIENTS
            .into_iter()
            .filter_map(|clients| {
                let row = find(rows, &name(clients, per_second, 1_000, 200), "lease")?;
                let figure = if told {
                    row.expected.messages
                } else {
                    row.messages
                };
                Some((f64::from(clients), figure?))
            })
            .collect(),
    };
    let limits = [10, 100, 1_000, 10_000];
    let depth = |uses: u64| Line {
        name: format!("{uses} tokens each"),
        is_reference: false,
        points: told::WORTH
            .into_iter()
            .filter(|(own, _, _)| *own == uses)
            .filter_map(|(_, depth, _)| {
                let name = format!("{uses} tokens, depth {depth} each, 2x");
                Some((depth as f64, find(rows, &name, "lease")?.messages?))
            })
            .collect(),
    };
    vec![
        PlotFigure {
            name: "messages".to_owned(),
            title: format!("Messages per decision at 2x, burst {}", seconds(1_000)),
            x_label: "clients".to_owned(),
            y_label: "messages per decision; asking takes 2".to_owned(),
            x_log: true,
            y_log: true,
            lines: limits
                .into_iter()
                .flat_map(|limit| [line(limit, false), line(limit, true)])
                .collect(),
        },
        PlotFigure {
            name: "worth".to_owned(),
            title: "Small depth is what makes leases expensive".to_owned(),
            x_label: "tokens of the burst per client".to_owned(),
            y_label: "messages per decision at 2x".to_owned(),
            x_log: true,
            lines: [4, 8, 16, 64, 256].map(depth).into(),
            ..PlotFigure::default()
        },
    ]
}

fn conclude(rows: &[LeaseRow]) -> String {
    let at = |limit| of(rows, &name(10, limit, 1_000, 200), |row| row.messages).unwrap_or(f64::NAN);
    format!(
        "Ten clients at twice the limit exchange {:.4} messages per decision at 10,000/s, {:.3} at 1,000/s and {:.2} at 100/s; asking takes 2. \
         Below four tokens of burst per client leases are not worth it.",
        at(10_000),
        at(1_000),
        at(100),
    )
}
