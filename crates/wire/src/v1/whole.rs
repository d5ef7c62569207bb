//! Whole numbers in JSON, which knows one kind of number: `1` and `1.0` are the same.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Reads a whole number.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Whole::deserialize(deserializer).map(|Whole(number)| number)
}

/// Reads a whole number or null.
pub(super) fn optional_whole<'de, D>(deserializer: D) -> Result<Option<u64>, D::Error>
where
    D: Deserializer<'de>,
{
    let number = Option::<Whole>::deserialize(deserializer)?;
    Ok(number.map(|Whole(number)| number))
}

struct Whole(u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(WholeVisitor)
    }
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = Whole;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
        Ok(Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
        Err(E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Whole, E> {
        if value.fract() != 0.0 || !(0.0..=EXACT_MAX).contains(&value) {
            return Err(E::invalid_value(Unexpected::Float(value), &self));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Whole, and in range.
        Ok(Whole(value as u64))
    }
}

/// Beyond, a number with a point may not be the one that was written.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_whole_however_they_are_written() {
        let read = |json: &str| whole(&mut serde_json::Deserializer::from_str(json)).ok();
        assert_eq!(read("7"), Some(7));
        assert_eq!(read("7.0"), Some(7));
        assert_eq!(read("1e3"), Some(1_000));
        assert_eq!(read("-0.0"), Some(0));
        assert_eq!(read("18446744073709551615"), Some(u64::MAX));
        for wrong in [
            "-1",
            "-1.0",
            "7.5",
            "1e16",
            "1e400",
            "18446744073709551616",
            "\"7\"",
            "null",
            "true",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
