//! Proposition 1: cutting a bucket never makes the sum of delays smaller; a percentile it can.
//!
//! Not here: borrowing.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures of three digits"
)]

use super::{MEAN_MS, P99, all, bar, finish, parameters, two};
use crate::catalogue::RunRequest;
use crate::dice::{LabDice, Purpose};
use crate::report::Report;
use crate::split::measure::Figures;
use crate::split::row::SplitRow;
use crate::split::topic::{Cut, DepartedMessage, TopicBucket, TopicResults, run_apart};
use crate::split::traffic::{Burst, SECOND, exponential};

const RANDOM: &str = "random systems";
const ROGUE: &str = "rogue burst";
/// Random systems of one seed.
const SYSTEMS: u64 = 1_000;

/// What was found in one random system.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    points: u64,
    /// Points at which more waited in one bucket than in its parts.
    more_wait: u64,
    sum_is_larger: bool,
    percentile_is_larger: bool,
    violations: u64,
}

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let numbers: Vec<u64> = (0..seeds.max(1) * SYSTEMS).collect();
    let found = all(&numbers, ask, |number| random(ask.first, *number));
    let count = |pick: fn(&Found) -> u64| found.iter().map(pick).sum::<u64>();
    let (points, more) = (count(|one| one.points), count(|one| one.more_wait));
    let sums = count(|one| u64::from(one.sum_is_larger));
    let percentiles = count(|one| u64::from(one.percentile_is_larger));
    let systems = found.len() as f64;
    let mut rows: Vec<SplitRow> = [
        ("points", points as f64, Some(327_963.0)),
        (
            "points at which one bucket has more waiting",
            more as f64,
            Some(0.0),
        ),
        (
            "systems whose sum of delays is smaller cut",
            sums as f64,
            Some(0.0),
        ),
        (
            "systems whose 99th percentile is smaller cut",
            percentiles as f64,
            Some(0.0),
        ),
    ]
    .into_iter()
    .map(|(series, value, told)| {
        let row = SplitRow::plain(RANDOM, series, systems, "count", &[value]).told(None, told);
        SplitRow {
            violations: Some(count(|one| one.violations)),
            ..row
        }
    })
    .collect();
    let (one, cut) = rogue(ask.first);
    rows.extend(rogue_rows(&one, &cut));
    finish(Report {
        title: "Proposition 1: one bucket and its parts".to_owned(),
        about: "Random topics through one bucket and through its parts: at every arrival and departure, how many wait. Then a topic with a \
                publisher that has 0.8 % of the messages in bursts of 400: x is one bucket, or two, of which the rogue has one."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("systems", &found.len().to_string())]),
        bars: vec![bar(
            "S3 Proposition 1 over random systems",
            "0 violations",
            format!("{} in {points} points of {systems} systems", more + sums),
            Some(more + sums == 0),
        )],
        conclusion: format!(
            "In {points} points of {systems} systems one bucket never has more waiting than its parts. It says nothing of percentiles: to isolate a rogue \
             makes the mean {} → {} ms worse and the 99th percentile {} → {} ms better.",
            two(Some(one.mean)),
            two(Some(cut.mean)),
            two(Some(one.p99)),
            two(Some(cut.p99))
        ),
        split: rows,
        ..Report::default()
    })
}

fn rogue_rows(one: &Figures, cut: &Figures) -> Vec<SplitRow> {
    let mut rows = Vec::new();
    let told = [(1.0, one, 28.8, 1.07), (2.0, cut, 0.0, 39.8)];
    for (x, figures, p99, mean) in told {
        let runs = std::slice::from_ref(figures);
        rows.push(SplitRow::of(ROGUE, "99th percentile", x, P99, runs).told(None, Some(p99)));
        rows.push(SplitRow::of(ROGUE, "mean", x, MEAN_MS, runs).told(None, Some(mean)));
    }
    rows
}

/// A random topic: so many parts, a burst, and messages that come alone or together.
fn random(first: u64, number: u64) -> Found {
    let mut dice = LabDice::new(
        crate::dice::scramble(first).wrapping_add(number),
        Purpose::Worlds,
    );
    let parts = 2 + dice.below(5);
    let bucket = TopicBucket::per_second(100, parts + dice.below(25));
    let weights: Vec<u64> = (0..parts).map(|_| 1 + dice.below(20)).collect();
    let mean = SECOND as f64 / (60.0 + dice.below(80) as f64);
    let mut at = 0.0;
    let bursts: Vec<Burst> = (0..60 + dice.below(60))
        .map(|_| {
            at += exponential(&mut dice, mean);
            Burst {
                at_ns: at as u64,
                publisher: dice.below(parts) as u32,
                count: if dice.below(10) == 0 {
                    1 + dice.below(8) as u32
                } else {
                    1
                },
            }
        })
        .collect();
    let one = run_apart(bucket, &Cut::whole(bucket, parts as u32), &bursts);
    let cut = Cut {
        places: (0..parts).map(|part| Some(part as u16)).collect(),
        shares: bucket.limits().cut(&weights, 1),
    };
    let many = run_apart(bucket, &cut, &bursts);
    compare(&one, &many)
}

fn compare(one: &TopicResults, many: &TopicResults) -> Found {
    let lefts = |ran: &TopicResults| -> Vec<DepartedMessage> {
        ran.lefts.iter().flatten().copied().collect()
    };
    let (ones, manies) = (lefts(one), lefts(many));
    let mut points: Vec<u64> = ones
        .iter()
        .chain(&manies)
        .flat_map(|left| [left.arrived, left.at])
        .collect();
    points.sort_unstable();
    points.dedup();
    let waiting = |all: &[DepartedMessage], at: u64| {
        all.iter()
            .filter(|left| left.arrived <= at && at < left.at)
            .count()
    };
    let sum = |all: &[DepartedMessage]| all.iter().map(|left| left.at - left.arrived).sum::<u64>();
    let late = |ran: &TopicResults| Figures::of_waits(ran, 0, u64::MAX).p99;
    Found {
        points: points.len() as u64,
        more_wait: points
            .iter()
            .filter(|at| waiting(&ones, **at) > waiting(&manies, **at))
            .count() as u64,
        sum_is_larger: sum(&ones) > sum(&manies),
        percentile_is_larger: late(one) > late(many),
        violations: one.violations + many.violations,
    }
}

/// One publisher sends 0.8 % of the messages, 400 at once; in one bucket with the others, and in a small one of its
/// own.
fn rogue(seed: u64) -> (Figures, Figures) {
    let mut dice = LabDice::new(seed, Purpose::Worlds);
    let (end, mut bursts) = (600.0 * SECOND as f64, Vec::new());
    for (publisher, rate, count) in [(0, 9_920.0, 1), (1, 80.0, 400)] {
        let gap = SECOND as f64 * f64::from(count) / rate;
        let mut at = exponential(&mut dice, gap);
        while at < end {
            bursts.push(Burst {
                at_ns: at as u64,
                publisher,
                count,
            });
            at += exponential(&mut dice, gap);
        }
    }
    bursts.sort_unstable();
    let bucket = TopicBucket::per_second(11_000, 100);
    let one = run_apart(bucket, &Cut::whole(bucket, 2), &bursts);
    let cut = Cut {
        places: vec![Some(0), Some(1)],
        shares: bucket.limits().cut(&[992, 8], 1),
    };
    let apart = run_apart(bucket, &cut, &bursts);
    let of = |ran: &TopicResults| Figures::of_waits(ran, 0, u64::MAX);
    (of(&one), of(&apart))
}
