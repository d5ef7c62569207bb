//! How much of the limit is used beside one central bucket: limits, bursts, rivals, skew, moving demand, distance,
//! loss.
//!
//! Not here: what it costs, and faults.

use tollgate_sim::Conditions;

use super::told::{self, LOADS, known};
use super::{closing, failure, find, of};
use crate::catalogue::RunRequest;
use crate::experiment::{BarDirection, parameters, row_bar};
use crate::lease::cells::{LeaseScenario, run as run_cells};
use crate::lease::design::{Design, LENDERS};
use crate::lease::row::LeaseRow;
use crate::lease::scenario::Scenario;
use crate::lease::world::{LeaseSetting, MILLI, Plot, skewed};
use crate::report::{Bar, Line, PlotFigure, Report};
use crate::supply::stage::Phase;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut cells = limits();
    cells.extend(rivals());
    cells.extend(crowds());
    cells.extend(moves());
    cells.extend(weathers());
    let ran = run_cells(&cells, seeds, ask);
    Report {
        title: "What leases use of what one bucket admits".to_owned(),
        about: "Ten clients, Poisson arrivals by Zipf's law, 1.0 to 1.2 ms one way, terms of 2 s, clocks off by up to 500 ppm, 30 s. Admitted is \
                what passed here of what one exact bucket without any delay admits of the same arrivals."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("clients", "10"), ("term", "2 s")]),
        failure: failure(&ran.rows),
        bars: judge(&ran.rows),
        figures: figures(&ran.rows),
        conclusion: conclude(&ran.rows),
        closing: closing(&ran.rows),
        lease: ran.rows,
        ..Report::default()
    }
}

pub(super) fn steady_name(per_second: u64, burst_ms: u64, load: u64) -> String {
    let burst = seconds(burst_ms);
    format!("{per_second}/s, burst {burst}, {}", times(load))
}

/// A load as a multiple of the limit.
pub(super) fn times(load: u64) -> String {
    let text = format!("{}.{:02}", load / 100, load % 100);
    format!("{}x", text.trim_end_matches('0').trim_end_matches('.'))
}

pub(super) fn seconds(millis: u64) -> String {
    format!("{} s", thousandths(millis))
}

