//! Figures 6a and 6b: the penalty of a cut, and what a second broker is worth when one is saturated.
//!
//! Not here: placing by principles.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use tollgate_split::plan::place::{Broker, Principles, distribute};
use tollgate_split::plan::predict::{ArrivalStream, PartRate, access};

use super::{Drawn, P99, all, bar, find, finish, ours, parameters, profiled, two};
use crate::catalogue::RunRequest;
use crate::report::Report;
use crate::split::measure::{Figures, Placed};
use crate::split::row::SplitRow;
use crate::split::traffic::{Pattern, PublisherTraffic};

const SECONDS: u64 = 60;
const BROKERS: [u32; 6] = [1, 2, 3, 4, 5, 6];
const A: &str = "6a";
const B: &str = "6b";
const OURS: &str = "even split";
const THEORY: &str = "theory, access only";
const TOLD_A: [f64; 6] = [0.38, 2.60, 4.99, 7.30, 9.70, 11.99];
const TOLD_THEORY: [f64; 6] = [0.0, 2.22, 4.51, 6.80, 9.09, 11.38];
const TOLD_B: [f64; 6] = [4.42, 0.71, 1.16, 1.47, 1.84, 2.20];
const PAPER_A: f64 = 14.7;

/// A topic of so many publishers over one to six idle brokers, by seeds: the runs of each number of brokers.
fn sweep(publishers: u32, seeds: u64, ask: &RunRequest<'_>) -> Vec<Vec<Figures>> {
    let traffic = PublisherTraffic::alone(publishers, 1, Pattern::Poisson, SECONDS);
    let numbers: Vec<u64> = (0..seeds.max(1)).collect();
    let by_seed = all(&numbers, ask, |number| {
        let seed = ask.first.wrapping_add(*number);
        let bursts = traffic.bursts(seed);
        let bucket = profiled(&bursts, 100);
        let publishers = traffic.publishers();
        BROKERS.map(|count| {
            let idle = vec![
                Broker {
                    capacity: u64::MAX / 64,
                    load: 0,
                };
                count as usize
            ];
            let places = distribute(&publishers, &idle, Principles::NONE, 1, seed);
            let places = places.unwrap_or_default();
            Placed::new(bucket, &publishers, &places).measure(&bursts, seed)
        })
    });
    (0..BROKERS.len())
        .map(|at| {
            by_seed
                .iter()
                .filter_map(|runs| runs.get(at).cloned())
                .collect()
        })
        .collect()
}

pub(crate) fn run_a(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut rows = Vec::new();
    for ((count, runs), told) in BROKERS
        .into_iter()
        .zip(sweep(1_000, seeds, ask))
        .zip(TOLD_A)
    {
        let paper = (count == 6).then_some(PAPER_A);
        let x = f64::from(count);
        rows.push(SplitRow::of(A, OURS, x, P99, &runs).told(paper, Some(told)));
    }
    for (count, told) in BROKERS.into_iter().map(f64::from).zip(TOLD_THEORY) {
        let stream = ArrivalStream {
            rate: 10_000.0 / count,
            batch: 1.0,
            group: 1.0,
        };
        let part = PartRate {
            rate: 11_000.0 / count,
            depth: 26.0 / count,
        };
        let ms = access(&stream, &part, 0.01) * 1e3;
        rows.push(SplitRow::plain(A, THEORY, count, "p99 ms", &[ms]).told(None, Some(told)));
    }
    let own: Vec<&SplitRow> = rows.iter().filter(|row| row.series == OURS).collect();
    let is_near = own.iter().all(|row| {
        row.ratio()
            .is_some_and(|ratio| (0.9..=1.1).contains(&ratio))
    });
    let told: Vec<String> = own.iter().map(|row| two(row.more.ours)).collect();
    let last = find(&rows, A, OURS, 6.0).and_then(|row| row.p99_ms);
    let bars = vec![bar(
        "S4 figure 6a, k = 1…6",
        "0.38 / 2.6 / 5.0 / 7.3 / 9.7 / 12.0 ms ± 10 %, and ≤ 14.7",
        format!("{} ms", told.join(" / ")),
        Some(is_near && last.is_some_and(|ms| ms <= PAPER_A)),
    )];
    finish(Report {
        title: "Figure 6a: the penalty of distributed rate limiting".to_owned(),
        about: "1,000 publishers, ten random messages a second each; the bucket that a minute's trace needs, cut evenly over k brokers. \
                End to end: the wait for tokens, then two servers."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("publishers", "1000"), ("seconds", "60")]),
        bars,
        figures: vec![
            Drawn {
                figure: A,
                title: "Every further broker makes messages wait longer",
                x: "brokers",
                y: "end to end, 99th percentile, ms",
                y_log: false,
            }
            .draw(&rows, ours),
        ],
        conclusion: format!(
            "One broker takes {} ms at the 99th percentile, six take {} ms (the paper: less than 1, and 14.7).",
            two(find(&rows, A, OURS, 1.0).and_then(|row| row.p99_ms)),
            two(last)
        ),
        split: rows,
        ..Report::default()
    })
}

pub(crate) fn run_b(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let mut rows = Vec::new();
    for ((count, runs), told) in BROKERS
        .into_iter()
        .zip(sweep(6_000, seeds, ask))
        .zip(TOLD_B)
    {
        let x = f64::from(count);
        rows.push(SplitRow::of(B, OURS, x, P99, &runs).told(None, Some(told)));
    }
    let least = rows.iter().min_by(|one, two| {
        f64::total_cmp(
            &one.more.ours.unwrap_or(f64::MAX),
            &two.more.ours.unwrap_or(f64::MAX),
        )
    });
    let second = find(&rows, B, OURS, 2.0);
    let met = least.is_some_and(|row| row.x.total_cmp(&2.0).is_eq())
        && second
            .and_then(|row| Some((row.ratio()?, row.p99_ms?)))
            .is_some_and(|(ratio, ms)| (0.85..=1.15).contains(&ratio) && ms < 1.0);
    let told: Vec<String> = rows.iter().map(|row| two(row.more.ours)).collect();
    let bars = vec![bar(
        "S5 figure 6b: the minimum is at k = 2, below 1 ms",
        "0.71 ms ± 15 %",
        format!("{} ms for k = 1…6", told.join(" / ")),
        Some(met),
    )];
    finish(Report {
        title: "Figure 6b: one broker is too few, six are too many".to_owned(),
        about: "6,000 publishers, ten random messages a second each: 60,000 messages a second, which saturate one broker. The paper \
                says: overload, then the minimum, then larger and larger."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("publishers", "6000"), ("seconds", "60")]),
        bars,
        figures: vec![
            Drawn {
                figure: B,
                title: "The least number of brokers that can carry the topic is the best",
                x: "brokers",
                y: "end to end, 99th percentile, ms",
                y_log: false,
            }
            .draw(&rows, ours),
        ],
        conclusion: format!(
            "The minimum is {} ms at k = {}.",
            two(least.and_then(|row| row.p99_ms)),
            least.map_or(0.0, |row| row.x)
        ),
        split: rows,
        ..Report::default()
    })
}
