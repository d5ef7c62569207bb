//! Figures 9 and 10: publishers that send together, spread over brokers or not, and the same on fresh traffic.
//!
//! Not here: how many rounds it takes to find a placement.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use tollgate_split::plan::place::Principles;

use super::{Drawn, WORST, all, bar, cells, find, finish, parameters, profiled, two};
use crate::catalogue::RunRequest;
use crate::report::{Bar, Report};
use crate::split::fitting::{Fitted, is_kept};
use crate::split::measure::Figures;
use crate::split::row::{Measure, SplitRow};
use crate::split::topic::TopicBucket;
use crate::split::traffic::{Pattern, PublisherTraffic};

const SECONDS: u64 = 60;
const FIGURE: &str = "9";
const FRESH: &str = "fresh";
const BY_K: &str = "9 by brokers";
const SHOWN_MAX: usize = 6;
pub(super) const GROUPS: [u32; 6] = [5, 10, 15, 20, 25, 30];
/// Table 1 of the paper.
const PAPER_K: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const TOLD_K: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0];
/// The reference's: aware, blind at its best, blind with as many brokers as aware.
const TOLD_AWARE: [f64; 6] = [0.93, 0.89, 0.88, 0.87, 0.90, 0.97];
const TOLD_PERIODIC: [f64; 6] = [0.80, 0.74, 0.75, 0.75, 0.61, 0.92];
const TOLD_BEST: [f64; 6] = [0.93, 1.57, 2.25, 2.65, 3.55, 3.91];
const TOLD_SAME: [f64; 6] = [0.93, 17.7, 43.6, 69.7, 46.7, 70.0];
const TOLD_SLACK: [f64; 6] = [0.77, 0.69, 0.88, 0.76, 0.87, 0.97];
const TOLD_BLIND_SLACK: [f64; 6] = [0.77, 0.80, 1.00, 0.98, 0.90, 0.98];
/// Pairs of traces: one that is profiled, one that is fresh.
const PAIRS: u64 = 10;

const BLIND: Principles = Principles {
    correlation: false,
    ..Principles::ALL
};

/// What is found of one group and one seed.
struct Found {
    aware: Figures,
    blind: Figures,
    same: Figures,
    periodic: Figures,
    slack: Figures,
    blind_slack: Figures,
    /// Aware, by brokers.
    by_brokers: Vec<Figures>,
}

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let found = cells(&GROUPS, seeds, ask, |group, seed| run_group(*group, seed));
    let mut rows = Vec::new();
    let mut add = |series: &str, told: [f64; 6], pick: fn(&Found) -> &Figures| {
        for ((group, runs), told) in GROUPS.into_iter().zip(&found).zip(told) {
            let runs: Vec<Figures> = runs.iter().map(|run| pick(run).clone()).collect();
            let x = f64::from(group);
            rows.push(SplitRow::of(FIGURE, series, x, WORST, &runs).told(None, Some(told)));
        }
    };
    add("aware", TOLD_AWARE, |found| &found.aware);
    add("aware, periodic", TOLD_PERIODIC, |found| &found.periodic);
    add("blind, best k", TOLD_BEST, |found| &found.blind);
    add("blind, same k", TOLD_SAME, |found| &found.same);
    add("aware, b × 1.25", TOLD_SLACK, |found| &found.slack);
    add("blind, b × 1.25", TOLD_BLIND_SLACK, |found| {
        &found.blind_slack
    });
    for (((group, runs), paper), told) in GROUPS.into_iter().zip(&found).zip(PAPER_K).zip(TOLD_K) {
        let counts: Vec<f64> = runs.iter().map(|run| f64::from(run.aware.k)).collect();
        let row = SplitRow::plain("10", "aware", f64::from(group), "k", &counts);
        rows.push(row.told(Some(paper), Some(told)));
    }
    rows.extend(by_brokers(&found));
    rows.extend(fresh(ask));
    let bars = bars(&rows, &kept_runs(&found));
    finish(Report {
        title: "Figures 9 and 10: publishers that send together".to_owned(),
        about: "1,000 publishers in groups of x, batches of ten, one batch a second; b as the trace needs it. Brokers are added until every one \
                measures a millisecond or less at the 99th percentile; where none of eight is enough, the best. Then b of one trace, measured on \
                another: x is the slack in percent, ours is how many of ten runs keep the millisecond."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("publishers", "1000"), ("seconds", "60")]),
        figures: figures(&rows),
        conclusion: conclusion(&bars),
        bars,
        split: rows,
        ..Report::default()
    })
}

