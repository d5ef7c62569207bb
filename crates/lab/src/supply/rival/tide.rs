//! How much a node is asked, smoothed: refused requests count.
//!
//! Not here: what is done about it.

use crate::supply::stage::{PER_SECOND, SECOND, part};

/// The running interval counts once it has that many requests.
const EARLY: u64 = 25;

/// Requests offered per second, as an average that forgets sooner where more is seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tide {
    /// Millionths of a request per second.
    mean: u64,
    seen: u64,
    since: u64,
    round_us: u64,
}

impl Tide {
    pub(crate) fn new(mean: u64, now: u64, round_us: u64) -> Self {
        Self {
            mean,
            seen: 0,
            since: now,
            round_us,
        }
    }

    pub(crate) fn note(&mut self) {
        self.seen += 1;
    }

    pub(crate) fn turn(&mut self, now: u64) {
        self.mean = self.rate_with(now);
        self.seen = 0;
        self.since = now;
    }

    pub(crate) fn rate(&self, now: u64) -> u64 {
        if self.seen >= EARLY {
            self.rate_with(now).max(self.mean)
        } else {
            self.mean
        }
    }

    fn rate_with(&self, now: u64) -> u64 {
        let elapsed = now.saturating_sub(self.since);
        if elapsed == 0 {
            return self.mean;
        }
        let fresh = part(self.seen * PER_SECOND, SECOND, elapsed);
        let expected = part(self.mean, elapsed, SECOND) / PER_SECOND;
        // In thousandths: a hundredth per request, between a tenth and four tenths.
        let weight = (self.seen.max(expected) * 10).clamp(100, 400);
        // An interval that has only begun counts for as much of it as there was.
        let weight = part(weight, elapsed.min(self.round_us), self.round_us);
        part(self.mean, 1_000 - weight, 1_000) + part(fresh, weight, 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_settles_at_what_is_offered() {
        let mut tide = Tide::new(0, 0, 100_000);
        for round in 1..60 {
            for _ in 0..30 {
                tide.note();
            }
            tide.turn(round * 100_000);
        }
        assert!(tide.rate(5_900_000).abs_diff(300 * PER_SECOND) < 3 * PER_SECOND);
    }
}
