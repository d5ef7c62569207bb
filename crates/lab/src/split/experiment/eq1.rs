//! Equation (1), as printed and exact, beside the machine: how many wait for tokens, and how long.
//!
//! Not here: cuts.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures of three digits"
)]

use tollgate_split::plan::md1::Md1;

use super::{Drawn, MEAN_MS, bar, cells, finish, ours, parameters};
use crate::catalogue::RunRequest;
use crate::dice::{LabDice, Purpose};
use crate::report::Report;
use crate::split::measure::Figures;
use crate::split::row::{Measure, SplitRow};
use crate::split::topic::{Cut, TopicBucket, run_apart};
use crate::split::traffic::{Burst, SECOND, exponential};

/// How busy, and the tokens per second that 10,000 messages need for that.
const RHOS: [(f64, u64); 3] = [
    (0.5, 20_000_000),
    (0.7, 14_285_714),
    (10.0 / 11.0, 11_000_000),
];
const DEPTHS: [u64; 8] = [1, 2, 3, 5, 8, 12, 25, 45];
/// Messages of a run.
const MESSAGES: u64 = 3_000_000;
/// Rarer waits are not compared: too few of them are seen.
const LEAST: f64 = 1e-3;
const TAIL: &str = "tail";
const MEAN: &str = "mean wait";
const RATIO: &str = "equation (1)";
/// The reference's ratios of the printed equation to the exact one, by ρ, at b = 1, 2 and 5.
const TOLD: [[f64; 3]; 3] = [[1.00, 1.18, 1.26], [1.00, 1.10, 1.13], [1.00, 1.03, 1.03]];

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut tasks: Vec<(f64, u64, u64)> = Vec::new();
    for (rho, rate) in RHOS {
        let Some(queue) = Md1::new(rho) else { continue };
        let is_seen = |depth: &u64| queue.tail(*depth as f64 - 1.0) >= LEAST;
        tasks.extend(
            DEPTHS
                .into_iter()
                .filter(is_seen)
                .map(|depth| (rho, rate, depth)),
        );
    }
    let found = cells(&tasks, seeds, ask, |(_, rate, depth), seed| {
        run_one(*rate, *depth, seed)
    });
    let (rows, worst_tail, worst_mean) = rows_of(&tasks, &found);
    let quantile = Md1::new(10.0 / 11.0).map_or(0.0, |queue| queue.quantile(0.01));
    let bars = vec![
        bar(
            "S1 P(U > x) and the mean, series against the machine, P ≥ 10⁻³",
            "≤ 5 % off",
            format!(
                "{:.1} % and {:.1} % at most",
                100.0 * worst_tail,
                100.0 * worst_mean
            ),
            Some(worst_tail <= 0.05 && worst_mean <= 0.05),
        ),
        bar(
            "S2 U₉₉ at ρ = 10/11",
            "24.20 ± 0.05",
            format!("{quantile:.3}"),
            Some((quantile - 24.20).abs() <= 0.05),
        ),
    ];
    finish(Report {
        title: "Equation (1): who waits, and how long".to_owned(),
        about: "Random messages into one bucket of depth x. The column of the reference has the exact series in `tail` and `mean wait`, that of the \
                paper its equation (1). In `equation (1)` ours is what is printed over what is exact."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("messages", &MESSAGES.to_string())]),
        bars,
        figures: vec![
            Drawn {
                figure: TAIL,
                title: "How many wait in a bucket of some depth",
                x: "depth, messages",
                y: "part of the messages that wait",
                y_log: true,
            }
            .draw(&rows, ours),
            Drawn {
                figure: RATIO,
                title: "What is printed is too much, but for a depth of one",
                x: "depth, messages",
                y: "printed over exact",
                y_log: false,
            }
            .draw(&rows, ours),
        ],
        conclusion: format!(
            "The positive series and the machine agree within {:.1} %; the printed mean is up to {:.0} % too large.",
            100.0 * worst_tail.max(worst_mean),
            100.0 * (rows.iter().filter(|row| row.figure == RATIO).filter_map(ours).fold(1.0, f64::max) - 1.0)
        ),
        split: rows,
        ..Report::default()
    })
}

/// All rows, and how far tails and means are off at most.
fn rows_of(tasks: &[(f64, u64, u64)], found: &[Vec<Figures>]) -> (Vec<SplitRow>, f64, f64) {
    let mut rows = Vec::new();
    let (mut worst_tail, mut worst_mean) = (0.0_f64, 0.0_f64);
    for ((rho, rate, depth), runs) in tasks.iter().zip(found) {
        let Some(queue) = Md1::new(*rho) else {
            continue;
        };
        let b = *depth as f64;
        let series = format!("ρ = {rho:.3}");
        let mean = |pick: fn(&Figures) -> f64| {
            runs.iter().map(pick).sum::<f64>() / runs.len().max(1) as f64
        };
        let (tail, wait) = (mean(|run| run.p_wait), mean(|run| run.mean));
        let exact = queue.mean_wait(b) * 1e6 / *rate as f64;
        worst_tail = worst_tail.max((tail / queue.tail(b - 1.0) - 1.0).abs());
        worst_mean = worst_mean.max((wait / exact - 1.0).abs());
        let mut row = SplitRow::of(
            TAIL,
            &series,
            b,
            Measure {
                what: "P(wait)",
                pick: |run| run.p_wait,
            },
            runs,
        )
        .told(None, Some(queue.tail(b - 1.0)));
        row.more.ours = Some(tail);
        rows.push(row);
        let mut row = SplitRow::of(MEAN, &series, b, MEAN_MS, runs).told(
            Some(queue.mean_wait_printed(b) * 1e6 / *rate as f64),
            Some(exact),
        );
        row.more.ours = Some(wait);
        rows.push(row);
    }
    rows.extend(ratios());
    rows.sort_by(|one, two| one.figure.cmp(&two.figure));
    (rows, worst_tail, worst_mean)
}

fn run_one(rate_milli: u64, burst: u64, seed: u64) -> Figures {
    let mut dice = LabDice::new(seed, Purpose::Arrivals);
    let mut at = 0.0;
    let bursts: Vec<Burst> = (0..MESSAGES)
        .map(|_| {
            at += exponential(&mut dice, SECOND as f64 / 10_000.0);
            Burst {
                at_ns: at as u64,
                publisher: 0,
                count: 1,
            }
        })
        .collect();
    let bucket = TopicBucket { rate_milli, burst };
    let ran = run_apart(bucket, &Cut::whole(bucket, 1), &bursts);
    Figures::of_waits(&ran, 0, u64::MAX)
}

fn ratios() -> Vec<SplitRow> {
    let mut rows = Vec::new();
    for ((rho, _), told) in RHOS.into_iter().zip(TOLD) {
        let Some(queue) = Md1::new(rho) else { continue };
        for depth in DEPTHS {
            let b = depth as f64;
            let ratio = queue.mean_wait_printed(b) / queue.mean_wait(b);
            let told = match depth {
                1 => Some(told[0]),
                2 => Some(told[1]),
                5 => Some(told[2]),
                _ => None,
            };
            let series = format!("ρ = {rho:.3}");
            rows.push(SplitRow::plain(RATIO, &series, b, "ratio", &[ratio]).told(None, told));
        }
    }
    rows
}
