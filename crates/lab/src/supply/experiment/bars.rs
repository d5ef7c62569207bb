//! What must hold of supply, and whether it does.
//!
//! Not here: the experiments that show it at length, and bugs planted in the protocol itself, which `cargo xtask
//! mutants` hunts.

use super::convergence;
use super::faults::{self, TUNING, leased};
use super::scenarios::LEASED;
use super::{cell, failure};
use crate::catalogue::RunRequest;
use crate::experiment::{bar, commas, parameters, verdict};
use crate::report::{Bar, Report};
use crate::supply::cells::{SupplyScenario, run as run_cells};
use crate::supply::design::SupplyDesign;
use crate::supply::loans::Tuning;
use crate::supply::rounds::{DemandSpread, ExchangeRule};
use crate::supply::row::SupplyRow;
use crate::supply::scenario::Scenario;

/// Schedules in which supply must come back.
const BACK_SEEDS: u64 = 150;
/// Runs of each scenario.
const SCENARIO_SEEDS: u64 = 3;
/// Schedules that every planted bug is put into.
const MUTANT_SEEDS: u64 = 150;
/// Seeds of the rounds until even.
const ROUND_SEEDS: u64 = 11;
/// So many schedules and looks are asked for.
const SCHEDULES_MIN: u64 = 500;
const CHECKS_MIN: u64 = 5_000_000;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let ran = run_cells(&cells(seeds), seeds, ask);
    let mut rows = ran.rows;
    let quiet = RunRequest {
        progress: &|_, _| {},
        ..*ask
    };
    rows.extend(convergence::rules(
        seeds.min(ROUND_SEEDS),
        &quiet,
        &[ExchangeRule::Group],
    ));
    let bars = judge(&rows);
    let met = bars.iter().filter(|bar| bar.met == Some(true)).count();
    let missed: Vec<&str> = bars
        .iter()
        .filter(|bar| bar.met == Some(false))
        .map(|bar| &*bar.name)
        .collect();
    let conclusion = if missed.is_empty() {
        format!("{met} of {} bars are met.", bars.len())
    } else {
        format!(
            "{met} of {} bars are met. Missed: {}.",
            bars.len(),
            missed.join("; ")
        )
    };
    Report {
        title: "What must hold of supply".to_owned(),
        about: "Over-admission and invariants under random faults, rounds until even, what is lost against a central limiter, what a \
                failure costs, whether all supply comes back, and messages."
            .to_owned(),
        parameters: parameters(seeds, ask, &[]),
        failure: failure(&rows),
        supply: rows,
        bars,
        conclusion,
        ..Report::default()
    }
}

fn cells(seeds: u64) -> Vec<SupplyScenario> {
    let mut cells = Vec::new();
    for design in faults::designs() {
        let most = if design.may_break() {
            MUTANT_SEEDS
        } else {
            seeds
        };
        cells.push(faults::cell(design, most.min(seeds)));
    }
    let few = |own: SupplyScenario| SupplyScenario {
        seeds_max: SCENARIO_SEEDS,
        ..own
    };
    let ours = SupplyDesign::Loans(LEASED);
    for nodes in [10, 30] {
        for scenario in [
            Scenario::Steady90,
            Scenario::Step,
            Scenario::Flash,
            Scenario::Idle,
        ] {
            cells.push(few(cell(scenario, ours, nodes)));
        }
    }
    for scenario in [Scenario::Crash, Scenario::Netsplit] {
        cells.push(few(cell(scenario, ours, 10)));
        cells.push(few(cell(scenario, SupplyDesign::Loans(Tuning::USUAL), 10)));
    }
    for scenario in [
        Scenario::Steady120,
        Scenario::Steady240,
        Scenario::Steady480,
    ] {
        cells.push(few(cell(scenario, ours, 10)));
    }
    cells
}

fn judge(rows: &[SupplyRow]) -> Vec<Bar> {
    let mut bars = safety(rows);
    bars.extend(rounds(rows));
    bars.extend(lost(rows));
    bars.extend(failures(rows));
    bars.push(back(rows));
    bars.extend(messages(rows));
    bars
}

