//! Random choices that a seed decides.
//!
//! Not here: the system's randomness.

/// A stream of numbers: splitmix64 by Steele, Lea and Flood.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The stream of one link.
    pub(crate) fn new(seed: u64, from: u16, to: u16) -> Self {
        let link = u64::from(from) << 16 | u64::from(to);
        let mut dice = Self(seed ^ link.wrapping_mul(0xa076_1d64_78bd_642f));
        let _ = dice.roll();
        dice
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `bound`; zero when the bound is.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.roll()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(u64::MAX)
    }

    /// Whether something happens that does so `odds` times in a million.
    pub(crate) fn millionth(&mut self, odds: u32) -> bool {
        odds > 0 && self.below(1_000_000) < u64::from(odds)
    }
}
