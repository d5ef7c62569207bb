//! Rounds and messages until all fill ratios are within 5 %, for every rule.
//!
//! Not here: what happens when demand moves or messages are lost.

use std::sync::atomic::{AtomicU64, Ordering};

use super::told::{SIZES, rounds as told};
use crate::catalogue::RunRequest;
use crate::experiment::parameters;
use crate::report::{Line, PlotFigure, Report};
use crate::run::each;
use crate::supply::rounds::{DemandSpread, ExchangeRule, RoundsCost};
use crate::supply::row::SupplyRow;

/// Rules on a ring of 300 take tens of thousands of rounds; one run of each is enough to see it.
const SLOW_SEEDS: u64 = 3;

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let rows = rules(seeds, ask, &ExchangeRule::ALL);
    let figures = [DemandSpread::Spread, DemandSpread::Hot].map(|load| figure(load, &rows));
    let best = |load| rounds_of(&rows, ExchangeRule::Group, load);
    let conclusion = format!(
        "Asking a group takes {} rounds with spread demand and {} with a hot node, for 10, 30, 100 and 300 nodes; the document's \
         ring takes {} rounds for 300.",
        best(DemandSpread::Spread),
        best(DemandSpread::Hot),
        one(&rows, ExchangeRule::Ring, DemandSpread::Spread, 300)
    );
    Report {
        title: "Rounds until supply is where demand is".to_owned(),
        about: "Every node starts with the same supply; demand is spread over two decades, or half of it is on one node. Counted are \
                synchronous rounds until all fill ratios are within 5 % of equal, the median over seeds, and messages per node."
            .to_owned(),
        parameters: parameters(seeds, ask, &[]),
        supply: rows,
        figures: figures.into(),
        conclusion,
        ..Report::default()
    }
}

/// The rows of some rules, for every size and load.
pub(super) fn rules(seeds: u64, ask: &RunRequest<'_>, rules: &[ExchangeRule]) -> Vec<SupplyRow> {
    let mut cells = Vec::new();
    for load in [DemandSpread::Spread, DemandSpread::Hot] {
        for &rule in rules {
            cells.extend(SIZES.map(|nodes| (load, rule, nodes)));
        }
    }
    let of = |rule: ExchangeRule, nodes: u16| {
        let is_slow = nodes >= 100 && matches!(rule, ExchangeRule::Ring | ExchangeRule::PairRing);
        if is_slow {
            seeds.min(SLOW_SEEDS)
        } else {
            seeds
        }
    };
    let tasks: Vec<_> = cells
        .iter()
        .flat_map(|&(load, rule, nodes)| {
            (0..of(rule, nodes)).map(move |seed| (load, rule, nodes, seed))
        })
        .collect();
    let (done, all) = (AtomicU64::new(0), tasks.len() as u64);
    let tallies = each(&tasks, ask.threads, |&(load, rule, nodes, seed)| {
        let tally = rule.run(nodes, load, ask.first.wrapping_add(seed));
        (ask.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, all);
        tally
    });
    let mut tallies = tallies.into_iter().flatten();
    let mut rows = Vec::new();
    for (load, rule, nodes) in cells {
        let count = usize::try_from(of(rule, nodes)).unwrap_or(usize::MAX);
        let own: Vec<RoundsCost> = tallies.by_ref().take(count).collect();
        rows.push(row(load, rule, nodes, own));
    }
    rows
}

fn row(load: DemandSpread, rule: ExchangeRule, nodes: u16, mut own: Vec<RoundsCost>) -> SupplyRow {
    own.sort_by_key(|tally| tally.rounds.unwrap_or(u64::MAX));
    let median = own.get(own.len() / 2).copied();
    let rounds = median.and_then(|tally| tally.rounds);
    SupplyRow {
        scenario: name(load).to_owned(),
        design: rule.name().to_owned(),
        nodes,
        seeds: own.len() as u64,
        rounds: rounds.map(to_float),
        messages_per_node_s: median
            .filter(|_| rounds.is_some())
            .map(|tally| tally.messages),
        reference: told(rule, load, nodes),
        ..SupplyRow::default()
    }
}

#[allow(clippy::cast_precision_loss, reason = "at most some hundred thousand")]
fn to_float(rounds: u64) -> f64 {
    rounds as f64
}

const fn name(load: DemandSpread) -> &'static str {
    match load {
        DemandSpread::Spread => "spread",
        DemandSpread::Hot => "hot",
    }
}

fn figure(load: DemandSpread, rows: &[SupplyRow]) -> PlotFigure {
    let of = |design: &str| -> Vec<&SupplyRow> {
        rows.iter()
            .filter(|row| row.scenario == name(load) && row.design == design)
            .collect()
    };
    let mut lines = Vec::new();
    for rule in [
        ExchangeRule::Ring,
        ExchangeRule::Four,
        ExchangeRule::PairAny,
        ExchangeRule::BestOf4,
        ExchangeRule::Group,
    ] {
        let own = of(rule.name());
        let points = |pick: fn(&SupplyRow) -> Option<f64>| {
            own.iter()
                .filter_map(|row| Some((f64::from(row.nodes), pick(row)?)))
                .collect()
        };
        lines.push(Line {
            name: rule.name().to_owned(),
            is_reference: false,
            points: points(|row| row.rounds),
        });
        lines.push(Line {
            name: format!("{}, reference", rule.name()),
            is_reference: true,
            points: points(|row| row.reference),
        });
    }
    lines.retain(|line| !line.points.is_empty());
    PlotFigure {
        name: name(load).to_owned(),
        title: match load {
            DemandSpread::Spread => {
                "Spread demand: asking a group takes a handful of rounds at any size".to_owned()
            }
            DemandSpread::Hot => {
                "One hot node: asking a group grows with the logarithm, a ring with the square"
                    .to_owned()
            }
        },
        x_label: "nodes".to_owned(),
        y_label: "rounds to 5 %".to_owned(),
        x_log: true,
        y_log: true,
        lines,
    }
}

pub(super) fn rounds_at(
    rows: &[SupplyRow],
    rule: ExchangeRule,
    load: DemandSpread,
    nodes: u16,
) -> Option<f64> {
    rows.iter()
        .find(|row| row.scenario == name(load) && row.design == rule.name() && row.nodes == nodes)
        .and_then(|row| row.rounds)
}

/// The same to read.
fn one(rows: &[SupplyRow], rule: ExchangeRule, load: DemandSpread, nodes: u16) -> String {
    rounds_at(rows, rule, load, nodes)
        .map_or_else(|| "–".to_owned(), |rounds| format!("{rounds:.0}"))
}

/// Rounds for 10, 30, 100 and 300 nodes.
pub(super) fn rounds_of(rows: &[SupplyRow], rule: ExchangeRule, load: DemandSpread) -> String {
    [10, 30, 100, 300]
        .map(|nodes| one(rows, rule, load, nodes))
        .join("/")
}
