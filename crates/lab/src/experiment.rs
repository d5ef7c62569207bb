//! What experiments about supply, cut buckets and leases have in common: tasks on threads, parameters, bars.
//!
//! Not here: what they run, and designs of gossip, which have a catalogue.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalogue::RunRequest;
use crate::report::Bar;
use crate::run::each;

/// Does every task on some threads, and tells how far it is; results in order.
pub(crate) fn all<T: Sync, R: Send>(
    tasks: &[T],
    ask: &RunRequest<'_>,
    run: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (done, count) = (AtomicU64::new(0), tasks.len() as u64);
    (ask.progress)(0, count);
    let results = each(tasks, ask.threads, |task| {
        let result = run(task);
        let before = done.fetch_add(1, Ordering::Relaxed);
        (ask.progress)(before + 1, count);
        result
    });
    results.into_iter().flatten().collect()
}

/// Runs every cell with as many seeds as it takes, but one at least; the runs of each cell together.
pub(crate) fn cells<T: Sync, R: Send>(
    cells: &[T],
    seeds: impl Fn(&T) -> u64,
    ask: &RunRequest<'_>,
    run: impl Fn(&T, u64) -> R + Sync,
) -> Vec<Vec<R>> {
    let counts: Vec<u64> = cells.iter().map(|cell| seeds(cell).max(1)).collect();
    let tasks: Vec<(&T, u64)> = cells
        .iter()
        .zip(&counts)
        .flat_map(|(cell, count)| (0..*count).map(move |number| (cell, number)))
        .collect();
    let found = all(&tasks, ask, |(cell, number)| {
        run(cell, ask.first.wrapping_add(*number))
    });
    let mut found = found.into_iter();
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    counts
        .into_iter()
        .map(|own| found.by_ref().take(count(own)).collect())
        .collect()
}

pub(crate) fn parameters(
    seeds: u64,
    ask: &RunRequest<'_>,
    more: &[(&str, &str)],
) -> Vec<(String, String)> {
    let (seeds, first) = (seeds.to_string(), ask.first.to_string());
    let usual = [("seeds", &*seeds), ("first seed", &*first)];
    let all = usual.iter().chain(more);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

pub(crate) fn bar(name: &str, bar: &str, measured: String, met: Option<bool>) -> Bar {
    Bar {
        name: name.to_owned(),
        bar: bar.to_owned(),
        measured,
        met,
    }
}

/// Too few runs prove nothing, though one that fails would.
pub(crate) fn verdict(holds: bool, is_enough: bool) -> Option<bool> {
    match (holds, is_enough) {
        (true, false) => None,
        (holds, _) => Some(holds),
    }
}

#[derive(Clone, Copy)]
pub(crate) enum BarDirection {
    Least,
    Most,
}

/// A bar over several rows: each has a figure and its own mark.
pub(crate) fn row_bar(
    name: &str,
    side: BarDirection,
    digits: usize,
    figures: &[(Option<f64>, f64)],
) -> Bar {
    let (sign, holds): (&str, fn(f64, f64) -> bool) = match side {
        BarDirection::Least => ("≥", |own, mark| own >= mark),
        BarDirection::Most => ("≤", |own, mark| own <= mark),
    };
    let marks: Vec<String> = figures.iter().map(|(_, mark)| mark.to_string()).collect();
    let found: Vec<String> = figures
        .iter()
        .map(|(own, _)| own.map_or("–".to_owned(), |own| format!("{own:.digits$}")))
        .collect();
    let met = figures
        .iter()
        .map(|(own, mark)| own.map(|own| holds(own, *mark)))
        .try_fold(true, |all, own| Some(all && own?));
    bar(
        name,
        &format!("{sign} {}", marks.join(" / ")),
        found.join(" / "),
        met,
    )
}

pub(crate) fn commas(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
