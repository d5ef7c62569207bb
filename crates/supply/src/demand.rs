//! How much is asked for: an average over rounds, refused requests included.
//!
//! Not here: what is done about it.

use tollgate_limit::{Instant, Span};

/// Requests per second, smoothed, in 10^-9.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    average: u64,
    /// The round that runs.
    begin: Instant,
    /// Tokens asked for in it, in whole requests.
    asked: u64,
    /// Requests that asked.
    arrivals: u64,
    /// When the last one came.
    last: Instant,
}

impl Demand {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            average: 0,
            begin: now,
            asked: 0,
            arrivals: 0,
            last: now,
        }
    }

    /// Counts a request that was offered.
    pub(crate) fn count(&mut self, cost: u64, round: Span, now: Instant) {
        self.roll(round, now);
        self.asked = self.asked.saturating_add(cost);
        self.arrivals += 1;
        self.last = now;
    }

    /// Closes the rounds that are over.
    pub(crate) fn roll(&mut self, round: Span, now: Instant) {
        let round = u64::try_from(round.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut over = now.nanos_since(self.begin) / round;
        self.begin = self
            .begin
            .saturating_add(Span::from_nanos(u128::from(over * round)));
        if over > ROUNDS_MAX {
            (self.average, self.asked, self.arrivals) = (0, 0, 0);
            return;
        }
        while over > 0 {
            self.average = self.with(self.asked, self.arrivals, round, round);
            (self.asked, self.arrivals) = (0, 0);
            over -= 1;
        }
    }

    /// Requests per second; the running round counts once enough came in it.
    pub(crate) fn rate(&self, round: Span, now: Instant) -> u64 {
        let round = u64::try_from(round.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut rolled = *self;
        rolled.roll(Span::from_nanos(u128::from(round)), now);
        if rolled.arrivals < ARRIVALS_MIN {
            return rolled.average;
        }
        let time = now.nanos_since(rolled.begin).max(round / 100).max(1);
        rolled.with(rolled.asked, rolled.arrivals, time, round)
    }

    /// Whether nothing came for so long.
    pub(crate) fn is_idle(&self, since: Span, now: Instant) -> bool {
        u128::from(now.nanos_since(self.last)) >= since.as_nanos()
    }

    /// The average with so many tokens in `time` mixed in: the more arrivals, the more that weighs.
    fn with(&self, asked: u64, arrivals: u64, time: u64, round: u64) -> u64 {
        let average = u128::from(self.average);
        let seen = u128::from(asked) * SECOND_SQUARED / u128::from(time);
        let mean = u128::from(asked.checked_div(arrivals).unwrap_or(1).max(1));
        let expected = average * u128::from(round) / SECOND_SQUARED / mean;
        let by_now = average * u128::from(time) / SECOND_SQUARED / mean;
        let weight = if is_another(u128::from(arrivals), by_now) {
            WEIGHT_ANOTHER
        } else {
            expected
                .max(u128::from(arrivals))
                .clamp(WEIGHT_MIN, WEIGHT_MAX)
        };
        let mixed = (average * (100 - weight) + seen * weight) / 100;
        u64::try_from(mixed).unwrap_or(u64::MAX)
    }
}

/// Whether so many arrivals are no accident where so many were expected: five deviations apart.
fn is_another(arrivals: u128, expected: u128) -> bool {
    let apart = arrivals.abs_diff(expected);
    apart * apart > 25 * (arrivals + expected)
}

/// From requests per nanosecond to 10^-9 requests per second.
const SECOND_SQUARED: u128 = 1_000_000_000_000_000_000;
/// A running round counts once that many requests came in it.
const ARRIVALS_MIN: u64 = 25;
/// After so many rounds without a look everything is forgotten.
const ROUNDS_MAX: u64 = 200;
/// What a round weighs, in hundredths: at least.
const WEIGHT_MIN: u128 = 10;
/// And at most.
const WEIGHT_MAX: u128 = 40;
/// What it weighs when the load is clearly another one.
const WEIGHT_ANOTHER: u128 = 90;

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Span = Span::from_nanos(100_000_000);

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_steady_stream_is_measured_within_a_hundredth() {
        let mut demand = Demand::new(at(0));
        for millis in 0..5_000 {
            demand.count(2, ROUND, at(millis));
        }
        let rate = demand.rate(ROUND, at(5_000));
        assert!(rate.abs_diff(2_000_000_000_000) < 20_000_000_000, "{rate}");
    }

    #[test]
    fn silence_is_forgotten() {
        let mut demand = Demand::new(at(0));
        (0..500).for_each(|millis| demand.count(1, ROUND, at(millis)));
        assert!(demand.rate(ROUND, at(3_000)) < demand.rate(ROUND, at(600)) / 10);
        assert_eq!(demand.rate(ROUND, at(60_000)), 0);
        assert!(demand.is_idle(Span::from_nanos(1), at(60_000)));
    }

    #[test]
    fn a_crowd_counts_before_its_round_is_over() {
        let mut demand = Demand::new(at(0));
        (0..30).for_each(|_| demand.count(1, ROUND, at(10)));
        assert!(demand.rate(ROUND, at(10)) > 0);
    }
}
