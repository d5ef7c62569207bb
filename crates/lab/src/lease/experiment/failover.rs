//! What one failure costs under several terms: a client, a cut, the grantor with and without its books.
//!
//! Not here: random faults.

use super::told::{self, TERMS};
use super::utilisation::seconds;
use super::{closing, failure, of};
use crate::catalogue::RunRequest;
use crate::experiment::{BarDirection, parameters, row_bar};
use crate::lease::cells::{LeaseScenario, run as run_cells};
use crate::lease::design::Design;
use crate::lease::row::{LeaseExpected, LeaseRow};
use crate::lease::world::{LeaseChange, LeaseSetting, MILLI, Plot, Recovery, SECOND};
use crate::report::{Bar, Line, PlotFigure, Report};

const AT: u64 = 12 * SECOND;
const SLOT: u64 = 100 * MILLI;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let cells = cells();
    let ran = run_cells(&cells, seeds, ask);
    let figures = vec![figure(&ran.rows, &ran.slots)];
    Report {
        title: "What a failure costs, by term".to_owned(),
        about: "Ten clients at 1.5 times a limit of 1,000/s with a burst of a second. Something fails after 12 s; lost is what was admitted less \
                than in the same run without the failure, both beside the central bucket, in seconds of the limit. A client that is down is not \
                asked, here and there."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("limit", "1,000/s"), ("demand", "1.5x")]),
        failure: failure(&ran.rows),
        bars: judge(&ran.rows),
        figures,
        conclusion: conclude(&ran.rows),
        closing: closing(&ran.rows),
        lease: ran.rows,
        ..Report::default()
    }
}

fn changes(failure: &str) -> Vec<(u64, LeaseChange)> {
    let grantor = |recovery| {
        vec![
            (AT, LeaseChange::Fall),
            (AT + 500 * MILLI, LeaseChange::Rise(recovery)),
        ]
    };
    match failure {
        "busiest client crashes" => vec![(AT, LeaseChange::Crash(0))],
        "client restarts in 3 ms" => {
            vec![
                (AT, LeaseChange::Crash(0)),
                (AT + 3 * MILLI, LeaseChange::Restart(0)),
            ]
        }
        "client cut off for 5 s" => {
            vec![
                (AT, LeaseChange::Cut(vec![0])),
                (AT + 5 * SECOND, LeaseChange::Heal),
            ]
        }
        "grantor gone 0.5 s, quarantine" => grantor(Recovery::Quarantine),
        "grantor gone 0.5 s, restate" => grantor(Recovery::Restate),
        _ => grantor(Recovery::Ledger),
    }
}

fn name(failure: &str, term_ms: u64) -> String {
    format!("{failure}, term {}", seconds(term_ms))
}

fn cells() -> Vec<LeaseScenario> {
    let mut cells = Vec::new();
    for (failure, by_term) in told::FAILURES {
        for (term_ms, told) in TERMS.into_iter().zip(by_term) {
            let cell = LeaseScenario::new(&name(failure, term_ms), Design::Lease, move |seed| {
                let setting = LeaseSetting {
                    term_ns: term_ms * MILLI,
                    until: 45 * SECOND,
                    slot_ns: SLOT,
                    ..LeaseSetting::usual(1_000, 1_000)
                };
                Plot {
                    changes: changes(failure),
                    ..Plot::steady(setting, 150, seed)
                }
            });
            cells.push(LeaseScenario {
                is_compared: true,
                expected: LeaseExpected {
                    lost_s: Some(told),
                    ..LeaseExpected::default()
                },
                ..cell
            });
        }
    }
    cells
}

fn lost(rows: &[LeaseRow], failure: &str) -> Option<f64> {
    of(rows, &name(failure, 2_000), |row| row.more.lost_s)
}

fn judge(rows: &[LeaseRow]) -> Vec<Bar> {
    vec![
        row_bar(
            "L13 busiest client crashes, term 2 s, lost in seconds of the limit",
            BarDirection::Most,
            2,
            &[(lost(rows, "busiest client crashes"), 0.8)],
        ),
        row_bar(
            "L14 grantor gone 0.5 s, term 2 s: restate / ledger",
            BarDirection::Most,
            2,
            &[
                (lost(rows, "grantor gone 0.5 s, restate"), 0.5),
                (lost(rows, "grantor gone 0.5 s, ledger"), 0.1),
            ],
        ),
    ]
}

/// Admissions over time around a failure of the grantor.
#[allow(clippy::cast_precision_loss, reason = "a plot")]
fn figure(rows: &[LeaseRow], slots: &[Vec<(u32, u32)>]) -> PlotFigure {
    let whole = 1_000.0 * SLOT as f64 / SECOND as f64;
    let shown = AT / SLOT - 10..AT / SLOT + 60;
    let line = |failure: &str| {
        let at = rows
            .iter()
            .position(|row| row.scenario == name(failure, 2_000));
        let slots = at.and_then(|at| slots.get(at)).map_or(&[][..], |own| own);
        let points = shown.clone().filter_map(|slot| {
            let (own, _) = slots.get(usize::try_from(slot).ok()?)?;
            Some(((slot * SLOT) as f64 / 1e9, f64::from(*own) / whole))
        });
        Line {
            name: failure.to_owned(),
            is_reference: false,
            points: points.collect(),
        }
    };
    PlotFigure {
        name: "failover".to_owned(),
        title: "Admitted around a failure after 12 s, terms of 2 s".to_owned(),
        x_label: "time, s".to_owned(),
        y_label: "admitted in 100 ms, in parts of the limit".to_owned(),
        lines: [
            "busiest client crashes",
            "grantor gone 0.5 s, quarantine",
            "grantor gone 0.5 s, restate",
            "grantor gone 0.5 s, ledger",
        ]
        .map(line)
        .into(),
        ..PlotFigure::default()
    }
}

fn conclude(rows: &[LeaseRow]) -> String {
    let at = |failure: &str| lost(rows, failure).unwrap_or(f64::NAN);
    format!(
        "With terms of 2 s, a crash of the busiest client costs {:.2} s of the limit, a grantor that is gone for 0.5 s {:.2} s where clients say \
         what they hold, {:.2} s with its books and {:.2} s where nobody is heard for a term.",
        at("busiest client crashes"),
        at("grantor gone 0.5 s, restate"),
        at("grantor gone 0.5 s, ledger"),
        at("grantor gone 0.5 s, quarantine"),
    )
}
