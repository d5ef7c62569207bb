//! The meaning of a record's fields, in any format.

use super::error::{ParseFault, quote};
use super::spare::Spare;

/// The latest time a trace may name: nanoseconds since 1970 fit 64 bits.
pub const TIME_MS_MAX: u64 = u64::MAX / 1_000_000;
/// The largest cost a record may ask for.
pub const COST_MAX: u64 = i64::MAX.cast_unsigned();
/// The most fields of one record, so that looking for duplicates stays cheap.
pub(super) const FIELDS_MAX: usize = 256;

/// What a field is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldRole<'a> {
    Time,
    Cost,
    Entry(&'a str),
}

impl<'a> FieldRole<'a> {
    pub(super) fn of(name: &'a str) -> Self {
        match name {
            "time" => Self::Time,
            "cost" => Self::Cost,
            "user_id" => Self::Entry("user"),
            other => Self::Entry(other),
        }
    }
}

/// The output of a block's parser for the current record.
pub(super) struct RecordLayout<'b> {
    pub(super) entries: Vec<(&'b str, &'b str)>,
    /// Names of fields that were present but null.
    pub(super) absent: Vec<&'b str>,
    pub(super) spare: Spare<'b>,
}

impl<'b> RecordLayout<'b> {
    pub(super) fn new(spare: &'b mut [u8]) -> Self {
        Self {
            entries: Vec::with_capacity(16),
            absent: Vec::new(),
            spare: Spare::new(spare),
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.absent.clear();
    }

    /// Records a descriptor entry, or that it is null; refuses a second one of the same name.
    pub(super) fn enter(&mut self, name: &'b str, value: Option<&'b str>) -> Result<(), String> {
        let known = self
            .entries
            .iter()
            .map(|(known, _)| known)
            .chain(&self.absent);
        if known.into_iter().any(|known| *known == name) {
            return Err(format!("the field {} is there twice", quote(name)));
        }
        if self.entries.len() + self.absent.len() >= FIELDS_MAX {
            return Err(format!("a record has more than {FIELDS_MAX} fields"));
        }
        match value {
            Some(value) => self.entries.push((name, value)),
            None => self.absent.push(name),
        }
        Ok(())
    }
}

/// The value of a run of decimal digits; `None` when it is empty, holds anything else, or passes 64 bits.
#[inline]
pub(super) fn decimal(text: &str) -> Option<u64> {
    // The parser of the standard library takes a plus sign, too.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Reads a time; the fault's place is 0.
#[inline]
pub(super) fn time(text: &str) -> Result<u64, ParseFault> {
    match decimal(text) {
        Some(time_ms) if time_ms <= TIME_MS_MAX => Ok(time_ms),
        _ => Err(bad_time(text)),
    }
}

/// Reads a cost; the fault's place is 0.
#[inline]
pub(super) fn cost(text: &str) -> Result<u64, ParseFault> {
    match decimal(text) {
        Some(cost) if cost <= COST_MAX => Ok(cost),
        _ => Err(bad_cost(text)),
    }
}

#[cold]
pub(super) fn missing_time() -> ParseFault {
    ParseFault::new(0, "the time is missing").hint(TIME_HINT)
}

#[cold]
fn bad_time(text: &str) -> ParseFault {
    let what = match Flaw::of(text) {
        Flaw::Empty => return missing_time(),
        Flaw::Negative => format!("the time {} is before 1970", quote(text)),
        Flaw::Fraction => format!("the time {} is not a whole number", quote(text)),
        Flaw::Text => format!("the time {} is not a number", quote(text)),
        Flaw::Large => {
            return ParseFault::new(
                0,
                format!("the time {} is after the year 2554", quote(text)),
            )
            .hint("times are milliseconds, not microseconds or nanoseconds");
        }
    };
    ParseFault::new(0, what).hint(TIME_HINT)
}

#[cold]
fn bad_cost(text: &str) -> ParseFault {
    let what = match Flaw::of(text) {
        Flaw::Empty => "the cost is empty".to_owned(),
        Flaw::Negative => format!("the cost {} is negative", quote(text)),
        Flaw::Fraction => format!("the cost {} is not a whole number", quote(text)),
        Flaw::Text => format!("the cost {} is not a number", quote(text)),
        Flaw::Large => format!("the cost {} is larger than {COST_MAX}", quote(text)),
    };
    ParseFault::new(0, what).hint("a cost is a whole number of tokens, 1 when left out")
}

const TIME_HINT: &str = "write whole unix milliseconds, for example 1700000000000";

/// Why a text is not a valid number.
enum Flaw {
    Empty,
    Negative,
    Fraction,
    Text,
    Large,
}

impl Flaw {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            Self::Empty
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::Large
        } else if text.parse::<f64>().is_ok_and(|value| value < 0.0) {
            Self::Negative
        } else if text.parse::<f64>().is_ok_and(f64::is_finite) {
            Self::Fraction
        } else {
            Self::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_outside_the_range_say_why() {
        assert_eq!(time("18446744073709").unwrap(), TIME_MS_MAX);
        for (text, part) in [
            ("", "missing"),
            ("-1", "before 1970"),
            ("1.5", "not a whole number"),
            ("1e12", "not a whole number"),
            ("soon", "not a number"),
            ("18446744073710", "after the year"),
            ("99999999999999999999999", "after the year"),
        ] {
            let fault = time(text).unwrap_err();
            assert!(fault.what.contains(part), "{text}: {}", fault.what);
        }
    }

    #[test]
    fn costs_reach_from_zero_to_the_largest_signed_number() {
        assert_eq!(cost("0").unwrap(), 0);
        assert_eq!(cost("9223372036854775807").unwrap(), COST_MAX);
        for (text, part) in [
            ("", "empty"),
            ("-1", "negative"),
            ("0.5", "not a whole"),
            ("x", "not a number"),
            ("9223372036854775808", "larger"),
        ] {
            let fault = cost(text).unwrap_err();
            assert!(fault.what.contains(part), "{text}: {}", fault.what);
        }
    }

    #[test]
    fn a_number_is_digits_and_nothing_else() {
        assert_eq!(decimal(&u64::MAX.to_string()), Some(u64::MAX));
        assert_eq!(decimal("0000000000000000000000000000007"), Some(7));
        for other in ["", "+7", "-7", " 7", "7 ", "٧", "18446744073709551616"] {
            assert_eq!(decimal(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_field_that_is_there_twice_is_refused_even_when_null() {
        let mut desk = RecordLayout::new(&mut []);
        desk.enter("a", None).unwrap();
        desk.enter("b", Some("1")).unwrap();
        assert!(desk.enter("a", Some("2")).is_err());
        assert!(desk.enter("b", None).is_err());
    }

    #[test]
    fn the_number_of_fields_is_bounded() {
        let names: Vec<String> = (0..=FIELDS_MAX).map(|n| n.to_string()).collect();
        let mut desk = RecordLayout::new(&mut []);
        for name in &names[..FIELDS_MAX] {
            desk.enter(name, Some("")).unwrap();
        }
        assert!(desk.enter(&names[FIELDS_MAX], Some("")).is_err());
    }
}
