//! Keys, generated before any clock is read, so that every subject pays the same for drawing one.
//!
//! The order of drawing is the order of the vector; tables are filled in another order, so that
//! what a limiter allocated in sequence is not also visited in sequence.

use std::ops::Range;

use tollgate_kit::{Dice, scramble};

/// The integer key of the hot rows.
pub(crate) const HOT: u64 = 0x5EED_0000_0000_0007;

/// Length in bytes of the usual string key.
pub(crate) const TEXT_LENGTH: usize = 21;

/// A kind of key that can be made from a small number.
pub(crate) trait BenchKey: Send + Sync + 'static {
    /// Makes the key with this number; different numbers give different keys.
    fn numbered(number: u64) -> Self;
}

impl BenchKey for u64 {
    fn numbered(number: u64) -> Self {
        scramble(number)
    }
}

impl BenchKey for String {
    fn numbered(number: u64) -> Self {
        text(number, TEXT_LENGTH)
    }
}

/// Makes a string key such as `user:0000000000001234`, padded to `length` bytes.
pub(crate) fn text(number: u64, length: usize) -> String {
    let digits = length.saturating_sub("user:".len());
    format!("user:{number:0digits$}")
}

/// Makes keys for a range of numbers, in random order.
pub(crate) fn shuffled<K: BenchKey>(numbers: Range<u64>) -> Vec<K> {
    order(numbers, 1).into_iter().map(K::numbered).collect()
}

/// Lists a range of numbers in an order that depends on `seed` only.
pub(crate) fn order(numbers: Range<u64>, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = numbers.collect();
    Dice::new(seed).shuffle(&mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_keys_have_the_promised_length() {
        assert_eq!(text(1234, TEXT_LENGTH), "user:0000000000001234");
        assert_eq!(text(1234, 64).len(), 64);
    }

    #[test]
    fn shuffling_keeps_every_number() {
        let mut numbers = order(0..1000, 3);
        assert_ne!(numbers, order(0..1000, 4));
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..1000));
    }
}
