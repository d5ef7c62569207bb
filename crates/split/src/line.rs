//! How fast what is owed comes back: at a few rates one after the other, and at a last one for ever.
//!
//! Hired rate counts until its term ends, and what was promised before it came goes on at the rate there was. Not here:
//! what is owed.

use tollgate_limit::{Instant, Span};

/// How fast what is owed comes back, in grains per nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RepaymentLine {
    pieces: [Piece; PIECES_MAX],
    used: usize,
    last: u128,
}

/// A rate, and until when.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    until: Instant,
    rate: u128,
}

impl RepaymentLine {
    /// At one rate until an instant, and at another one after it.
    pub(crate) fn new(rate: u128, until: Instant, last: u128) -> Self {
        let mut line = Self::default();
        line.push(until, rate);
        line.last = last;
        line
    }

    /// The same until an instant, and another one after it; `None` where that has too many rates.
    pub(crate) fn then(&self, turn: Instant, next: &Self) -> Option<Self> {
        let mut line = Self::default();
        let mut fits = true;
        for piece in self.pieces() {
            fits &= line.push(piece.until.min(turn), piece.rate);
        }
        fits &= line.push(turn, self.last);
        for piece in next.pieces() {
            fits &= line.push(piece.until, piece.rate);
        }
        line.last = next.last;
        fits.then_some(line)
    }

    /// What comes back between two instants.
    pub(crate) fn back(&self, from: Instant, to: Instant) -> u128 {
        let (mut sum, mut at) = (0_u128, from);
        for piece in self.pieces() {
            let end = piece.until.min(to).max(at);
            let nanos = u128::from(end.nanos_since(at));
            sum = sum.saturating_add(piece.rate.saturating_mul(nanos));
            at = end;
        }
        let nanos = u128::from(to.nanos_since(at));
        sum.saturating_add(self.last.saturating_mul(nanos))
    }

    /// The first instant by which so much has come back; `None` where it never does.
    pub(crate) fn by(&self, from: Instant, grains: u128) -> Option<Instant> {
        let (mut left, mut at) = (grains, from);
        for piece in self.pieces() {
            let end = piece.until.max(at);
            let nanos = u128::from(end.nanos_since(at));
            let back = piece.rate.saturating_mul(nanos);
            if left <= back {
                return after(at, left, piece.rate);
            }
            (left, at) = (left - back, end);
        }
        after(at, left, self.last)
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().take(self.used)
    }

    /// Adds a rate behind the others; `false` where there is no room for it.
    fn push(&mut self, until: Instant, rate: u128) -> bool {
        let before = self.used.checked_sub(1);
        let before = before.and_then(|place| self.pieces.get_mut(place));
        if let Some(before) = before {
            if until <= before.until {
                return true;
            }
            if before.rate == rate {
                before.until = until;
                return true;
            }
        }
        let Some(piece) = self.pieces.get_mut(self.used) else {
            return false;
        };
        *piece = Piece { until, rate };
        self.used += 1;
        true
    }
}

/// When so much has come back at one rate.
fn after(at: Instant, grains: u128, rate: u128) -> Option<Instant> {
    if grains == 0 {
        return Some(at);
    }
    let rate = Some(rate).filter(|rate| *rate > 0)?;
    Some(at.saturating_add(Span::from_nanos(grains.div_ceil(rate))))
}

/// Rates one after the other, without the last.
const PIECES_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    proptest! {
        #[test]
        fn an_instant_is_the_first_by_which_so_much_is_back(
            lines in prop::collection::vec((0..6_u128, 0..90_u64, 0..4_u128, 0..90_u64), 1..5), from in 0..60_u64, grains in 1..300_u128,
        ) {
            // The rates that were said, the later one from its turn on.
            let mut said = Vec::new();
            let mut line = RepaymentLine::default();
            for (place, (rate, until, last, turn)) in lines.into_iter().enumerate() {
                let turn = if place == 0 { 0 } else { turn };
                let Some(joined) = line.then(at(turn), &RepaymentLine::new(rate, at(until), last)) else {
                    break;
                };
                line = joined;
                said.push((turn, rate, until, last));
            }
            let rate_at = |now: u64| {
                let (_, rate, until, last) = said.iter().rfind(|(turn, ..)| *turn <= now).unwrap();
                if now < *until { *rate } else { *last }
            };
            let (mut sum, mut now) = (0, from);
            while sum < grains && now < 1_000 {
                sum += rate_at(now);
                now += 1;
            }
            let expected = (sum >= grains).then(|| at(now));
            if expected.is_some() || line.last == 0 {
                prop_assert_eq!(line.by(at(from), grains), expected);
            }
            prop_assert_eq!(line.back(at(from), at(now)), sum);
        }
    }
}
