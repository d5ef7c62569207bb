//! Random schedules of faults: is ever more admitted than one bucket would, and is everything back soon after?
//!
//! Not here: the schedules.

use super::{closing, failure};
use crate::catalogue::RunRequest;
use crate::experiment::{bar, commas, parameters, verdict};
use crate::lease::cells::{LeaseScenario, run as run_cells};
use crate::lease::design::Design;
use crate::lease::row::LeaseRow;
use crate::lease::schedule::{ScheduleKind, fast, plot};
use crate::lease::world::{MILLI, Recovery};
use crate::report::{Bar, Report};

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let ran = run_cells(&cells(seeds), seeds, ask);
    let bars = judge(&ran.rows);
    Report {
        title: "Never one token over, whatever fails".to_owned(),
        about: "Two to eight clients lease from one bucket of 20 to 1,000 tokens per second. For up to 12 s clients crash and come \
                back, also within 3 ms, are cut off, the grantor falls and has a successor, demand goes from nothing to five times the \
                limit; messages take 0.1 to 100 ms, overtake each other, up to a fifth is lost and a fifth doubled; clocks drift by 500 ppm \
                or 2 %. Then 8 s without faults. After every event of the protocol, what can be spent is compared with one bucket \
                that is charged at each admission, what is held with what is reserved, and what is reserved with what there is."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("clients", "2 to 8"), ("limit", "20 to 1,000/s")]),
        failure: failure(&ran.rows),
        conclusion: conclude(&ran.rows),
        closing: closing(&ran.rows),
        lease: ran.rows,
        bars,
        ..Report::default()
    }
}

fn cells(seeds: u64) -> Vec<LeaseScenario> {
    let few = seeds.div_ceil(5);
    let one = |scenario: &str, design: Design, kind: ScheduleKind, seeds_max: u64| LeaseScenario {
        seeds_max,
        ..LeaseScenario::new(scenario, design, move |seed| plot(kind, seed))
    };
    let with = |recovery| ScheduleKind {
        recovery: Some(recovery),
        ..ScheduleKind::ANY
    };
    let jumps = ScheduleKind {
        has_jumps: true,
        ..ScheduleKind::ANY
    };
    let sync = |keeps| Design::Sync {
        interval_ns: 100 * MILLI,
        keeps,
    };
    vec![
        one(FAULTS, Design::Lease, ScheduleKind::ANY, seeds),
        one(
            "faults, quarantine",
            Design::Lease,
            with(Recovery::Quarantine),
            few,
        ),
        one(
            "faults, restate",
            Design::Lease,
            with(Recovery::Restate),
            few,
        ),
        one("faults, ledger", Design::Lease, with(Recovery::Ledger), few),
        one("faults, clocks jump", Design::Lease, jumps, few),
        one(FAULTS, Design::Token, ScheduleKind::ANY, few),
        one(FAULTS, Design::Rate, ScheduleKind::ANY, few),
        one(FAULTS, Design::Fixed(10), ScheduleKind::ANY, few),
        one(FAULTS, Design::Ask, ScheduleKind::ANY, few),
        one(FAULTS, sync(true), ScheduleKind::ANY, few),
        one(FAULTS, sync(false), ScheduleKind::ANY, few),
        LeaseScenario {
            mutant: Some("mutant: a successor takes the bucket for full"),
            ..one(FAULTS, Design::Lease, with(Recovery::Careless), few)
        },
        LeaseScenario {
            mutant: Some("mutant: clocks off by 3 % more than they may"),
            seeds_max: few,
            ..LeaseScenario::new("nothing fails", Design::Lease, |seed| fast(30_000, seed))
        },
    ]
}

const FAULTS: &str = "faults";
/// What the bars ask for.
const SCHEDULES_MIN: u64 = 500;
const CHECKS_MIN: u64 = 3_000_000;

fn judge(rows: &[LeaseRow]) -> Vec<Bar> {
    let ours: Vec<&LeaseRow> = rows.iter().filter(|row| row.design == "lease").collect();
    let sum = |pick: fn(&LeaseRow) -> u64| ours.iter().map(|row| pick(row)).sum::<u64>();
    let (over, broken) = (
        sum(|row| row.over.unwrap_or(0)),
        sum(|row| row.violations.unwrap_or(0)),
    );
    let (schedules, checks) = (sum(|row| row.seeds), sum(|row| row.checks.unwrap_or(0)));
    let is_enough = schedules >= SCHEDULES_MIN;
    let looked = format!("{} schedules, {} checks", commas(schedules), commas(checks));
    let least = ours.iter().filter_map(|row| row.more.back).reduce(f64::min);
    let most = ours.first().and_then(|row| row.more.back_most);
    vec![
        bar(
            "L1 requests over the envelope, any fault schedule",
            "0 in ≥ 500 schedules",
            format!("{} in {looked}", commas(over)),
            verdict(over == 0, is_enough),
        ),
        bar(
            "L2 what can be spent ≤ the bucket; held ≤ reserved; reserved ≤ what there is",
            "0 violations in ≥ 3,000,000 checks",
            format!("{} in {looked}", commas(broken)),
            verdict(broken == 0, checks >= CHECKS_MIN),
        ),
        bar(
            "L15 admitted/central 4 to 8 s after the last fault",
            "≥ 0.85 in all, ≥ 0.95 in 95 %",
            format!(
                "least {:.3}, {:.1} % at 0.95",
                least.unwrap_or(f64::NAN),
                100.0 * most.unwrap_or(f64::NAN)
            ),
            least
                .zip(most)
                .map(|(least, most)| least >= 0.85 && most >= 0.95),
        ),
    ]
}

fn conclude(rows: &[LeaseRow]) -> String {
    let over = |name: &str| -> u64 {
        let own = rows.iter().filter(|row| row.design.starts_with(name));
        own.filter_map(|row| row.over).sum()
    };
    let mutants = rows.iter().filter(|row| row.design.starts_with("mutant"));
    let is_seen = |row: &&LeaseRow| row.violations.unwrap_or(0) > 0;
    let (seen, missed): (Vec<&LeaseRow>, Vec<_>) = mutants.partition(is_seen);
    format!(
        "Leases admitted {} requests too many, whatever failed; `sync` {}. Of two ways to break the rules that the world itself offers, \
         {} are seen{}.",
        commas(over("lease")),
        commas(over("sync")),
        seen.len(),
        if missed.is_empty() {
            ""
        } else {
            ", which is too few"
        },
    )
}
