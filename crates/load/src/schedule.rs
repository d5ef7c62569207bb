//! When requests are due in an open loop.
//!
//! The times follow from the rate and the seed alone; the server has no influence on them.

use tollgate_kit::Dice;

use crate::plan::Arrivals;

/// Due times, in nanoseconds from the start, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    dice: Option<Dice>,
    gap_ns: f64,
    due_ns: f64,
}

impl Schedule {
    /// `rate` per second; the first is due after `offset` of a gap.
    pub(crate) fn new(rate: f64, arrivals: Arrivals, seed: u64, offset: f64) -> Self {
        let gap_ns = 1e9 / rate.max(RATE_MIN);
        let dice = match arrivals {
            Arrivals::Even => None,
            Arrivals::Poisson => Some(Dice::new(seed)),
        };
        Self {
            dice,
            gap_ns,
            due_ns: gap_ns * offset,
        }
    }

    /// When the next request is due.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times are whole and positive"
    )]
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns as u64
    }

    /// Goes on to the one after it.
    pub(crate) fn advance(&mut self) {
        let gap = match &mut self.dice {
            None => self.gap_ns,
            Some(dice) => dice.exponential(self.gap_ns),
        };
        self.due_ns += gap;
    }
}

const RATE_MIN: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    fn due_within_a_second(arrivals: Arrivals) -> usize {
        let mut schedule = Schedule::new(50_000.0, arrivals, 3, 0.0);
        let mut count = 0;
        while schedule.due_ns() < 1_000_000_000 {
            schedule.advance();
            count += 1;
        }
        count
    }

    #[test]
    fn as_many_are_due_as_the_rate_says() {
        assert_eq!(due_within_a_second(Arrivals::Even), 50_000);
        let poisson = due_within_a_second(Arrivals::Poisson);
        assert!((49_000..51_000).contains(&poisson), "{poisson}");
    }
}
