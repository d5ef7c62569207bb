//! Prints the figures of a report as tables.

use crate::bars::{BarVerdict, BenchBar};
use crate::instructions::{Instructions, KEYS};
use crate::memory::{KeyKind, Memory};
use crate::report::{ClockPrice, RowReport, ThreadsReport};
use crate::stopwatch::Spread;
use crate::subjects;
use crate::table::TextTable;
use crate::threads::CLEAN_MIN;

pub(crate) fn print_clocks(clocks: &[ClockPrice]) {
    let mut table = TextTable::new("clock reads (CPU ns)", &["call", "ns", "min..max"]);
    for clock in clocks {
        let (median, range) = spread(Some(clock.cpu_ns));
        table.push(vec![clock.name.into(), median, range]);
    }
    print!("{table}");
}

pub(crate) fn print_row(row: &RowReport) {
    let title = format!("{}: {} (CPU ns per decision)", row.row, row.title);
    let head = [
        "subject",
        "ns",
        "min..max",
        "wall ns",
        "x governor",
        "x hashbrown",
        "decides",
    ];
    let mut table = TextTable::new(title, &head).words_last();
    for line in &row.lines {
        let (median, range) = spread(line.cpu_ns);
        table.push(vec![
            named(line.subject),
            median,
            range,
            spread(line.wall_ns).0,
            ratio(line.to_governor),
            ratio(line.to_hashbrown),
            line.decides.into(),
        ]);
    }
    print!("{table}");
}

pub(crate) fn print_threads(row: &ThreadsReport) {
    let title = format!("{}: {} (wall ns per decision)", row.row, row.title);
    let head = [
        "subject",
        "1 thread",
        "2 threads",
        "2 over 1",
        "min..max",
        "clean",
        "remark",
    ];
    let mut table = TextTable::new(title, &head).words_last();
    for line in &row.lines {
        let (scaling, range) = scale(line.scaling);
        let busy = line.scaling.is_some() && line.clean < CLEAN_MIN;
        table.push(vec![
            named(line.subject),
            spread(line.one_ns).0,
            spread(line.two_ns).0,
            scaling,
            range,
            if line.rounds == 0 {
                dash()
            } else {
                format!("{}/{}", line.clean, line.rounds)
            },
            if busy {
                "machine too busy: says nothing".into()
            } else {
                String::new()
            },
        ]);
    }
    print!("{table}");
}

pub(crate) fn print_instructions(lines: &[Instructions]) {
    let find = |name: &str| lines.iter().find(|line| line.subject == name);
    let governor = find(subjects::GOVERNOR).and_then(|line| line.hot);
    let hashbrown = find(subjects::REFERENCE).and_then(|line| line.hot);
    let random = format!("{KEYS} keys");
    let head = ["subject", "hot key", "x governor", "x hashbrown", &random];
    let mut table = TextTable::new("instructions per decision (callgrind, all pass)", &head);
    for line in lines {
        table.push(vec![
            named(line.subject),
            figure(line.hot),
            ratio(line.hot.zip(governor).map(|(ours, theirs)| ours / theirs)),
            ratio(line.hot.zip(hashbrown).map(|(ours, theirs)| ours / theirs)),
            figure(line.keys),
        ]);
    }
    print!("{table}");
}

pub(crate) fn print_memory(lines: &[Memory]) {
    let head = [
        "subject",
        "keys",
        "u64",
        "text, 21 bytes",
        "text, 64 bytes",
        "u64, two limits",
    ];
    let mut table = TextTable::new("resident bytes per key", &head);
    for entry in subjects::all() {
        let ours: Vec<_> = lines
            .iter()
            .filter(|line| line.subject == entry.name)
            .collect();
        let bytes = |kind: KeyKind| {
            figure(
                ours.iter()
                    .find(|line| line.kind == kind)
                    .map(|line| line.bytes_per_key),
            )
        };
        let keys = ours
            .first()
            .map_or_else(|| "-".to_owned(), |line| millions(line.keys));
        table.push(vec![
            named(entry.name),
            keys,
            bytes(KeyKind::Number),
            bytes(KeyKind::Text21),
            bytes(KeyKind::Text64),
            bytes(KeyKind::Two),
        ]);
    }
    print!("{table}");
}

/// Prints what was promised and what came of it.
pub(crate) fn print_bars(bars: &[BenchBar]) {
    let mut table =
        TextTable::new("bars", &["tollgate's", "target", "measured", "verdict"]).words_last();
    for bar in bars {
        let verdict = match bar.verdict {
            BarVerdict::Met => "met",
            BarVerdict::Missed => "missed",
            BarVerdict::NotMeasured => "not measured",
            BarVerdict::TooBusy => "machine too busy to tell",
        };
        let measured = bar
            .measured
            .map_or_else(dash, |figure| format!("{figure:.2}"));
        table.push(vec![
            bar.what.into(),
            bar.target.clone(),
            measured,
            verdict.into(),
        ]);
    }
    print!("{table}");
}

/// Prints what the reader must know about each entry.
pub(crate) fn print_notes() {
    println!(
        "\n-  took no part: it has no such keys or call, cannot share itself, or is too slow or large for it"
    );
    for (number, entry) in noted() {
        println!("[{number}]  {}: {}", entry.name, entry.note);
    }
}

/// Entries that have a note, numbered from one.
fn noted() -> impl Iterator<Item = (usize, subjects::SubjectEntry)> {
    (1..).zip(
        subjects::all()
            .into_iter()
            .filter(|entry| !entry.note.is_empty()),
    )
}

fn named(name: &str) -> String {
    let note = noted().find(|(_, entry)| entry.name == name);
    note.map_or_else(
        || name.to_owned(),
        |(number, _)| format!("{name} [{number}]"),
    )
}

fn spread(spread: Option<Spread>) -> (String, String) {
    let range = |spread: Spread| format!("{}..{}", short(spread.min), short(spread.max));
    (
        spread.map_or_else(dash, |spread| short(spread.median)),
        spread.map_or_else(dash, range),
    )
}

fn scale(spread: Option<Spread>) -> (String, String) {
    let range = |spread: Spread| format!("{:.2}..{:.2}", spread.min, spread.max);
    let median = spread.map_or_else(dash, |spread| format!("{:.2}", spread.median));
    (median, spread.map_or_else(dash, range))
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(dash, |ratio| format!("{ratio:.2}"))
}

fn figure(figure: Option<f64>) -> String {
    figure.map_or_else(dash, short)
}

fn short(figure: f64) -> String {
    if figure < 100.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.0}")
    }
}

fn millions(keys: usize) -> String {
    format!("{} M", keys / 1_000_000)
}

fn dash() -> String {
    "-".to_owned()
}
