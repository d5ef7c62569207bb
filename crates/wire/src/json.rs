//! Pieces of proto-JSON: integers that may be strings, enumerations by name or number, base64.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use serde::ser::Serializer;

/// An enumeration whose values have names in JSON.
pub(crate) trait NamedEnum: TryFrom<i32> + Into<i32> {
    fn name(self) -> &'static str;
    fn of_name(name: &str) -> Option<Self>;
}

macro_rules! named {
    ($($kind:path),*) => {$(
        impl NamedEnum for $kind {
            fn name(self) -> &'static str {
                self.as_str_name()
            }

            fn of_name(name: &str) -> Option<Self> {
                Self::from_str_name(name)
            }
        }
    )*};
}

named!(
    crate::gubernator::Algorithm,
    crate::gubernator::Behavior,
    crate::gubernator::Status,
    crate::rls::Code,
    crate::rls::Unit
);

/// Reads an integer that may be a string, as 64-bit ones are written, or null.
pub(crate) fn number<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<i128> + Default,
{
    optional_number(deserializer).map(Option::unwrap_or_default)
}

/// Reads an integer that may be a string; null is `None`.
pub(crate) fn optional_number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i128>,
{
    deserializer.deserialize_any(NumberVisitor(PhantomData))
}

/// Reads an enumeration by name or number; unknown numbers are kept, unknown names refused.
pub(crate) fn enumeration<'de, D, E>(deserializer: D) -> Result<i32, D::Error>
where
    D: Deserializer<'de>,
    E: NamedEnum,
{
    deserializer.deserialize_any(NameVisitor(PhantomData::<E>))
}

/// Reads a value for which null is its default.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

pub(crate) fn text_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    String::deserialize(deserializer).map(String::into_bytes)
}

/// Reads a list of at most `MAX`, or null; a longer one is refused before it is read to its end.
pub(crate) fn list<'de, const MAX: usize, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_any(ListVisitor::<T, MAX>(PhantomData))
}

/// Writes an enumeration by name, or by number if it has none.
#[allow(clippy::trivially_copy_pass_by_ref)] // Serde's signature.
pub(crate) fn name<S: Serializer, E: NamedEnum>(
    value: &i32,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match E::try_from(*value) {
        Ok(named) => serializer.serialize_str(named.name()),
        Err(_) => serializer.serialize_i32(*value),
    }
}

/// Writes a 64-bit integer as a string, since readers may keep numbers in 53 bits.
#[allow(clippy::trivially_copy_pass_by_ref)] // Serde's signature.
pub(crate) fn text<S: Serializer>(value: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Writes an optional 64-bit integer as a string.
#[allow(clippy::ref_option)] // Serde's signature.
pub(crate) fn optional_text<S>(value: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
{
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes bytes in base64, with padding.
pub(crate) fn base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&tollgate_kit::base64::encode_padded(bytes))
}

struct NumberVisitor<T>(PhantomData<T>);

fn fits<T: TryFrom<i128>, E: Error>(value: i128) -> Result<Option<T>, E> {
    let wrong = || E::custom(format_args!("{value} is out of range"));
    T::try_from(value).map(Some).map_err(|_| wrong())
}

impl<T: TryFrom<i128>> Visitor<'_> for NumberVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an integer, or a string that holds one")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        fits(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        fits(value.into())
    }

    /// Proto-JSON takes `1.0` and `1e3` for integers, as long as they are whole.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
        if value.fract() != 0.0 || value.abs() > WHOLE_MAX {
            return Err(E::invalid_value(Unexpected::Float(value), &self));
        }
        #[allow(clippy::cast_possible_truncation)] // Whole, and in range.
        fits(value as i128)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let wrong = |_| E::invalid_value(Unexpected::Str(text), &self);
        let value = text.parse::<i128>().map_err(wrong)?;
        fits(value)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

struct ListVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for ListVisitor<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a list of at most {MAX}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            if items.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            items.push(item);
        }
        Ok(items)
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }
}

struct NameVisitor<E>(PhantomData<E>);

/// Values of enumerations are below this.
const NUMBERS: i32 = 64;

impl<N: NamedEnum> Visitor<'_> for NameVisitor<N> {
    type Value = i32;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("one of")?;
        let mut named = (0..NUMBERS).filter_map(|number| N::try_from(number).ok());
        named.try_for_each(|one| write!(out, " {}", one.name()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<i32, E> {
        i32::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<i32, E> {
        i32::try_from(value).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i32, E> {
        let wrong = || E::invalid_value(Unexpected::Str(text), &self);
        N::of_name(text).map(Into::into).ok_or_else(wrong)
    }

    fn visit_unit<E: Error>(self) -> Result<i32, E> {
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_to_four() {
        for (bytes, text) in [
            (&b""[..], "\"\""),
            (b"f", "\"Zg==\""),
            (b"fo", "\"Zm8=\""),
            (b"foo", "\"Zm9v\""),
            (b"\xfb\xff\xfe", "\"+//+\""),
        ] {
            let mut out = Vec::new();
            base64(bytes, &mut serde_json::Serializer::new(&mut out)).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[track_caller]
    fn read(json: &str) -> Option<i64> {
        let mut reader = serde_json::Deserializer::from_str(json);
        number(&mut reader).ok()
    }

    #[test]
    fn integers_may_be_strings_and_are_exact() {
        assert_eq!(read("\"9223372036854775807\""), Some(i64::MAX));
        assert_eq!(read("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(read("1e3"), Some(1_000));
        assert_eq!(read("null"), Some(0));
        for wrong in [
            "\"\"",
            "\"x\"",
            "1.5",
            "9223372036854775808",
            "1e30",
            "true",
            "[]",
            "{}",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