fn find<'a>(
    rows: &'a [SupplyRow],
    scenario: &str,
    design: SupplyDesign,
    nodes: u16,
) -> Option<&'a SupplyRow> {
    let name = design.name();
    rows.iter()
        .find(|row| row.scenario == scenario && row.design == name && row.nodes == nodes)
}

/// The protocol under random faults, without and with a lease.
fn in_faults(rows: &[SupplyRow]) -> Vec<&SupplyRow> {
    [TUNING, leased()]
        .into_iter()
        .filter_map(|tuning| find(rows, "faults", SupplyDesign::Loans(tuning), 5))
        .collect()
}

fn safety(rows: &[SupplyRow]) -> Vec<Bar> {
    let ours = in_faults(rows);
    let sum = |pick: fn(&SupplyRow) -> u64| ours.iter().map(|row| pick(row)).sum::<u64>();
    let checks = sum(|row| row.checks.unwrap_or(0));
    let all_over: u64 = rows
        .iter()
        .filter(|row| !row.may_break)
        .filter_map(|row| row.over)
        .sum();
    let broken: u64 = rows
        .iter()
        .filter(|row| !row.may_break)
        .filter_map(|row| row.violations)
        .sum();
    let schedules = sum(|row| row.seeds);
    let is_enough = schedules >= SCHEDULES_MIN && checks >= CHECKS_MIN;
    let looked = format!("{} schedules, {} checks", commas(schedules), commas(checks));
    let mutants = faults::mutants(rows);
    let verdict = |bad: u64| verdict(bad == 0, is_enough);
    vec![
        bar(
            "G1 over-admission against one bucket, any fault schedule",
            "0 in ≥ 500 schedules and ≥ 5,000,000 checks",
            format!("{} in {looked}", commas(all_over)),
            verdict(all_over),
        ),
        bar(
            "G2 sum of usable ≤ limit, books balance, in integers",
            "0 violations",
            format!("{} in {looked}", commas(broken)),
            verdict(broken),
        ),
        bar(
            "G3 planted bugs are found",
            "all",
            mutants.clone(),
            Some(mutants.starts_with("All")),
        ),
    ]
}

fn rounds(rows: &[SupplyRow]) -> Vec<Bar> {
    let one = |id: &str, load: DemandSpread, most: [f64; 4]| {
        let found: Vec<Option<f64>> = [10, 30, 100, 300]
            .map(|nodes| convergence::rounds_at(rows, ExchangeRule::Group, load, nodes))
            .into();
        let met = found
            .iter()
            .zip(most)
            .map(|(own, most)| own.map(|own| own <= most))
            .try_fold(true, |all, own| Some(all && own?));
        let most = most.map(|most| format!("{most:.0}")).join("/");
        bar(
            id,
            &format!("≤ {most}"),
            convergence::rounds_of(rows, ExchangeRule::Group, load),
            met,
        )
    };
    vec![
        one(
            "G4 rounds to 5 %, spread demand, N = 10/30/100/300",
            DemandSpread::Spread,
            [6.0, 8.0, 10.0, 10.0],
        ),
        one(
            "G5 rounds to 5 %, hot node, N = 10/30/100/300",
            DemandSpread::Hot,
            [8.0, 10.0, 16.0, 38.0],
        ),
    ]
}

fn lost(rows: &[SupplyRow]) -> Vec<Bar> {
    let scenarios = ["steady90", "step", "flash", "idle"];
    let one = |id: &str, nodes: u16, most: [f64; 4]| {
        let found = scenarios.map(|scenario| {
            find(rows, scenario, SupplyDesign::Loans(LEASED), nodes)
                .and_then(|row| row.lost_percent)
        });
        let met = found
            .iter()
            .zip(most)
            .map(|(own, most)| own.map(|own| own <= most))
            .try_fold(true, |all, own| Some(all && own?));
        let text = |value: Option<f64>| value.map_or("–".to_owned(), |own| format!("{own:.2}"));
        bar(
            id,
            &format!("≤ {} %", most.map(|most| most.to_string()).join(" / ")),
            format!("{} %", found.map(text).join(" / ")),
            met,
        )
    };
    vec![
        one(
            "G6 lost, N = 10: steady90 / step / flash / idle",
            10,
            [0.1, 0.5, 0.5, 2.5],
        ),
        one(
            "G7 lost, N = 30: steady90 / step / flash / idle",
            30,
            [0.3, 1.0, 1.0, 3.5],
        ),
    ]
}

