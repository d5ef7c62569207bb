//! Random choices that a seed decides, the same on every machine.
//!
//! Each purpose has its own stream, so that losing a message changes no arrival. Not here: the designs' own dice, which
//! they get a seed for.

use tollgate_sim::{Conditions, Links};

#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Purpose {
    Arrivals = 1,
    Keys = 2,
    Routing = 3,
    Boots = 4,
    Loss = 5,
    Copies = 6,
    Delays = 7,
    Clocks = 8,
    Detector = 9,
    Worlds = 10,
    Windows = 11,
}

/// A stream of numbers: xoshiro256++ by Blackman and Vigna, in the public domain.
#[derive(Clone, Debug)]
pub struct LabDice {
    state: [u64; 4],
}

impl LabDice {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        let base = scramble(seed ^ scramble(purpose as u64));
        Self {
            state: [1, 2, 3, 4].map(|word| scramble(base.wrapping_add(word))),
        }
    }

    pub(crate) fn roll(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let (c1, d1) = (c ^ a, d ^ b);
        self.state = [a ^ d1, b ^ c1, c1 ^ (b << 17), d1.rotate_left(45)];
        a.wrapping_add(d).rotate_left(23).wrapping_add(a)
    }

    /// A number below `bound`; zero when the bound is.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.roll()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(u64::MAX)
    }

    /// A number below a small `bound`.
    pub(crate) fn small(&mut self, bound: u16) -> u16 {
        u16::try_from(self.below(u64::from(bound))).unwrap_or(0)
    }
}

impl tollgate_sim::RandomSource for LabDice {
    fn below(&mut self, bound: u64) -> u64 {
        Self::below(self, bound)
    }
}

/// Links whose accidents a seed decides.
pub(crate) fn links(weather: Conditions, seed: u64) -> Links<LabDice> {
    let purposes = [Purpose::Loss, Purpose::Copies, Purpose::Delays];
    Links::new(weather, purposes.map(|purpose| LabDice::new(seed, purpose)))
}

/// Scrambles a number so that close ones end far apart.
pub(crate) fn scramble(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// The seeds of a campaign of tests: the usual number of them, unless asked otherwise.
#[cfg(test)]
pub(crate) fn seeds(usual: u64) -> std::ops::Range<u64> {
    #[allow(
        clippy::disallowed_methods,
        reason = "a replay is asked for from outside"
    )]
    let setting = |name| std::env::var(name).ok()?.parse().ok();
    match setting("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("SCHEDULES").unwrap_or(usual),
    }
}
