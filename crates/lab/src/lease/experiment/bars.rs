//! Bars: what must hold, and whether it does.
//!
//! Not here: which they are.

use crate::lease::row::LeaseRow;
use crate::report::Bar;

pub(super) fn bar(name: &str, bar: &str, measured: String, met: Option<bool>) -> Bar {
    Bar {
        name: name.to_owned(),
        bar: bar.to_owned(),
        measured,
        met,
    }
}

/// Too few runs prove nothing, though one that fails would.
pub(super) fn verdict(holds: bool, is_enough: bool) -> Option<bool> {
    match (holds, is_enough) {
        (true, false) => None,
        (holds, _) => Some(holds),
    }
}

/// Which way a bar points.
#[derive(Clone, Copy)]
pub(super) enum BarDirection {
    Least,
    Most,
}

/// A bar over several rows: each has a figure and its own mark.
pub(super) fn row_bar(
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

/// A figure of the row of `lease` in a scenario.
pub(super) fn of(
    rows: &[LeaseRow],
    scenario: &str,
    pick: impl Fn(&LeaseRow) -> Option<f64>,
) -> Option<f64> {
    super::find(rows, scenario, "lease").and_then(pick)
}
