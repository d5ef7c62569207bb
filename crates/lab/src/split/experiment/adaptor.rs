//! Traffic that moves: one broker's part jumps, and shares and tokens follow.
//!
//! Not here: borrowing under traffic that stays.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "times of a simulation and figures of three digits"
)]

use tollgate_limit::Span;
use tollgate_split::{AdaptorConfig, Borrow, SplitConfig};

use super::{P99, bar, cells, find, finish, parameters, two};
use crate::catalogue::RunRequest;
use crate::dice::{LabDice, Purpose};
use crate::report::{Bar, Line, PlotFigure, Report};
use crate::split::measure::{Figures, percentile};
use crate::split::row::SplitRow;
use crate::split::topic::{Cut, TopicBucket, TopicResults, config, run_near};
use crate::split::traffic::{Burst, MICRO, MILLI, SECOND, exponential, unit};
use crate::split::world::Near;

const BROKERS: u32 = 4;
const JUMP: u64 = 30 * SECOND;
const AFTER: u64 = 10 * SECOND;
const END: u64 = 60 * SECOND;
const FIGURE: &str = "jump";

/// How shares and tokens move.
struct Policy {
    name: &'static str,
    adaptor: Option<AdaptorConfig>,
    /// Whether brokers hire parts of each other, in place of an adaptor.
    hires: bool,
    /// One way in microseconds, and the low mark; `None`: nobody borrows.
    borrow: Option<(u64, u32)>,
    /// The reference's 99th percentiles of the ten seconds after jumps to 30, 40 and 70 %.
    told: [Option<f64>; 3],
}

/// The parts that the first broker jumps to, in percent.
const JUMPS: [u32; 3] = [30, 40, 70];

fn policies() -> Vec<Policy> {
    let quick = AdaptorConfig {
        window: Span::from_nanos(1_000_000_000),
        period: Span::from_nanos(100_000_000),
        horizon: None,
        ..AdaptorConfig::default()
    };
    let ours = AdaptorConfig::default();
    let one = |name, adaptor, borrow, told: [f64; 3]| Policy {
        name,
        adaptor,
        hires: false,
        borrow,
        told: told.map(|told| (told > 0.0).then_some(told)),
    };
    vec![
        one("static", None, None, [835.0, 4_337.0, 15_128.0]),
        one(
            "document (10 s, 1 s)",
            Some(AdaptorConfig::printed()),
            None,
            [218.0, 1_354.0, 2_968.0],
        ),
        one("1 s, 0.1 s", Some(quick), None, [15.0, 130.0, 312.0]),
        one(BACKLOG, Some(ours.clone()), None, [6.7, 25.0, 81.0]),
        one("borrow 0.2 ms", None, Some((200, 0)), [0.84, 1.3, 21.0]),
        one(BOTH, Some(ours.clone()), Some((200, 0)), [0.81, 0.85, 4.4]),
        one(
            "borrow 0.2 ms below 1 and 0.5 s",
            Some(ours.clone()),
            Some((200, 1_000)),
            [0.0, 0.0, 0.92],
        ),
        one(
            "borrow 1 ms and 0.5 s",
            Some(ours),
            Some((1_000, 0)),
            [2.1, 2.3, 47.0],
        ),
        Policy {
            hires: true,
            ..one("hire, 0.5 s, backlog", None, None, [0.0; 3])
        },
        Policy {
            hires: true,
            ..one("borrow 0.2 ms and hire", None, Some((200, 0)), [0.0; 3])
        },
    ]
}

