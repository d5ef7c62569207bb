//! A node's clock: off by a constant, and a little too fast or too slow.
//!
//! Not here: clocks that jump, which no lease survives unless the machine below is told.

use super::units::{WHOLE, part};
use crate::dice::Dice;

/// Clocks start within that many microseconds of each other.
const OFFSET_MAX: u64 = 3_600_000_000;

/// How a node's clock runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    offset: u64,
    /// Millionths, either way.
    drift: i64,
}

impl Clock {
    /// A clock that drifts by up to that many millionths.
    pub(crate) fn draw(dice: &mut Dice, drift_max: u64) -> Self {
        let drift = dice.below(2 * drift_max + 1).cast_signed() - drift_max.cast_signed();
        Self {
            offset: dice.below(OFFSET_MAX),
            drift,
        }
    }

    /// What it shows.
    pub(crate) fn at(self, world: u64) -> u64 {
        let off = part(world, self.drift.unsigned_abs(), WHOLE);
        let shown = if self.drift < 0 {
            world - off
        } else {
            world + off
        };
        self.offset + shown
    }

    /// The first time of the world at which it shows `local` or later.
    pub(crate) fn world(self, local: u64) -> u64 {
        let shown = local.saturating_sub(self.offset);
        let mut world = part(shown, WHOLE, WHOLE.saturating_add_signed(self.drift));
        while world > 0 && self.at(world - 1) >= local {
            world -= 1;
        }
        while self.at(world) < local {
            world += 1;
        }
        world
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Purpose;

    #[test]
    fn a_timer_is_the_first_instant_at_which_it_is_due() {
        let mut dice = Dice::new(3, Purpose::Clocks);
        for _ in 0..2_000 {
            let clock = Clock::draw(&mut dice, 1_000);
            let world = dice.below(100_000_000);
            let local = clock.at(world);
            let first = clock.world(local);
            assert!(clock.at(first) >= local && first <= world);
            assert!(first == 0 || clock.at(first - 1) < local);
        }
    }
}