fn failures(rows: &[SupplyRow]) -> Vec<Bar> {
    let one = |id: &str, scenario: &str, most: f64| {
        let found: Vec<&SupplyRow> = [LEASED, Tuning::USUAL]
            .into_iter()
            .filter_map(|tuning| find(rows, scenario, SupplyDesign::Loans(tuning), 10))
            .collect();
        let costs: Vec<f64> = found.iter().filter_map(|row| row.more.lost_s).collect();
        let over: u64 = found.iter().filter_map(|row| row.over).sum();
        let met = costs.iter().all(|cost| *cost <= most) && over == 0;
        let told: Vec<String> = costs.iter().map(|cost| format!("{cost:.2}")).collect();
        bar(
            id,
            &format!("≤ {most} s of the limit, 0 over"),
            format!("{} s, {over} over", told.join(" and ")),
            (!costs.is_empty()).then_some(met),
        )
    };
    vec![
        one(
            "G8 crash of the busiest of 10 for 20 s, lease 60 s and none",
            "crash",
            0.5,
        ),
        one(
            "G9 netsplit of a third for 20 s, lease 60 s and none",
            "netsplit",
            1.5,
        ),
    ]
}

fn back(rows: &[SupplyRow]) -> Bar {
    let ours = in_faults(rows);
    let runs: u64 = ours.iter().map(|row| row.seeds).sum();
    let whole = |row: &&SupplyRow| row.more.back.is_some_and(|back| back >= 0.9995);
    let least = ours
        .iter()
        .filter_map(|row| row.more.back)
        .fold(f64::INFINITY, f64::min);
    let recovered: u64 = ours.iter().filter_map(|row| row.recovered).sum();
    bar(
        "G10 8 s after the last fault the nodes have the whole limit",
        "all of ≥ 150 schedules",
        format!(
            "{} of {} at 98 %, the least {least:.4} of the limit",
            commas(recovered),
            commas(runs)
        ),
        (runs >= 2 * BACK_SEEDS).then_some(ours.iter().all(whole)),
    )
}

fn messages(rows: &[SupplyRow]) -> Vec<Bar> {
    let at = |scenario: &str| {
        find(rows, scenario, SupplyDesign::Loans(LEASED), 10)
            .and_then(|row| row.messages_per_node_s)
    };
    let text = |value: Option<f64>| value.map_or("–".to_owned(), |own| format!("{own:.0}"));
    let (calm, loaded) = (at("steady90"), at("steady120"));
    let (twice, fourfold) = (at("steady240"), at("steady480"));
    let within = |value: Option<f64>, most: f64| value.map(|value| value <= most);
    let met = within(calm, 1.5 * 215.0)
        .zip(within(loaded, 1.5 * 311.0))
        .map(|(calm, loaded)| calm && loaded);
    // Fifteen times as many refusals may bring a tenth more.
    let grows = loaded.map(|loaded| 1.1 * loaded);
    let bounded = grows.and_then(|most| {
        let twice = within(twice, most)?;
        Some(twice && within(fourfold, most)?)
    });
    vec![
        bar(
            "G11 messages per node and second, N = 10, demand 0.9 / 1.2",
            "≤ 322 / 466",
            format!("{} / {}", text(calm), text(loaded)),
            met,
        ),
        bar(
            "G11 the same must not grow with refusals, demand 1.2 / 2.4 / 4.8",
            "no growth beyond a tenth",
            format!("{} / {} / {}", text(loaded), text(twice), text(fourfold)),
            bounded,
        ),
    ]
}