const BACKLOG: &str = "0.5 s, 50 ms, backlog";
const BOTH: &str = "borrow 0.2 ms and 0.5 s, backlog";

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let policies = policies();
    let tasks: Vec<(&Policy, u32, Option<f64>)> = policies
        .iter()
        .flat_map(|policy| {
            JUMPS
                .into_iter()
                .zip(policy.told)
                .map(move |(percent, told)| (policy, percent, told))
        })
        .collect();
    let found = cells(&tasks, seeds, ask, |(policy, percent, _), seed| {
        let ran = run_jump(policy, *percent, seed);
        let figures = Figures::of_waits(&ran, JUMP, JUMP + AFTER);
        let curve = if ask.curves { curve(&ran) } else { Vec::new() };
        (figures, curve)
    });
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for ((policy, percent, told), runs) in tasks.iter().zip(found) {
        let (figures, curves): (Vec<Figures>, Vec<_>) = runs.into_iter().unzip();
        let x = f64::from(*percent);
        rows.push(SplitRow::of(FIGURE, policy.name, x, P99, &figures).told(None, *told));
        if *percent == 40 {
            lines.push(Line {
                name: policy.name.to_owned(),
                is_reference: false,
                points: curves.into_iter().next().unwrap_or_default(),
            });
        }
    }
    let bars = bars(&rows);
    let at = |name| two(find(&rows, FIGURE, name, 40.0).and_then(|row| row.p99_ms));
    finish(Report {
        title: "One broker's traffic jumps".to_owned(),
        about: "Four brokers, 10,000 random messages per second, 11,000 tokens, a burst of 25. After 30 s the first broker gets x percent of \
                the messages in place of 25. Waits for tokens of messages that come in the ten seconds after that."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("brokers", "4"), ("seconds", "60")]),
        bars,
        figures: vec![PlotFigure {
            name: FIGURE.to_owned(),
            title: "A jump from 25 to 40 % at 30 s".to_owned(),
            x_label: "time, s".to_owned(),
            y_label: "wait for tokens, 99th percentile of half a second, ms".to_owned(),
            x_log: false,
            y_log: true,
            lines,
        }],
        conclusion: format!(
            "After a jump to 40 % the printed adaptor makes messages wait {} ms at the 99th percentile, a short window that counts backlog {} ms, \
             and with borrowing {} ms.",
            at("document (10 s, 1 s)"),
            at(BACKLOG),
            at(BOTH)
        ),
        split: rows,
        ..Report::default()
    })
}

fn run_jump(policy: &Policy, percent: u32, seed: u64) -> TopicResults {
    let bucket = TopicBucket::per_second(11_000, 25);
    let near = Near {
        one_way_ns: policy.borrow.map_or(200, |(us, _)| us) * MICRO,
        config: SplitConfig {
            borrow: policy.borrow.map_or(Borrow::Off, |_| Borrow::Always),
            low_milli: policy.borrow.map_or(0, |(_, low)| low),
            hire: policy.hires.then(AdaptorConfig::default),
            ..config()
        },
        adaptor: policy.adaptor.clone(),
    };
    let cut = Cut {
        places: (0..4).map(Some).collect(),
        shares: bucket.limits().cut(&[1; BROKERS as usize], 1),
    };
    run_near(bucket, &cut, &jump(percent, seed), &near)
}

/// Each broker has one publisher.
fn jump(percent: u32, seed: u64) -> Vec<Burst> {
    let mut dice = LabDice::new(seed, Purpose::Arrivals);
    let mut routes = LabDice::new(seed, Purpose::Routing);
    let mut bursts = Vec::new();
    let gap = SECOND as f64 / 10_000.0;
    let mut at = exponential(&mut dice, gap);
    while (at as u64) < END {
        let first = if (at as u64) < JUMP { 25 } else { percent };
        let draw = unit(&mut routes) * 100.0;
        let part = f64::from(100 - first) / f64::from(BROKERS - 1);
        let other = ((draw - f64::from(first)) / part).floor();
        let publisher = if other < 0.0 {
            0
        } else {
            1 + (other as u32).min(BROKERS - 2)
        };
        bursts.push(Burst {
            at_ns: at as u64,
            publisher,
            count: 1,
        });
        at += exponential(&mut dice, gap);
    }
    bursts
}

/// The 99th percentile of every half second, but for none.
fn curve(ran: &TopicResults) -> Vec<(f64, f64)> {
    let step = 500 * MILLI;
    (25 * SECOND / step..END / step)
        .map(|number| {
            let mut waits = ran.waits(number * step, (number + 1) * step);
            let ms = percentile(&mut waits, 990) as f64 / MILLI as f64;
            ((number * step) as f64 / SECOND as f64, ms.max(0.01))
        })
        .collect()
}

fn bars(rows: &[SplitRow]) -> Vec<Bar> {
    let one = |id: &str, name: &str, most: f64| {
        let found = find(rows, FIGURE, name, 40.0).and_then(|row| row.p99_ms);
        bar(
            id,
            &format!("p99 ≤ {most} ms"),
            format!("{} ms", two(found)),
            found.map(|ms| ms <= most),
        )
    };
    vec![
        one(
            "S12 jump to 40 %, the next 10 s, borrowing and adaptor",
            BOTH,
            2.0,
        ),
        one("S13 the same without borrowing", BACKLOG, 50.0),
    ]
}
