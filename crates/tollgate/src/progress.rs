//! Progress of a long run, on standard error if that is a terminal.
//!
//! Nothing is shown for runs that end at once.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::report::units;

const QUIET: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(100);
const BAR: usize = 20;

/// A progress bar. Update it with [`tick`](Self::tick); dropping it wipes the line.
pub(crate) struct Progress {
    total_bytes: Option<u64>,
    start: Instant,
    /// When to draw next; `None` if nothing is ever drawn.
    next: Option<Instant>,
    drawn: bool,
}

impl Progress {
    /// A bar for a number of bytes, or a counter if that is unknown; shown only on a terminal, and only if wanted.
    pub(crate) fn new(total_bytes: Option<u64>, wanted: bool) -> Self {
        let start = Instant::now();
        let shown = wanted && std::io::stderr().is_terminal();
        Self {
            total_bytes,
            start,
            next: shown.then(|| start + QUIET),
            drawn: false,
        }
    }

    /// Records the progress. Cheap enough for every block; draws at most ten times a second.
    pub(crate) fn tick(&mut self, bytes: u64, records: u64) {
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            self.next = Some(now + PAUSE);
            self.drawn = true;
            let line = line(
                Done {
                    bytes,
                    records,
                    elapsed: now - self.start,
                },
                self.total_bytes,
            );
            // A failed progress line must not stop the run.
            let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
        }
    }

    /// The same for work in runs.
    pub(crate) fn runs(&mut self, name: &str, done: u64, of: u64) {
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            self.next = Some(now + PAUSE);
            self.drawn = true;
            let line = run_line(name, done, of, now - self.start);
            let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[derive(Clone, Copy)]
struct Done {
    bytes: u64,
    records: u64,
    elapsed: Duration,
}

/// The line for runs: share, bar, count and time left.
fn run_line(name: &str, done: u64, of: u64, elapsed: Duration) -> String {
    let of = of.max(1);
    let done = done.min(of);
    let full = usize::try_from(done.saturating_mul(BAR as u64) / of).unwrap_or(BAR);
    let left = match done {
        0 => String::new(),
        done => {
            let rest = elapsed.as_millis() * u128::from(of - done) / u128::from(done);
            let whole_ms = rest.div_ceil(1000).saturating_mul(1000);
            let left = u64::try_from(whole_ms).unwrap_or(u64::MAX);
            format!(" · {} left", units::span(left))
        }
    };
    format!(
        "{:>3} % {}{} {name} · {done} of {of} runs{left}",
        done.saturating_mul(100) / of,
        "█".repeat(full.min(BAR)),
        "░".repeat(BAR.saturating_sub(full)),
    )
}

/// The line: share, bar, bytes, rate and time left.
fn line(done: Done, total_bytes: Option<u64>) -> String {
    let elapsed_ms = u64::try_from(done.elapsed.as_millis())
        .unwrap_or(u64::MAX)
        .max(1);
    let rate = units::rate(done.records, elapsed_ms).replace("/s", " req/s");
    let Some(total) = total_bytes.filter(|total| *total > 0) else {
        return format!(
            "{} requests · {} · {rate}",
            units::count(done.records),
            units::bytes(done.bytes)
        );
    };
    let bytes = done.bytes.min(total);
    let part = |whole: u64| {
        u64::try_from(u128::from(bytes) * u128::from(whole) / u128::from(total)).unwrap_or(whole)
    };
    let full = usize::try_from(part(BAR as u64)).unwrap_or(BAR).min(BAR);
    let left_ms = u128::from(elapsed_ms) * u128::from(total - bytes) / u128::from(bytes.max(1));
    let left = units::span(
        u64::try_from(left_ms)
            .unwrap_or(u64::MAX)
            .div_ceil(1000)
            .saturating_mul(1000),
    );
    format!(
        "{:>3} % {}{} {} of {} · {rate} · {left} left",
        part(100),
        "█".repeat(full),
        "░".repeat(BAR - full),
        units::bytes(bytes),
        units::bytes(total)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_shows_share_rate_and_time_left() {
        let done = Done {
            bytes: 1 << 28,
            records: 12_000_000,
            elapsed: Duration::from_secs(4),
        };
        assert_eq!(
            line(done, Some(1 << 30)),
            " 25 % █████░░░░░░░░░░░░░░░ 256 MiB of 1 GiB · 3 M req/s · 12 s left"
        );
    }

    #[test]
    fn runs_show_how_many_are_done_and_how_long_the_rest_takes() {
        let shown = run_line("thesis-b", 20, 80, Duration::from_secs(10));
        assert_eq!(
            shown,
            " 25 % █████░░░░░░░░░░░░░░░ thesis-b · 20 of 80 runs · 30 s left"
        );
        for (done, of) in [(0, 0), (0, u64::MAX), (9, 5), (u64::MAX, u64::MAX)] {
            let line = run_line("x", done, of, Duration::from_secs(1));
            assert!(line.chars().count() < 100, "{line}");
        }
    }

    #[test]
    fn a_pipe_shows_counts() {
        let done = Done {
            bytes: 5000,
            records: 1500,
            elapsed: Duration::from_millis(500),
        };
        assert_eq!(line(done, None), "1.5 k requests · 4.9 KiB · 3 k req/s");
    }

    #[test]
    fn odd_numbers_do_not_upset_the_line() {
        for (bytes, total) in [(0, 0), (0, u64::MAX), (9, 5), (u64::MAX, 1)] {
            let line = line(
                Done {
                    bytes,
                    records: u64::MAX,
                    elapsed: Duration::ZERO,
                },
                Some(total),
            );
            assert!(line.chars().count() < 100, "{line}");
        }
    }

    #[test]
    fn nothing_is_drawn_unless_wanted() {
        let mut progress = Progress::new(Some(10), false);
        progress.tick(5, 5);
        assert!(!progress.drawn);
    }
}