fn thousandths(count: u64) -> String {
    let text = format!("{}.{:03}", count / 1_000, count % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn steady(scenario: &str, design: Design, setting: &LeaseSetting, load: u64) -> LeaseScenario {
    let setting = setting.clone();
    LeaseScenario::new(scenario, design, move |seed| {
        Plot::steady(setting.clone(), load, seed)
    })
}

/// Leases by limit, burst and load.
fn limits() -> Vec<LeaseScenario> {
    let mut cells = Vec::new();
    for ((per_second, burst_ms), told) in told::FRESH {
        for (load, told) in LOADS.into_iter().zip(told) {
            let setting = LeaseSetting::usual(per_second, burst_ms);
            let name = steady_name(per_second, burst_ms, load);
            cells.push(LeaseScenario {
                seeds_max: if per_second > 1_000 { 4 } else { u64::MAX },
                ..steady(&name, Design::Lease, &setting, load).told(told.map(known))
            });
        }
    }
    cells
}

/// Every other design at 1,000/s.
fn rivals() -> Vec<LeaseScenario> {
    let sync = |keeps| Design::Sync {
        interval_ns: 100 * MILLI,
        keeps,
    };
    let mut designs = LENDERS.to_vec();
    designs.retain(|design| *design != Design::Lease);
    designs.extend([sync(true), sync(false)]);
    let mut cells = Vec::new();
    for burst_ms in [1_000, 100] {
        for load in LOADS {
            for design in &designs {
                let setting = LeaseSetting::usual(1_000, burst_ms);
                let cell = steady(&steady_name(1_000, burst_ms, load), *design, &setting, load);
                let told = told::SCHEMES
                    .iter()
                    .find(|(name, _)| *name == design.name());
                let at = LOADS.iter().position(|own| *own == load).unwrap_or(0);
                let figures = told.filter(|_| burst_ms == 1_000).map(|(_, own)| own[at]);
                cells.push(LeaseScenario {
                    seeds_max: 3,
                    ..cell.told(figures.map_or([None; 3], |own| own.map(known)))
                });
            }
        }
    }
    cells
}

/// More clients, and other skews.
fn crowds() -> Vec<LeaseScenario> {
    let mut cells = Vec::new();
    let told = |clients: u16, load: u64| match (clients, load) {
        (30, 90) => [1.0, 0.17, 0.03],
        (30, 120) => [0.987, f64::NAN, f64::NAN],
        (30, _) => [0.996, 0.11, 0.03],
        (_, 90) => [1.0, 0.66, 0.1],
        (_, 120) => [0.976, f64::NAN, f64::NAN],
        _ => [0.994, 0.29, 0.1],
    };
    for clients in [30, 100] {
        for load in [90, 120, 200] {
            let setting = LeaseSetting {
                clients,
                ..LeaseSetting::usual(1_000, 1_000)
            };
            let name = format!("{clients} clients, {}", times(load));
            cells.push(LeaseScenario {
                seeds_max: 2,
                ..steady(&name, Design::Lease, &setting, load).told(told(clients, load).map(known))
            });
        }
    }
    for tenths in [0, 7, 15] {
        for load in [120, 200] {
            let name = format!("Zipf {}, {}", f64::from(tenths) / 10.0, times(load));
            cells.push(LeaseScenario {
                seeds_max: 3,
                ..LeaseScenario::new(&name, Design::Lease, move |seed| {
                    let setting = LeaseSetting::usual(1_000, 1_000);
                    let rates = skewed(setting.demand(load), setting.clients, tenths);
                    Plot {
                        phases: vec![Phase { at: 0, rates }],
                        ..Plot::steady(setting, load, seed)
                    }
                })
            });
        }
    }
    cells
}

fn moves() -> Vec<LeaseScenario> {
    let mut cells = Vec::new();
    for burst_ms in [1_000, 100] {
        for (at, scenario) in Scenario::ALL.into_iter().enumerate() {
            for design in [Design::Lease, Design::Token, Design::Rate] {
                let name = format!("{}, burst {}", scenario.name(), seconds(burst_ms));
                let told = told::MOVES
                    .iter()
                    .find(|((burst, own), _)| *burst == burst_ms && *own == design.name())
                    .map(|(_, own)| own[at]);
                let cell = LeaseScenario::new(&name, design, move |seed| {
                    scenario.plot(LeaseSetting::usual(1_000, burst_ms), seed)
                });
                cells.push(cell.told([told, None, None]));
            }
        }
    }
    cells
}

fn weathers() -> Vec<LeaseScenario> {
    let mut cells = Vec::new();
    let with = |weather: Conditions| LeaseSetting {
        weather,
        ..LeaseSetting::usual(1_000, 1_000)
    };
    for (micros, told) in told::DISTANCES {
        let setting = with(Conditions::between(micros * 1_000, micros * 1_200));
        for (load, [admitted, waited]) in [90, 200].into_iter().zip(told) {
            let name = format!("one way {} ms, {}", thousandths(micros), times(load));
            let cell = steady(&name, Design::Lease, &setting, load);
            cells.push(LeaseScenario {
                seeds_max: 3,
                ..cell.told([Some(admitted), None, Some(waited)])
            });
        }
    }
    for (percent, told) in told::LOSSES {
        let setting = with(Conditions {
            loss: percent * 10_000,
            ..LeaseSetting::usual(1_000, 1_000).weather
        });
        for (load, admitted) in [90, 200].into_iter().zip(told) {
            for design in [Design::Lease, Design::Fixed(10), Design::Ask] {
                let name = format!("{percent} % lost, {}", times(load));
                let told = (design == Design::Lease).then_some(admitted);
                cells.push(LeaseScenario {
                    seeds_max: 3,
                    ..steady(&name, design, &setting, load).told([told, None, None])
                });
            }
        }
    }
    cells
}

fn judge(rows: &[LeaseRow]) -> Vec<Bar> {
    let least = |per_second, burst_ms, load| {
        of(rows, &steady_name(per_second, burst_ms, load), |row| {
            row.least
        })
    };
    let three = |name: &str, burst_ms, load, marks: [f64; 3]| {
        let figures: Vec<_> = [100, 1_000, 10_000]
            .map(|limit| least(limit, burst_ms, load))
            .into_iter()
            .zip(marks)
            .collect();
        row_bar(name, BarDirection::Least, 3, &figures)
    };
    let at = |name: &str| of(rows, name, |row| row.least);
    let moved = |scenario: &str| {
        of(rows, &format!("{scenario}, burst 1 s"), |row| {
            row.least.map(|least| 100.0 * (1.0 - least))
        })
    };
    let double = steady_name(1_000, 1_000, 200);
    vec![
        three(
            "L4 least admitted/central at 2x, burst 1 s: 100 / 1,000 / 10,000 per s",
            1_000,
            200,
            [0.97, 0.985, 0.985],
        ),
        three("L5 the same at 1.2x", 1_000, 120, [0.94, 0.975, 0.975]),
        three("L6 the same at 0.9x", 1_000, 90, [0.99, 0.995, 0.995]),
        three("L7 burst 0.1 s, 2x", 100, 200, [0.96, 0.98, 0.985]),
        row_bar(
            "L11 least Jain's index; worst-off client, 1,000/s, 2x",
            BarDirection::Least,
            3,
            &[
                (of(rows, &double, |row| row.more.jain), 0.98),
                (of(rows, &double, |row| row.more.worst_client), 0.8),
            ],
        ),
        row_bar(
            "L12 most lost, %, moving demand: step / flash / idle / surge",
            BarDirection::Most,
            2,
            &[
                (moved("step"), 2.0),
                (moved("flash"), 2.5),
                (moved("idle"), 2.5),
                (moved("surge"), 3.0),
            ],
        ),
        row_bar(
            "L16 least admitted/central at 2x with 10 % / 20 % lost each way",
            BarDirection::Least,
            3,
            &[(at("10 % lost, 2x"), 0.98), (at("20 % lost, 2x"), 0.97)],
        ),
        row_bar(
            "L17 least admitted/central at 2x, 50 ms one way",
            BarDirection::Least,
            3,
            &[(at("one way 50 ms, 2x"), 0.96)],
        ),
    ]
}

/// Admitted of central by load, one line per design.
#[allow(clippy::cast_precision_loss, reason = "a plot")]
fn figures(rows: &[LeaseRow]) -> Vec<PlotFigure> {
    let one = |burst_ms: u64| {
        let line = |design: Design| Line {
            name: design.name(),
            is_reference: false,
            points: LOADS
                .into_iter()
                .filter_map(|load| {
                    let name = steady_name(1_000, burst_ms, load);
                    let row = find(rows, &name, &design.name())?;
                    Some((load as f64 / 100.0, row.admitted?))
                })
                .collect(),
        };
        PlotFigure {
            name: format!("admitted-{burst_ms}"),
            title: format!(
                "Admitted of what one bucket admits, 1,000/s, burst {}",
                seconds(burst_ms)
            ),
            x_label: "demand, in parts of the limit".to_owned(),
            y_label: "admitted of central".to_owned(),
            x_log: true,
            lines: LENDERS.into_iter().map(line).collect(),
            ..PlotFigure::default()
        }
    };
    vec![one(1_000), one(100)]
}

fn conclude(rows: &[LeaseRow]) -> String {
    let admitted = |design: &str| {
        let name = steady_name(1_000, 1_000, 120);
        find(rows, &name, design)
            .and_then(|row| row.admitted)
            .unwrap_or(f64::NAN)
    };
    format!(
        "At 1.2 times a limit of 1,000/s leases admit {:.3} of what one bucket does, token leases {:.3}, rate leases {:.3}, \
         fixed leases of ten {:.3}; none admits one request too many.",
        admitted("lease"),
        admitted("token"),
        admitted("rate"),
        admitted("fixed 10"),
    )
}
