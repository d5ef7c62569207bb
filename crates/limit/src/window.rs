//! Fixed windows: one counter per window, aligned to the epoch or to the calendar.
//!
//! The state is the count in the window that holds the cell's time; the window itself need not be stored.

use crate::calendar::Calendar;
use crate::config::{Period, PolicyConfig};
use crate::state::Probe;
use crate::time::{Instant, Span};

/// A compiled fixed window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FixedWindow {
    pub(crate) limit: u64,
    alignment: Alignment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Alignment {
    Epoch { period_ns: u64, offset_ns: u64 },
    Calendar(Calendar),
}

impl FixedWindow {
    /// The fixed window of a checked configuration.
    pub(crate) fn of(config: &PolicyConfig) -> Self {
        let alignment = match &config.period {
            Period::Fixed(period_ns) => Alignment::Epoch {
                period_ns: *period_ns,
                offset_ns: config.offset_ns % (*period_ns).max(1),
            },
            Period::Calendar(calendar) => Alignment::Calendar(calendar.clone()),
        };
        Self {
            limit: config.limit,
            alignment,
        }
    }

    /// First nanosecond of the window that holds `now`, and first nanosecond after it, perhaps beyond the last instant.
    pub(crate) fn window(&self, now: Instant) -> (u64, u128) {
        match &self.alignment {
            Alignment::Calendar(calendar) => calendar.window(now),
            Alignment::Epoch {
                period_ns,
                offset_ns,
            } => {
                let Some(shifted) = now.as_nanos().checked_sub(*offset_ns) else {
                    return (0, u128::from(*offset_ns));
                };
                let start = now.as_nanos() - shifted % period_ns;
                (start, u128::from(start) + u128::from(*period_ns))
            }
        }
    }

    /// What of a count written at `at` still counts at `now`.
    pub(crate) fn counted(&self, count: u64, at: Instant, now: Instant) -> u64 {
        if count == 0 || at == now || at.as_nanos() >= self.window(now).0 {
            count
        } else {
            0
        }
    }

    /// Would `tokens` pass with `count` in the window of `now`?
    pub(crate) fn probe(&self, count: u64, tokens: u64, now: Instant) -> Probe {
        Probe::of_window(self.limit, u128::from(count), tokens, || {
            Span::between(now, self.window(now).1)
        })
    }

    /// The nanosecond from which a count written at `at` no longer counts.
    pub(crate) fn fresh_at_ns(&self, count: u64, at: Instant) -> u128 {
        if count == 0 {
            u128::from(at.as_nanos())
        } else {
            self.window(at).1
        }
    }

    /// Whether a charge booked at `then` is in the window of `now`.
    pub(crate) fn is_current(&self, then: Instant, now: Instant) -> bool {
        then.as_nanos() >= self.window(now).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Algorithm;

    #[test]
    fn an_offset_shifts_the_windows_and_the_first_one_is_short() {
        let mut config = PolicyConfig::new(Algorithm::FixedWindow, 1, Period::from_nanos(100));
        config.offset_ns = 130;
        let window = FixedWindow::of(&config);
        assert_eq!(window.window(Instant::from_nanos(29)), (0, 30));
        assert_eq!(window.window(Instant::from_nanos(30)), (30, 130));
        assert!(window.window(Instant::LAST).1 > u128::from(u64::MAX));
    }
}
