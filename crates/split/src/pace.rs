//! What was asked for lately: messages over a short window, without a timer.
//!
//! Not here: what is made of it.

use tollgate_limit::{Instant, Span};

/// What was asked for lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentDemand {
    slots: [u64; SLOTS],
    /// The slot of the last message, counted from the beginning of time.
    last: u64,
    since: Option<Instant>,
}

impl RecentDemand {
    pub(crate) fn add(&mut self, messages: u64, window: Span, now: Instant) {
        self.turn(window, now);
        self.since.get_or_insert(now);
        if let Some(slot) = self.slots.get_mut(place(self.last)) {
            *slot = slot.saturating_add(messages);
        }
    }

    /// All that is known has come since then.
    pub(crate) const fn begin(&mut self, since: Instant) {
        self.since = Some(since);
    }

    /// Messages per second, in thousandths.
    pub(crate) fn milli(&mut self, window: Span, now: Instant) -> u64 {
        self.turn(window, now);
        let Some(since) = self.since else {
            return 0;
        };
        // The slot of now is not over: so much of the window is looked at.
        let slot = slot_ns(window);
        let whole = slot * (SLOTS as u64 - 1) + now.as_nanos() % slot;
        let looked = whole.min(now.nanos_since(since)).max(slot);
        let sum = self
            .slots
            .iter()
            .map(|count| u128::from(*count))
            .sum::<u128>();
        let milli = sum.saturating_mul(MILLI_PER_NANO) / u128::from(looked);
        u64::try_from(milli).unwrap_or(u64::MAX)
    }

    /// Forgets the slots that are over.
    fn turn(&mut self, window: Span, now: Instant) {
        let slot = now.as_nanos() / slot_ns(window);
        let passed = slot.saturating_sub(self.last).min(SLOTS as u64);
        for behind in 0..passed {
            if let Some(old) = self.slots.get_mut(place(slot - behind)) {
                *old = 0;
            }
        }
        self.last = self.last.max(slot);
        if passed == SLOTS as u64 {
            self.since = None;
        }
    }
}

fn place(slot: u64) -> usize {
    usize::try_from(slot % SLOTS as u64).unwrap_or(0)
}

fn slot_ns(window: Span) -> u64 {
    let nanos = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
    (nanos / SLOTS as u64).max(1)
}

/// A window is looked at in so many parts.
const SLOTS: usize = 8;
/// From per nanosecond to thousandths per second.
const MILLI_PER_NANO: u128 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_told_as_it_is_and_forgotten_after_the_window() {
        let window = Span::from_nanos(800_000_000);
        let mut pace = RecentDemand::default();
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        for ms in 3_000..5_000 {
            pace.add(2, window, at(ms));
        }
        let told = pace.milli(window, at(5_000));
        assert!(told.abs_diff(2_000_000) < 20_000, "{told}");
        assert!(pace.milli(window, at(5_500)) < 1_200_000);
        assert_eq!(pace.milli(window, at(6_000)), 0);
        // A burst at the start is not taken for a rate: at least a slot is looked at.
        pace.add(10, window, at(9_000));
        assert_eq!(pace.milli(window, at(9_001)), 100_000);
    }
}
