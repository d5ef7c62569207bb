//! A node's clock: ahead of the world's or behind it, and a little too fast or too slow.
//!
//! Not here: its users.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimClock {
    /// Offset at time zero; a jump changes it.
    pub ahead: i64,
    /// Millionths that it runs too fast.
    pub drift: i64,
}

/// One, in millionths.
const WHOLE: i128 = 1_000_000;

impl SimClock {
    pub const fn ahead(ahead: i64) -> Self {
        Self { ahead, drift: 0 }
    }

    pub fn at(self, world: u64) -> u64 {
        if self.drift == 0 {
            return world.saturating_add_signed(self.ahead);
        }
        let world = i128::from(world);
        let shown = i128::from(self.ahead) + world + world * i128::from(self.drift) / WHOLE;
        u64::try_from(shown.max(0)).unwrap_or(u64::MAX)
    }

    /// The first world time at which it shows `local` or later.
    pub fn world(self, local: u64) -> u64 {
        let passed = i128::from(local) - i128::from(self.ahead);
        if self.drift == 0 {
            return u64::try_from(passed.max(0)).unwrap_or(u64::MAX);
        }
        let passed = passed * WHOLE / (WHOLE + i128::from(self.drift));
        let mut world = u64::try_from((passed - 2).max(0)).unwrap_or(u64::MAX);
        while world < u64::MAX && self.at(world) < local {
            world += 1;
        }
        world
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_the_first_instant_at_which_it_is_due() {
        for number in 0..2_000_u64 {
            let clock = SimClock {
                ahead: number.cast_signed() * 7_919 - 5_000_000,
                drift: (number * 31 % 2_001).cast_signed() - 1_000,
            };
            let world = 6_000_000 + number * 99_991;
            let local = clock.at(world);
            let first = clock.world(local);
            assert!(clock.at(first) >= local && first <= world);
            assert!(clock.at(first - 1) < local);
        }
    }

    #[test]
    fn the_ends_of_time_are_reached_and_not_passed() {
        for drift in [-20_000, 0, 20_000] {
            let clock = SimClock { ahead: -9, drift };
            assert_eq!(clock.at(3), 0);
            assert!(clock.world(u64::MAX) > u64::MAX / 2);
        }
    }
}
