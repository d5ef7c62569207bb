//! How fast what is owed comes back: at one rate until an instant, at a lower one after it.
//!
//! Hired rate counts until its term ends. Not here: what is owed.

use tollgate_limit::{Instant, Span};

/// How fast what is owed comes back, in grains per nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    pub(crate) fast: u128,
    pub(crate) until: Instant,
    pub(crate) slow: u128,
}

impl Line {
    /// What comes back between two instants.
    pub(crate) fn back(self, from: Instant, to: Instant) -> u128 {
        let turn = self.until.max(from).min(to.max(from));
        let fast = u128::from(turn.nanos_since(from));
        let slow = u128::from(to.nanos_since(turn));
        let fast = self.fast.saturating_mul(fast);
        fast.saturating_add(self.slow.saturating_mul(slow))
    }

    /// The first instant by which so much has come back; `None` where it never does.
    pub(crate) fn by(self, from: Instant, grains: u128) -> Option<Instant> {
        let turn = self.until.max(from);
        let first = self.back(from, turn);
        let (start, rate, rest) = if grains <= first {
            (from, self.fast, grains)
        } else {
            (turn, self.slow, grains - first)
        };
        if rest == 0 {
            return Some(start);
        }
        let rate = Some(rate).filter(|rate| *rate > 0)?;
        Some(start.saturating_add(Span::from_nanos(rest.div_ceil(rate))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_instant_is_the_first_by_which_so_much_is_back(
            slow in 0..5_u128, more in 0..5_u128, until in 0..60_u64, from in 0..60_u64, grains in 1..300_u128,
        ) {
            let line = Line { fast: slow + more, until: Instant::from_nanos(until), slow };
            let from = Instant::from_nanos(from);
            // Nanosecond by nanosecond.
            let (mut sum, mut now) = (0, from.as_nanos());
            while sum < grains && now < 1_000 {
                sum += if now < until { slow + more } else { slow };
                now += 1;
            }
            let expected = (sum >= grains).then(|| Instant::from_nanos(now));
            prop_assert_eq!(line.by(from, grains), expected);
            prop_assert_eq!(line.back(from, Instant::from_nanos(now)), sum);
        }
    }
}
