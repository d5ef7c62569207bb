//! The greatest common divisor.

use std::ops::Rem;

/// The greatest number that divides two unsigned numbers; the other where one is zero.
pub fn gcd<T>(mut a: T, mut b: T) -> T
where
    T: Copy + Default + PartialEq + Rem<Output = T>,
{
    while b != T::default() {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_both_and_is_the_greatest() {
        for (a, b, divisor) in [
            (0, 0, 0),
            (0, 5, 5),
            (5, 0, 5),
            (12, 18, 6),
            (18, 12, 6),
            (7, 9, 1),
        ] {
            assert_eq!(gcd::<u64>(a, b), divisor);
        }
    }
}
