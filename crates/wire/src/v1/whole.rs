//! Whole numbers in JSON, which knows one kind of number: `1` and `1.0` are the same.
//!
//! Many readers of JSON have only doubles, which hold every whole number up to 2^53 and not every one beyond. So larger
//! ones are neither read, as they may not be what was meant, nor written.

use std::{fmt, io};

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde_json::ser::{CompactFormatter, Formatter};

pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Whole::deserialize(deserializer).map(|Whole(number)| number)
}

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
        write!(out, "a whole number from 0 to {NUMBER_MAX} (2^53)")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
        if value > NUMBER_MAX {
            return Err(E::invalid_value(Unexpected::Unsigned(value), &self));
        }
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

/// May be below zero.
pub(crate) fn signed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = i64::deserialize(deserializer)?;
    if number.unsigned_abs() > NUMBER_MAX {
        let what = format_args!("{number} is not from -{NUMBER_MAX} to {NUMBER_MAX} (2^53)");
        return Err(D::Error::custom(what));
    }
    Ok(number)
}

pub(crate) fn optional_signed<'de, D>(deserializer: D) -> Result<Option<i64>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(serde::Deserialize)]
    struct Signed(#[serde(deserialize_with = "signed")] i64);
    let number = Option::<Signed>::deserialize(deserializer)?;
    Ok(number.map(|Signed(number)| number))
}

/// Writes numbers that every reader reads unchanged: larger ones become the largest.
pub(super) struct Exact;

impl Formatter for Exact {
    fn write_u64<W: io::Write + ?Sized>(&mut self, out: &mut W, value: u64) -> io::Result<()> {
        CompactFormatter.write_u64(out, value.min(NUMBER_MAX))
    }

    fn write_i64<W: io::Write + ?Sized>(&mut self, out: &mut W, value: i64) -> io::Result<()> {
        let most = NUMBER_MAX.cast_signed();
        CompactFormatter.write_i64(out, value.clamp(-most, most))
    }
}

/// The largest whole number of JSON here: 2^53.
pub const NUMBER_MAX: u64 = 1 << 53;
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
        assert_eq!(read("9007199254740992"), Some(NUMBER_MAX));
        for wrong in [
            "-1",
            "-1.0",
            "7.5",
            "1e16",
            "1e400",
            "9007199254740993",
            "18446744073709551615",
            "18446744073709551616",
            "\"7\"",
            "null",
            "true",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_too_large_is_told_the_range_and_never_written() {
        let wrong = whole(&mut serde_json::Deserializer::from_str("9007199254740993"));
        let wrong = wrong.unwrap_err().to_string();
        assert!(
            wrong.contains("from 0 to 9007199254740992 (2^53)"),
            "{wrong}"
        );
        let wrong = signed(&mut serde_json::Deserializer::from_str("-9007199254740993"));
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.contains("9007199254740992 (2^53)"), "{wrong}");
        let mut out = Vec::new();
        super::super::encode(&(u64::MAX, NUMBER_MAX, i64::MIN, 0.5), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "[9007199254740992,9007199254740992,-9007199254740992,0.5]"
        );
    }
}
