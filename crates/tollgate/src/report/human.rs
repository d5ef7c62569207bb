//! The report on a terminal.

use super::look::{Ink, TerminalStyle};
use super::table::{cell, tame, write_table};
use super::text::put;
use super::timeline::View;
use super::{Caption, Meaning, PolicyCount, PolicyLabel, Summary, Waits, story, units};
use crate::civil::Civil;

pub(crate) fn report(summary: &Summary, caption: Caption<'_>, look: TerminalStyle) -> String {
    let mut out = String::new();
    head(summary, caption, look, &mut out);
    if summary.total().requests > 0 {
        tally(summary, look, &mut out);
        over_time(summary, look, &mut out);
        policies(summary, look, &mut out);
        top(summary, look, &mut out);
        waits(summary, look, &mut out);
    }
    put(
        &mut out,
        format_args!("\n{}\n", tame(&story::conclusion(summary), 400)),
    );
    out
}

const HEIGHT: usize = 10;
const MARGIN: usize = 28;
const SPARK_COLUMNS: usize = 32;
const TOP_ROWS: usize = 10;
const KEY_WIDTH: usize = 48;

fn head(summary: &Summary, caption: Caption<'_>, look: TerminalStyle, out: &mut String) {
    out.push_str(&look.paint(Ink::Bold, &story::title(summary)));
    let (trace, contracts) = (tame(caption.trace, 60), tame(caption.contracts, 60));
    let mut facts = format!("{trace} against {contracts}");
    if let Some((first, last)) = summary.span() {
        let (from, to) = (Civil::from_unix_ms(first), Civil::from_unix_ms(last));
        let to = if from.date() == to.date() {
            to.seconds()
        } else {
            format!("{} {}", to.date(), to.seconds())
        };
        put(
            &mut facts,
            format_args!(" · {} {} to {to} UTC", from.date(), from.seconds()),
        );
    }
    put(out, format_args!("\n{}\n", look.paint(Ink::Dim, &facts)));
    if summary.skipped() > 0 {
        let lines = if summary.skipped() == 1 {
            "record was"
        } else {
            "records were"
        };
        let text = format!("{} bad {lines} skipped", units::exact(summary.skipped()));
        put(
            out,
            format_args!("{}\n", look.paint(Ink::Meaning(Meaning::Denied), &text)),
        );
    }
    out.push('\n');
}

fn tally(summary: &Summary, look: TerminalStyle, out: &mut String) {
    let total = summary.total().requests;
    let shown = Meaning::ALL
        .into_iter()
        .rev()
        .filter(|meaning| *meaning != Meaning::Unmatched || summary.count(*meaning).requests > 0);
    let rows = shown.map(|meaning| {
        let count = summary.count(meaning);
        let ink = if count.requests > 0 {
            Ink::Meaning(meaning)
        } else {
            Ink::Dim
        };
        vec![
            cell(format!("{} {}", meaning.glyph(), meaning.word())).ink(ink),
            cell(units::exact(count.requests)),
            cell(units::share(count.requests, total)),
            cell(units::exact(count.cost)),
        ]
    });
    let header = ["", ">requests", ">share", ">cost"];
    write_table(&header, rows, look, out);
}

