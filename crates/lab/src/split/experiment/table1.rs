//! Table 1: how many rounds a fitting takes, by the printed search and by a model that is verified.
//!
//! Not here: what the placements are worth.

use tollgate_split::plan::place::Principles;

use super::fig9::GROUPS;
use super::{Drawn, WORST, bar, cells, finish, ours, parameters, profiled};
use crate::catalogue::RunRequest;
use crate::report::Report;
use crate::split::fitting::{Fitted, FittingResult};
use crate::split::measure::Figures;
use crate::split::row::{Measure, SplitRow};
use crate::split::traffic::{Pattern, PublisherTraffic};

const SECONDS: u64 = 60;
const ROUNDS: &str = "rounds";
const PAPER: [f64; 6] = [1.0, 3.0, 9.0, 12.0, 14.0, 17.0];
const TOLD_SEARCH: [f64; 6] = [1.0, 4.0, 3.0, 9.0, 7.0, 8.0];
const TOLD_MODEL: [f64; 6] = [1.0, 1.0, 1.0, 2.0, 1.0, 1.0];
/// What the model is told, over what is true.
const WRONG: [(&str, f64); 3] = [
    ("model, costs 20 % too low", 0.8),
    ("model, costs right", 1.0),
    ("model, costs 20 % too high", 1.2),
];

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let found = cells(&GROUPS, seeds, ask, |group, seed| run_group(*group, seed));
    let rows = rows_of(&found);
    let model = |run: &&FittingResult| run.rounds <= 2 && run.is_kept;
    let ends: Vec<&FittingResult> = found
        .iter()
        .flatten()
        .flat_map(|run| run.iter().skip(1))
        .collect();
    let most = ends.iter().map(|ended| ended.rounds).max().unwrap_or(0);
    let good = ends.iter().filter(|ended| model(ended)).count();
    let search: Vec<String> = rows
        .iter()
        .filter(|row| row.series == "search")
        .map(|row| format!("{:.0}", row.more.ours.unwrap_or(0.0)))
        .collect();
    finish(Report {
        title: "Table 1: rounds until a placement keeps its bound".to_owned(),
        about: "1,000 publishers in groups of x, batches of ten, b one and a half times what the trace needs; a round of the paper takes 62.2 s. \
                The search is the printed one; the model says how many brokers, one round verifies it."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("publishers", "1000"), ("seconds", "60")]),
        bars: vec![bar(
            "S14 fitting rounds with a model within ± 20 %",
            "≤ 2",
            format!("{most} at most; {good} of {} end within 2 and keep 1 ms", ends.len()),
            Some(good == ends.len() && !ends.is_empty()),
        )],
        figures: vec![
            Drawn {
                figure: ROUNDS,
                title: "Rounds of measuring",
                x: "publishers that send together",
                y: "rounds",
                y_log: false,
            }
            .draw(&rows, ours),
        ],
        conclusion: format!(
            "The search takes {} rounds for groups of 5 to 30 (the paper: 1, 3, 9, 12, 14, 17); the model takes {most} at most.",
            search.join(", ")
        ),
        split: rows,
        ..Report::default()
    })
}

/// Rounds by group: of the search, then of the models.
fn rows_of(found: &[Vec<Vec<FittingResult>>]) -> Vec<SplitRow> {
    let mut rows = Vec::new();
    for (at, name) in ["search"]
        .into_iter()
        .chain(WRONG.map(|(name, _)| name))
        .enumerate()
    {
        for (number, (group, runs)) in GROUPS.into_iter().zip(found).enumerate() {
            let own: Vec<&FittingResult> = runs.iter().filter_map(|run| run.get(at)).collect();
            let figures: Vec<Figures> = own.iter().map(|ended| ended.figures.clone()).collect();
            let rounds: Vec<f64> = own.iter().map(|ended| f64::from(ended.rounds)).collect();
            let plain = SplitRow::plain(ROUNDS, name, f64::from(group), "rounds", &rounds);
            let mut row = SplitRow::of(
                ROUNDS,
                name,
                f64::from(group),
                Measure {
                    what: "rounds",
                    ..WORST
                },
                &figures,
            );
            let worst = row.more.worst_p99_ms;
            row.more = plain.more;
            row.more.worst_p99_ms = worst;
            let (paper, told) = if at == 0 {
                (PAPER.get(number), TOLD_SEARCH)
            } else {
                (None, TOLD_MODEL)
            };
            rows.push(row.told(paper.copied(), told.get(number).copied()));
        }
    }
    rows
}

/// By search, then by models.
fn run_group(group: u32, seed: u64) -> Vec<FittingResult> {
    let traffic = PublisherTraffic::groups(group, Pattern::Poisson, SECONDS);
    let bursts = traffic.bursts(seed);
    let bucket = profiled(&bursts, 150);
    let fitted = Fitted::new(&traffic, bursts, bucket, seed);
    let mut ends = vec![fitted.search(Principles::ALL)];
    ends.extend(WRONG.map(|(_, wrong)| fitted.model_first(Principles::ALL, wrong)));
    ends
}
