//! The older scheme beside its formula: every client has the whole bucket and is told now and then.
//!
//! Not here: leases.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use tollgate_lease::{Limits, Overdraft, SyncConfig};
use tollgate_sim::Conditions;

use super::told::{self, known};
use crate::catalogue::RunRequest;
use crate::experiment::{bar, commas, parameters};
use crate::lease::cells::{LeaseScenario, run as run_cells};
use crate::lease::design::Design;
use crate::lease::row::{LeaseRow, LeaseSync};
use crate::lease::world::{LeaseSetting, MILLI, Plot, SECOND};
use crate::report::{Bar, Line, PlotFigure, Report};
use crate::supply::stage::{PER_SECOND, Phase};

const PER_S: u64 = 1_000;
const BURST: u64 = 100;
const TRIP: u64 = 2 * MILLI;
const UNTIL: u64 = 30 * SECOND;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let cells: Vec<LeaseScenario> = told::SYNC
        .into_iter()
        .flat_map(|((clients, millis), _)| [true, false].map(|keeps| cell(clients, millis, keeps)))
        .collect();
    let mut ran = run_cells(&cells, seeds, ask);
    let both = told::SYNC
        .into_iter()
        .flat_map(|one| [(one, true), (one, false)]);
    for ((row, slots), (((clients, millis), told), keeps)) in
        ran.rows.iter_mut().zip(&ran.slots).zip(both)
    {
        row.more.bound = Some(config(millis, keeps).over_max(clients.into(), TRIP));
        row.sync = Some(figures_of(slots, clients, millis, told, keeps));
    }
    Report {
        title: "Synchronising now and then admits too much".to_owned(),
        about: "Every client is asked 1.5 times a limit of 1,000/s with a burst of 100; a round trip takes 2 ms. Each has the whole bucket and tells a \
                centre every so often what it spent. First: the most admitted beyond burst and refill in the first second or two intervals. Steady: the most \
                in one interval and round trip from 10 s on, beyond refill. Both beside (M−1)(B + r(I + round trip)) and (M−1)·r·(I + round trip)."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("limit", "1,000/s"), ("burst", "100")]),
        bars: vec![judge(&ran.rows)],
        figures: vec![figure(&ran.rows)],
        conclusion: conclude(&ran.rows),
        lease: ran.rows,
        ..Report::default()
    }
}

fn cell(clients: u16, millis: u64, keeps: bool) -> LeaseScenario {
    let design = Design::Sync {
        interval_ns: millis * MILLI,
        keeps,
    };
    let name = format!("{clients} clients, every {millis} ms");
    LeaseScenario::new(&name, design, move |seed| Plot {
        setting: LeaseSetting {
            burst: BURST,
            clients,
            until: UNTIL,
            slot_ns: MILLI,
            weather: Conditions::between(TRIP / 2, TRIP / 2),
            ..LeaseSetting::usual(PER_S, 1_000)
        },
        phases: vec![Phase {
            at: 0,
            rates: vec![PER_S * PER_SECOND * 3 / 2; usize::from(clients)],
        }],
        changes: Vec::new(),
        seed,
    })
}

fn config(millis: u64, keeps: bool) -> SyncConfig {
    // A limit and a burst above zero are always a bucket.
    let limits = Limits::new(PER_S, 1_000_000_000, BURST);
    let one = Limits::new(1, 1, 1);
    let limits = limits
        .or(one)
        .unwrap_or_else(|_| unreachable!("one is not zero"));
    SyncConfig {
        limits,
        interval_ns: millis * MILLI,
        keep: if keeps {
            Overdraft::Debt
        } else {
            Overdraft::Nothing
        },
    }
}

