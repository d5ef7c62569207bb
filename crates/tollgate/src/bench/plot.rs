//! How latencies spread, as bars beside their bounds.

use std::fmt::Write;

use tollgate_load::Latency;

use crate::report::{Ink, TerminalStyle, units};

/// A line for each slice, widest where most replies are. Slices are joined until few enough are left.
pub(super) fn latency(latency: &Latency, look: TerminalStyle, out: &mut String) {
    let mut bars: Vec<(u64, u64)> = latency
        .slices
        .iter()
        .map(|slice| (slice.up_to.min(latency.max), slice.count))
        .collect();
    while bars.len() > LINES_MAX {
        bars = bars.chunks(2).map(joined).collect();
    }
    let most = bars
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or_default();
    let room = look.width.saturating_sub(LABELS).clamp(BAR_MIN, BAR_MAX);
    for (up_to, count) in bars {
        let bound = format!("{:>9}", units::wait(up_to.into()));
        let bar = bar(count, most, room);
        let share = units::share(count, latency.count);
        out.push_str(&look.paint(Ink::Dim, &format!("  ≤ {bound} ")));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{bar} {}", look.paint(Ink::Dim, &share));
    }
}

fn joined(pair: &[(u64, u64)]) -> (u64, u64) {
    let up_to = pair.last().map_or(0, |bar| bar.0);
    (up_to, pair.iter().map(|bar| bar.1).sum())
}

/// A bar in eighths of a block; a count above zero is always visible.
fn bar(count: u64, most: u64, room: usize) -> String {
    let eighths = u128::from(count) * (room as u128 * 8) / u128::from(most.max(1));
    let eighths = usize::try_from(eighths)
        .unwrap_or(0)
        .max(usize::from(count > 0));
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(PARTS.get(eighths % 8).copied().flatten());
    format!("{bar:<room$}")
}

const PARTS: [Option<char>; 8] = [
    None,
    Some('▏'),
    Some('▎'),
    Some('▍'),
    Some('▌'),
    Some('▋'),
    Some('▊'),
    Some('▉'),
];
const LINES_MAX: usize = 20;
const LABELS: usize = 24;
const BAR_MIN: usize = 16;
const BAR_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(5, 10, 4), "██  ");
        assert_eq!(bar(1, 10_000, 4), "▏   ");
        assert_eq!(bar(0, 10, 4), "    ");
    }
}
