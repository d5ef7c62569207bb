//! Random choices that a seed decides, the same on every machine.
//!
//! Not here: anything a stranger must not guess. This is `SplitMix64`, made for simulations.

/// A stream of numbers from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, each equally likely to within 2^-64 · bound; zero when the bound is.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.roll()) * u128::from(bound)) >> 64) as u64
    }
}

/// Scrambles a number so that close ones end far apart.
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_the_stream() {
        let mut dice = Dice::new(0);
        assert_eq!(dice.roll(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(dice.below(0), 0);
        assert!((0..1000).all(|_| dice.below(7) < 7));
    }
}
