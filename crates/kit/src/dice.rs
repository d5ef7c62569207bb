//! Numbers by chance that a seed decides, the same on every machine: `SplitMix64` by Steele, Lea and Flood.
//!
//! Not here: anything that an attacker must not guess.

/// How far one state of the generator is from the next: 2^64 over the golden ratio, made odd.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[inline]
    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `bound`, each equally likely to within 2^-64 · bound; zero when the bound is.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.roll()) * u128::from(bound)) >> 64) as u64
    }

    /// A place in a list of this length; zero when it is empty.
    pub fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included; `low` when it is the higher one.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Whether something happens that does so `odds` times in `of`.
    pub fn chance(&mut self, odds: u64, of: u64) -> bool {
        self.below(of) < odds
    }

    /// A fraction, at least 0 and below 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A gap of a stream without memory.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.unit()).ln() * mean
    }

    /// Puts a list into any order, each equally likely.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for place in (1..list.len()).rev() {
            list.swap(place, self.place(place + 1));
        }
    }
}

/// Mixes a number one to one, so that close ones end far apart; zero stays.
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The number that was mixed.
pub const fn unmix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
    x ^ (x >> 30) ^ (x >> 60)
}

/// Mixes a number one to one, zero too: the first number of the stream whose seed it is.
#[inline]
pub const fn scramble(x: u64) -> u64 {
    mix(x.wrapping_add(GOLDEN))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_seed_decides_the_stream() {
        let mut dice = Dice::new(0);
        assert_eq!(scramble(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(dice.roll(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(dice.roll(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(dice.below(0), 0);
        assert!((0..1000).all(|_| dice.below(7) < 7));
        assert!((0..1000).all(|_| (3..=5).contains(&dice.between(3, 5))));
        assert_eq!(dice.between(5, 3), 5);
    }

    #[test]
    fn gaps_have_their_mean() {
        let mut dice = Dice::new(1);
        let sum: f64 = (0..100_000).map(|_| dice.exponential(1_000.0)).sum();
        assert!((99e6..101e6).contains(&sum), "{sum}");
    }

    #[test]
    fn a_shuffled_list_has_the_same_members_in_another_order() {
        let mut list: Vec<u64> = (0..100).collect();
        Dice::new(2).shuffle(&mut list);
        assert!(!list.is_sorted());
        list.sort_unstable();
        assert!(list.into_iter().eq(0..100));
    }

    proptest! {
        #[test]
        fn what_is_mixed_is_found_again(number in any::<u64>()) {
            prop_assert_eq!(unmix(mix(number)), number);
        }
    }
}