fn over_time(summary: &Summary, look: TerminalStyle, out: &mut String) {
    let view = summary.timeline().view(look.width - MARGIN);
    let peak = view.peak();
    let title = format!(
        "Requests over time, {} each column, at most {}",
        units::span(view.width_ms),
        units::rate(peak, view.width_ms)
    );
    put(out, format_args!("\n{}\n", look.paint(Ink::Bold, &title)));
    let columns: Vec<Vec<Meaning>> = view
        .stacks
        .iter()
        .map(|stack| stacked(stack, peak))
        .collect();
    for row in (0..HEIGHT).rev() {
        let label = match row {
            _ if row + 1 == HEIGHT => units::rate(peak, view.width_ms),
            _ if row == HEIGHT / 2 - 1 => units::rate(peak / 2, view.width_ms),
            _ => String::new(),
        };
        let mark = if label.is_empty() { '│' } else { '┤' };
        out.push_str(&look.paint(Ink::Dim, &format!("{label:>9} {mark}")));
        let cells: Vec<Option<Meaning>> = columns
            .iter()
            .map(|column| column.get(row).copied())
            .collect();
        for run in cells.chunk_by(|a, b| a == b) {
            let text = |glyph: char| glyph.to_string().repeat(run.len());
            out.push_str(&run[0].map_or(text(' '), |meaning| {
                look.paint(Ink::Meaning(meaning), &text(meaning.glyph()))
            }));
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    let axis = format!("{:>9} └{}", "0", "─".repeat(columns.len()));
    put(out, format_args!("{}\n", look.paint(Ink::Dim, &axis)));
    denied_share(&view, look, out);
    out.push_str(&look.paint(Ink::Dim, format!("{:11}{}", "", ticks(&view)).trim_end()));
    out.push('\n');
}

/// One column of the histogram from the bottom to the top: each cell shows what is in its middle.
fn stacked(stack: &[u64; 4], peak: u64) -> Vec<Meaning> {
    let total: u64 = stack.iter().sum();
    let middle = |row: usize| u128::from(peak) * (2 * row as u128 + 1);
    let reaches = |sum: u64, row: usize| u128::from(sum) * 2 * HEIGHT as u128 >= middle(row).max(1);
    let rows = (0..HEIGHT)
        .take_while(|row| reaches(total, *row))
        .count()
        .max(usize::from(total > 0));
    let at = |row: usize| {
        let mut sum = 0;
        Meaning::ALL.into_iter().find(|meaning| {
            sum += stack[*meaning as usize];
            reaches(sum, row)
        })
    };
    let most = Meaning::ALL
        .into_iter()
        .max_by_key(|meaning| stack[*meaning as usize]);
    (0..rows).filter_map(|row| at(row).or(most)).collect()
}

/// The share denied in each column, which the stack above is too coarse to show.
fn denied_share(view: &View, look: TerminalStyle, out: &mut String) {
    let shares: Vec<u64> = view
        .stacks
        .iter()
        .map(|stack| {
            let denied = u128::from(stack[Meaning::Denied as usize]) * 1_000_000_000;
            u64::try_from(denied.div_ceil(u128::from(stack.iter().sum::<u64>().max(1))))
                .unwrap_or(0)
        })
        .collect();
    let worst = shares.iter().copied().max().unwrap_or(0);
    if worst > 0 {
        let label = look.paint(Ink::Dim, &format!("{:>9} │", "denied"));
        let bars = look.paint(Ink::Meaning(Meaning::Denied), &spark(&shares));
        let most = look.paint(
            Ink::Dim,
            &format!("at most {}", units::share(worst, 1_000_000_000)),
        );
        put(out, format_args!("{label}{bars} {most}\n"));
    }
}

/// Times below the axis, as many as fit.
fn ticks(view: &View) -> String {
    const STEP: usize = 14;
    let mut line = String::new();
    let span = view.width_ms.saturating_mul(view.stacks.len() as u64);
    for column in (0..view.stacks.len()).step_by(STEP) {
        let label = moment(view.time_ms(column), span);
        put(&mut line, format_args!("{:<STEP$}", format!("╵{label}")));
    }
    line.trim_end().to_owned()
}

/// A time, with the precision that its span needs.
pub(super) fn moment(time_ms: u64, span_ms: u64) -> String {
    let civil = Civil::from_unix_ms(time_ms);
    match span_ms {
        0..2_000 => civil.millis(),
        2_000..1_200_000 => civil.seconds(),
        1_200_000..172_800_000 => civil.minutes(),
        172_800_000..2_592_000_000 => civil.day_and_minutes(),
        _ => civil.date(),
    }
}

fn policies(summary: &Summary, look: TerminalStyle, out: &mut String) {
    let mut bitten: Vec<(usize, &PolicyLabel, &PolicyCount)> = summary
        .policies()
        .enumerate()
        .map(|(index, (label, count))| (index, label, count))
        .collect();
    if bitten.is_empty() {
        return;
    }
    bitten.sort_by_key(|(_, _, count)| {
        std::cmp::Reverse(count.denied.requests + count.delayed.requests)
    });
    let start = summary.span().map_or(0, |(first, _)| first);
    let after = |time: Option<u64>| {
        time.map_or("never".to_owned(), |time| {
            format!("+{}", units::span(time - start))
        })
    };
    let rows = bitten.iter().map(|(index, label, count)| {
        let bites = summary.timeline().bites(*index, SPARK_COLUMNS);
        let ink = |count: u64, meaning| {
            if count > 0 {
                Ink::Meaning(meaning)
            } else {
                Ink::Dim
            }
        };
        vec![
            cell(tame(&label.to_string(), KEY_WIDTH)),
            cell(units::exact(count.denied.requests))
                .ink(ink(count.denied.requests, Meaning::Denied)),
            cell(units::exact(count.delayed.requests))
                .ink(ink(count.delayed.requests, Meaning::Delayed)),
            cell(after(count.span.map(|(first, _)| first))),
            cell(after(count.span.map(|(_, last)| last))),
            cell(spark(&bites)).ink(if count.span.is_some() {
                Ink::Plain
            } else {
                Ink::Dim
            }),
        ]
    });
    let header = [
        "policy",
        ">denied",
        ">delayed",
        ">first",
        ">last",
        "over time",
    ];
    put(
        out,
        format_args!("\n{}\n", look.paint(Ink::Bold, "When each policy bit")),
    );
    write_table(&header, rows, look, out);
}

/// A row of bars, one for each count.
fn spark(counts: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let peak = u128::from(counts.iter().copied().max().unwrap_or(0).max(1));
    let bar = |count: &u64| match *count {
        0 => '·',
        count => {
            BARS[usize::try_from((u128::from(count) * 8).div_ceil(peak) - 1)
                .unwrap_or(7)
                .min(7)]
        }
    };
    counts.iter().map(bar).collect()
}

fn top(summary: &Summary, look: TerminalStyle, out: &mut String) {
    let denied = summary.count(Meaning::Denied).requests;
    let rows: Vec<_> = summary
        .top()
        .list(TOP_ROWS)
        .iter()
        .map(|key| {
            let about = if key.over_max > 0 { "≤ " } else { "" };
            vec![
                cell(tame(&key.key, KEY_WIDTH)),
                cell(format!("{about}{}", units::exact(key.count)))
                    .ink(Ink::Meaning(Meaning::Denied)),
                cell(units::share(key.count, denied)),
                cell(
                    summary
                        .label(key.policy)
                        .map_or(String::new(), |label| tame(&label.to_string(), 32)),
                ),
            ]
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let header = ["key", ">denied", ">of all denials", "last refused by"];
    put(
        out,
        format_args!("\n{}\n", look.paint(Ink::Bold, "Keys denied most")),
    );
    write_table(&header, rows, look, out);
    if let Some(note) = story::precision(summary) {
        put(out, format_args!("  {}\n", look.paint(Ink::Dim, &note)));
    }
}

fn waits(summary: &Summary, look: TerminalStyle, out: &mut String) {
    let rows: Vec<_> = [
        ("wait of delayed requests", summary.waits()),
        ("retry-after of denied requests", summary.retries()),
    ]
    .into_iter()
    .filter_map(|(name, waits)| wait_row(name, waits))
    .collect();
    if !rows.is_empty() {
        let header = ["", ">p50", ">p99", ">longest"];
        put(
            out,
            format_args!("\n{}\n", look.paint(Ink::Bold, "How long")),
        );
        write_table(&header, rows, look, out);
    }
    if summary.never() > 0 {
        let text = format!(
            "  {} denied requests could never pass: they cost more than a policy holds.",
            units::exact(summary.never())
        );
        put(out, format_args!("{}\n", look.paint(Ink::Dim, &text)));
    }
}

fn wait_row(name: &str, waits: &Waits) -> Option<Vec<super::table::TableCell>> {
    let (p50, p99) = (waits.percentile_ns(50)?, waits.percentile_ns(99)?);
    let times = [p50, p99, waits.max_ns()?].map(|ns| cell(units::wait(ns)));
    Some(std::iter::once(cell(name)).chain(times).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    const CAPTION: Caption<'_> = Caption {
        trace: "day.csv",
        contracts: "free.yaml",
    };

    #[test]
    fn the_report_states_the_fact_first_and_shows_every_part() {
        let text = report(&sample(), CAPTION, TerminalStyle::PLAIN);
        assert!(text.starts_with("Denied 6.9 % of 10.8 k requests over 2 h 59 min\n"));
        for part in [
            "2023-11-14 22:13:20 to 2023-11-15 01:13:19 UTC",
            "█ denied",
            "Requests over time, 3 min each column",
            "When each policy bit",
            "+1 h 59 min",
            "denied │",
            "Keys denied most",
            "3.1 ms",
            "could never pass",
        ] {
            assert!(text.contains(part), "{part} is missing from:\n{text}");
        }
        assert!(!text.contains('\x1b'));
        assert!(text.lines().all(
            |line| line.chars().count() <= TerminalStyle::PLAIN.width + 30 && !line.ends_with(' ')
        ));
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let coloured = report(
            &sample(),
            CAPTION,
            TerminalStyle {
                colour: true,
                ..TerminalStyle::PLAIN
            },
        );
        let mut plain = String::new();
        for (at, part) in coloured.split('\x1b').enumerate() {
            plain.push_str(if at == 0 {
                part
            } else {
                part.split_once('m').map_or("", |(_, rest)| rest)
            });
        }
        let trim = |text: &str| {
            text.lines()
                .map(|line| line.trim_end().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            trim(&plain),
            trim(&report(&sample(), CAPTION, TerminalStyle::PLAIN))
        );
    }

    #[test]
    fn an_empty_trace_says_what_to_do() {
        let text = report(&Summary::new(vec![]), CAPTION, TerminalStyle::PLAIN);
        assert!(text.starts_with("No requests in the trace\n") && text.contains("check that"));
    }

    #[test]
    fn a_column_shows_what_is_in_the_middle_of_each_cell() {
        use Meaning::{Allowed, Delayed, Denied};
        assert_eq!(stacked(&[0, 100, 0, 0], 100), [Allowed; HEIGHT]);
        assert_eq!(
            stacked(&[0, 30, 0, 10], 100),
            [Allowed, Allowed, Allowed, Denied]
        );
        assert_eq!(
            stacked(&[0, 30, 11, 1], 100),
            [Allowed, Allowed, Allowed, Delayed]
        );
        assert_eq!(stacked(&[0, 0, 0, 1], 1_000_000), [Denied]);
        assert_eq!(stacked(&[0; 4], 5), []);
        assert_eq!(stacked(&[0, u64::MAX, 0, 0], u64::MAX).len(), HEIGHT);
    }

    #[test]
    fn sparks_tell_nothing_from_little() {
        assert_eq!(spark(&[0, 1, 50, 100]), "·▁▄█");
        assert_eq!(spark(&[u64::MAX, 0]), "█·");
    }
}
