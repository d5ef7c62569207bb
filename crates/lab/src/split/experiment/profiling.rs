//! How certain a profile is: the burst that traces need, and what fresh traffic makes of it.
//!
//! Not here: the profile itself.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use tollgate_split::plan::profile::{BucketTarget, Profile, profile, waits_ppm};

use super::{Drawn, all, bar, finish, ours, parameters};
use crate::catalogue::RunRequest;
use crate::report::Report;
use crate::split::row::SplitRow;
use crate::split::traffic::{Pattern, PublisherTraffic, arrivals};

const BURST: &str = "burst";
const WAITS: &str = "fresh waits";

struct Kind {
    name: &'static str,
    traffic: PublisherTraffic,
    /// How many of the long traces are made for each of the seeds: fewer of long ones.
    part: (u64, u64),
    /// The reference's median burst, and the median of the part that waits on fresh traffic, in percent.
    told: (Option<f64>, Option<f64>),
}

fn kinds() -> Vec<Kind> {
    let alone = |batch| PublisherTraffic::alone(1_000, batch, Pattern::Poisson, 60);
    let groups = |group, seconds| PublisherTraffic::groups(group, Pattern::Poisson, seconds);
    let kind = |name, traffic, part, told: Option<(f64, f64)>| Kind {
        name,
        traffic,
        part,
        told: (told.map(|told| told.0), told.map(|told| told.1)),
    };
    let (short, long) = ((1, 1), (5, 12));
    vec![
        kind("batch 1, 60 s", alone(1), short, Some((26.0, 0.92))),
        kind("batch 10, 60 s", alone(10), short, Some((259.0, 1.40))),
        kind(
            "groups of 5, 60 s",
            groups(5, 60),
            short,
            Some((1_247.0, 0.68)),
        ),
        kind(
            "groups of 30, 60 s",
            groups(30, 60),
            short,
            Some((4_598.0, 1.32)),
        ),
        kind(LONG, groups(5, 600), long, None),
        kind(
            "groups of 30, 600 s",
            groups(30, 600),
            long,
            Some((6_107.0, 1.08)),
        ),
    ]
}

const LONG: &str = "groups of 5, 600 s";

pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let kinds = kinds();
    let count = |kind: &Kind| (seeds * kind.part.0).div_ceil(kind.part.1).max(1);
    let tasks: Vec<(&Kind, u64)> = kinds
        .iter()
        .flat_map(|kind| (0..count(kind)).map(move |number| (kind, number)))
        .collect();
    let found = all(&tasks, ask, |(kind, number)| {
        (
            kind.name,
            run_one(&kind.traffic, ask.first.wrapping_add(*number)),
        )
    });
    let (rows, (exact, spread)) = rows_of(&kinds, &found);
    let percent = |spread: Option<f64>| {
        spread.map_or_else(|| "–".to_owned(), |spread| format!("± {spread:.1} %"))
    };
    let told = percent(spread);
    finish(Report {
        title: "How certain a profile is".to_owned(),
        about: "The least burst with which one message in a hundred waits, of some traces; then the part that waits on another trace. r is 1.1 times \
                the rate, 10,000 random messages a second. The interval holds the burst of an endless trace with 95 %, as one trace tells it. \
                x numbers the kinds of traffic; what is given is the median, with the least and the greatest."
            .to_owned(),
        parameters: parameters(seeds, ask, &[("rate", "10000")]),
        bars: vec![bar(
            "S15 five profiles of 600 s, groups of 5: spread of b",
            "± 10 %",
            format!("{told} by the tail, {} as traces have it", percent(exact)),
            spread.map(|spread| spread <= 10.0),
        )],
        figures: vec![
            Drawn {
                figure: BURST,
                title: "The burst that a trace needs",
                x: "kind of traffic",
                y: "burst, messages",
                y_log: true,
            }
            .draw(&rows, ours),
        ],
        conclusion: format!(
            "Ten minutes of groups of five give the burst to {} as they have it and to {told} by the tail from the median on; a minute of larger \
             groups gives whatever it happens to hold.",
            percent(exact)
        ),
        split: rows,
        ..Report::default()
    })
}

/// What was found of a trace of a kind: its profile, and the part of fresh traffic that waits, in millionths.
type Found = (&'static str, Option<(Profile, u64)>);

/// How far bursts of traces are apart: as the traces have them, and by their tails.
type Spreads = (Option<f64>, Option<f64>);

/// All rows, and the spreads of the kind that is judged.
fn rows_of(kinds: &[Kind], found: &[Found]) -> (Vec<SplitRow>, Spreads) {
    let mut rows = Vec::new();
    let mut spreads = (None, None);
    for (at, kind) in kinds.iter().enumerate() {
        let own = || {
            found
                .iter()
                .filter(|(name, _)| *name == kind.name)
                .filter_map(|(_, one)| *one)
        };
        let bursts: Vec<f64> = own().map(|(profile, _)| profile.burst as f64).collect();
        let tails: Vec<f64> = own()
            .map(|(profile, _)| profile.burst_tail as f64)
            .collect();
        let waits: Vec<f64> = own().map(|(_, ppm)| ppm as f64 / 1e4).collect();
        let x = at as f64 + 1.0;
        let row = SplitRow::plain(BURST, kind.name, x, "b", &bursts).told(None, kind.told.0);
        if kind.name == LONG {
            spreads = (spread_of(&bursts), spread_of(&tails));
        }
        rows.push(row);
        rows.push(SplitRow::plain("burst by tail", kind.name, x, "b", &tails));
        rows.push(SplitRow::plain(WAITS, kind.name, x, "waits %", &waits).told(None, kind.told.1));
        let ends = |pick: fn(&Profile) -> u64| -> Vec<f64> {
            own().map(|(profile, _)| pick(&profile) as f64).collect()
        };
        rows.push(SplitRow::plain(
            "interval, lower end",
            kind.name,
            x,
            "b",
            &ends(|one| one.burst_low),
        ));
        rows.push(SplitRow::plain(
            "interval, upper end",
            kind.name,
            x,
            "b",
            &ends(|one| one.burst_high),
        ));
    }
    rows.sort_by(|one, two| one.figure.cmp(&two.figure));
    (rows, spreads)
}

/// The profile of a trace, and what fresh traffic makes of it.
fn run_one(traffic: &PublisherTraffic, seed: u64) -> Option<(Profile, u64)> {
    let found = profile(&arrivals(&traffic.bursts(seed)), BucketTarget::default())?;
    let fresh = PublisherTraffic {
        seconds: traffic.seconds.max(60),
        ..*traffic
    };
    let fresh = arrivals(&fresh.bursts(seed.wrapping_add(FRESH)));
    Some((found, waits_ppm(&fresh, found.rate_milli, found.burst)))
}

/// Half of the way from the least to the greatest, in percent of the middle.
fn spread_of(values: &[f64]) -> Option<f64> {
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    (values.len() > 1).then(|| 100.0 * (most - least) / (most + least))
}

/// Seeds of fresh traffic are so far from those of what was profiled.
const FRESH: u64 = 1_000_000;