/// How the slowest broker fares with more of them.
fn by_brokers(found: &[Vec<Found>]) -> Vec<SplitRow> {
    let mut rows = Vec::new();
    for (group, runs) in GROUPS.into_iter().zip(found) {
        for count in 1..=SHOWN_MAX {
            let own: Vec<Figures> = runs
                .iter()
                .filter_map(|run| run.by_brokers.get(count - 1).cloned())
                .collect();
            let series = format!("groups of {group}");
            rows.push(SplitRow::of(BY_K, &series, count as f64, WORST, &own));
        }
    }
    rows
}

fn conclusion(bars: &[Bar]) -> String {
    let told: Vec<String> = bars
        .iter()
        .map(|bar| format!("{}: {}", bar.name, bar.measured))
        .collect();
    format!("{}.", told.join(". "))
}

fn figures(rows: &[SplitRow]) -> Vec<crate::report::PlotFigure> {
    vec![
        Drawn {
            figure: FIGURE,
            title: "Figure 9: groups spread over brokers, or not",
            x: "publishers that send together",
            y: "slowest broker, 99th percentile, ms",
            y_log: true,
        }
        .draw(rows, super::ours),
        Drawn {
            figure: "10",
            title: "Figure 10: brokers that are needed",
            x: "publishers that send together",
            y: "brokers",
            y_log: false,
        }
        .draw(rows, super::ours),
        Drawn {
            figure: BY_K,
            title: "The slowest broker, by brokers: pieces of groups that are not equal cost more than they save",
            x: "brokers",
            y: "slowest broker, 99th percentile, ms",
            y_log: true,
        }
        .draw(rows, super::ours),
        Drawn {
            figure: FRESH,
            title: "Fresh traffic: runs of ten that keep a millisecond",
            x: "burst, percent of what a minute's trace needs",
            y: "runs of ten",
            y_log: false,
        }
        .draw(rows, super::ours),
    ]
}

fn run_group(group: u32, seed: u64) -> Found {
    let fitted = |pattern, slack| {
        let traffic = PublisherTraffic::groups(group, pattern, SECONDS);
        let bursts = traffic.bursts(seed);
        let bucket = profiled(&bursts, slack);
        Fitted::new(&traffic, bursts, bucket, seed)
    };
    let random = fitted(Pattern::Poisson, 100);
    let aware = random.fewest(Principles::ALL);
    let slack = fitted(Pattern::Poisson, 125);
    Found {
        blind: random.fewest(BLIND).figures,
        same: random.at(BLIND, aware.k as usize),
        aware: aware.figures,
        periodic: fitted(Pattern::Periodic, 100)
            .fewest(Principles::ALL)
            .figures,
        slack: slack.fewest(Principles::ALL).figures,
        blind_slack: slack.fewest(BLIND).figures,
        by_brokers: (1..=SHOWN_MAX)
            .map(|count| random.at(Principles::ALL, count))
            .collect(),
    }
}

/// Groups, brokers, and the reference's runs of ten that keep the bound: aware and blind, by slack.
const PLACED: [(u32, usize, [f64; 4], [f64; 4]); 3] = [
    (10, 2, [8.0, 9.0, 10.0, 10.0], [5.0, 8.0, 9.0, 10.0]),
    (20, 4, [4.0, 5.0, 7.0, 10.0], [3.0, 3.0, 6.0, 9.0]),
    (30, 6, [5.0, 8.0, 9.0, 10.0], [4.0, 5.0, 7.0, 9.0]),
];
const SLACKS: [u32; 4] = [100, 125, 150, 200];