/// What the slots of a run, a millisecond each, say.
fn figures_of(
    slots: &[(u32, u32)],
    clients: u16,
    millis: u64,
    told: [f64; 4],
    keeps: bool,
) -> LeaseSync {
    let own: Vec<u64> = slots.iter().map(|(own, _)| u64::from(*own)).collect();
    let span = usize::try_from(millis + TRIP / MILLI).unwrap_or(usize::MAX);
    let per_slot = PER_S as f64 / 1_000.0;
    let mut sum = 0;
    let first = own
        .iter()
        .take((2 * span).max(1_000))
        .enumerate()
        .map(|(at, count)| {
            sum += count;
            sum as f64 - BURST as f64 - per_slot * (at + 1) as f64
        });
    let first = first.fold(0.0, f64::max);
    let late = own.get(10_000..).unwrap_or(&[]);
    let windows = late.windows(span.max(1));
    let steady = windows.map(|own| own.iter().sum::<u64>()).max();
    let steady = steady.map_or(0.0, |most| (most as f64 - per_slot * span as f64).max(0.0));
    let half = own.get(15_000..).unwrap_or(&[]);
    let others = f64::from(clients.saturating_sub(1));
    let refill = per_slot * span as f64;
    LeaseSync {
        first,
        first_bound: others * (BURST as f64 + refill),
        steady,
        steady_bound: others * refill,
        long_run: half.iter().sum::<u64>() as f64 / (per_slot * half.len().max(1) as f64),
        expected_first: known(told[0]).filter(|_| keeps),
        expected_steady: known(told[1]).filter(|_| keeps),
        expected_long_run: known(if keeps { told[2] } else { told[3] }),
    }
}

/// What it says of itself holds where debts are kept: formula and burst.
fn judge(rows: &[LeaseRow]) -> Bar {
    let kept: Vec<&LeaseRow> = rows
        .iter()
        .filter(|row| row.design.ends_with("kept"))
        .collect();
    let holds = |row: &&&LeaseRow| {
        let (worst, bound) = (row.more.worst.unwrap_or(0), row.more.bound.unwrap_or(0));
        worst <= bound + BURST
    };
    let count = kept.iter().filter(holds).count();
    bar(
        "L19 `sync` without faults: measured overshoot ≤ its exported formula + burst",
        "all cells in which debts are kept",
        format!("{count} of {}", kept.len()),
        Some(count == kept.len()),
    )
}

fn figure(rows: &[LeaseRow]) -> PlotFigure {
    let line = |clients: u16, is_bound: bool| Line {
        name: format!(
            "{clients} clients{}",
            if is_bound { ", formula" } else { "" }
        ),
        is_reference: is_bound,
        points: told::SYNC
            .into_iter()
            .filter(|((own, _), _)| *own == clients)
            .filter_map(|((_, millis), _)| {
                let name = format!("{clients} clients, every {millis} ms");
                let kept = |row: &&LeaseRow| row.scenario == name && row.design.ends_with("kept");
                let row = rows.iter().find(kept)?;
                let figure = if is_bound {
                    row.more.bound
                } else {
                    row.more.worst
                };
                Some((millis as f64, figure? as f64))
            })
            .collect(),
    };
    PlotFigure {
        name: "overshoot".to_owned(),
        title: "The most that one bucket was short of, debts kept".to_owned(),
        x_label: "interval, ms".to_owned(),
        y_label: "requests".to_owned(),
        x_log: true,
        y_log: true,
        lines: [3, 10, 30]
            .into_iter()
            .flat_map(|clients| [line(clients, false), line(clients, true)])
            .collect(),
    }
}

fn conclude(rows: &[LeaseRow]) -> String {
    let worst = rows
        .iter()
        .filter(|row| row.design.ends_with("kept"))
        .filter_map(|row| row.more.worst)
        .max();
    let forgets = rows
        .iter()
        .filter(|row| row.design.ends_with("forgets"))
        .filter_map(|row| Some(row.sync.as_ref()?.long_run))
        .fold(0.0, f64::max);
    format!(
        "With debts kept one bucket was short of up to {} requests, and everybody starves while that is paid back; as printed, with debts \
         forgotten, up to {forgets:.1} times the limit passes for ever.",
        commas(worst.unwrap_or(0)),
    )
}