fn fresh(ask: &RunRequest<'_>) -> Vec<SplitRow> {
    let quiet = RunRequest {
        progress: &|_, _| {},
        ..*ask
    };
    let mut rows = Vec::new();
    for (group, count, told_aware, told_blind) in PLACED {
        let pairs: Vec<u64> = (0..PAIRS).collect();
        let found = all(&pairs, &quiet, |pair| {
            fresh_pair(group, count, ask.first.wrapping_add(*pair))
        });
        for (place, (name, told)) in [("aware", told_aware), ("blind", told_blind)]
            .into_iter()
            .enumerate()
        {
            for (at, (slack, told)) in SLACKS.into_iter().zip(told).enumerate() {
                let runs: Vec<Figures> = found
                    .iter()
                    .filter_map(|pair| pair.get(at)?.get(place).cloned())
                    .collect();
                let kept = runs.iter().filter(|run| is_kept(run)).count() as f64;
                let series = format!("{name}, groups of {group}");
                let mut row = SplitRow::of(
                    FRESH,
                    &series,
                    f64::from(slack),
                    Measure {
                        what: "runs of 10",
                        ..WORST
                    },
                    &runs,
                );
                (row.more.ours, row.more.ours_min, row.more.ours_max) = (Some(kept), None, None);
                rows.push(row.told(None, Some(told)));
            }
        }
    }
    rows
}

/// The bucket of one trace on another, by slack: aware and blind.
fn fresh_pair(group: u32, count: usize, seed: u64) -> Vec<[Figures; 2]> {
    let traffic = PublisherTraffic::groups(group, Pattern::Poisson, SECONDS);
    let known = profiled(&traffic.bursts(seed), 100);
    let bursts = traffic.bursts(seed.wrapping_add(1_000_000));
    let mut fitted = Fitted::new(&traffic, bursts, known, seed);
    let mut found = Vec::new();
    for slack in SLACKS {
        fitted.bucket = TopicBucket {
            burst: known.burst * u64::from(slack) / 100,
            ..known
        };
        found.push([fitted.at(Principles::ALL, count), fitted.at(BLIND, count)]);
    }
    found
}

/// In how many runs eight brokers at most keep the bound.
fn kept_runs(found: &[Vec<Found>]) -> String {
    let runs = found.iter().flatten();
    let kept = runs.clone().filter(|run| is_kept(&run.aware)).count();
    format!("{kept} of {} runs", runs.count())
}

fn bars(rows: &[SplitRow], kept_runs: &str) -> Vec<Bar> {
    let at = |figure, series: &str, x: u32| {
        find(rows, figure, series, f64::from(x)).and_then(|row| row.more.ours)
    };
    let counts: Vec<Option<f64>> = GROUPS.map(|group| at("10", "aware", group)).into();
    let is_near = counts
        .iter()
        .zip(TOLD_K)
        .all(|(own, told)| own.is_some_and(|own| (own - told).abs() <= 1.0));
    let told = |values: &[Option<f64>], digits: usize| {
        let one = |value: &Option<f64>| {
            value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
        };
        values.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let ratios: Vec<Option<f64>> = GROUPS
        .iter()
        .skip(1)
        .map(|group| Some(at(FIGURE, "blind, same k", *group)? / at(FIGURE, "aware", *group)?))
        .collect();
    let kept: Vec<Option<f64>> = PLACED
        .iter()
        .map(|(group, ..)| at(FRESH, &format!("aware, groups of {group}"), 200))
        .collect();
    let least = ratios
        .iter()
        .copied()
        .flatten()
        .fold(f64::INFINITY, f64::min);
    vec![
        bar(
            "S7 brokers by correlation, groups of 5…30, b in sample",
            "1, 2, 3, 4, 5, 5 ± 1",
            format!("{}; 1 ms is kept in {kept_runs}", told(&counts, 0)),
            Some(is_near),
        ),
        bar(
            "S8 blind over aware at the same k, groups of 10 and more",
            "≥ 5 ×",
            format!("{} × (least {})", told(&ratios, 1), two(Some(least))),
            Some(least >= 5.0),
        ),
        bar(
            "S8b fresh traffic, b × 2, groups of 10 / 20 / 30, aware",
            "≥ 9 of 10",
            told(&kept, 0),
            Some(kept.iter().all(|kept| kept.is_some_and(|kept| kept >= 9.0))),
        ),
    ]
}
