//! Keys in JSON: a string, or an object whose members are the entries in order.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::ENTRIES_MAX;

/// The key of a request. Numbers become their decimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireKey<'a> {
    /// One value without a name.
    Bare(Cow<'a, str>),
    /// Names and values in the order in which they were written; at least one, no name twice, at most [`ENTRIES_MAX`].
    Entries(Vec<(Cow<'a, str>, Cow<'a, str>)>),
}

impl Serialize for WireKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bare(value) => serializer.serialize_str(value),
            Self::Entries(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (name, value) in entries {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireKey<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = WireKey<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string, a whole number from -2^53 to 2^53, or an object of them")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<WireKey<'de>, E> {
        whole(value).map(WireKey::Bare)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<WireKey<'de>, E> {
        whole(value).map(WireKey::Bare)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<WireKey<'de>, E> {
        exact(value).map(WireKey::Bare)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<WireKey<'de>, E> {
        Ok(WireKey::Bare(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<WireKey<'de>, E> {
        Ok(WireKey::Bare(Cow::Owned(value.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireKey<'de>, A::Error> {
        let mut entries: Vec<(Cow<'de, str>, Cow<'de, str>)> = Vec::new();
        while let Some((Text(name), Value(value))) = map.next_entry()? {
            if entries.len() == ENTRIES_MAX {
                let what = format_args!("more than {ENTRIES_MAX} entries in one key");
                return Err(A::Error::custom(what));
            }
            if entries.iter().any(|(other, _)| *other == name) {
                return Err(A::Error::custom(format_args!("entry `{name}` comes twice")));
            }
            entries.push((name, value));
        }
        if entries.is_empty() {
            return Err(A::Error::custom("a key needs at least one entry"));
        }
        Ok(WireKey::Entries(entries))
    }
}

/// Reads a string or null; a string is copied only if it has escapes.
pub(super) fn optional_text<'de: 'a, 'a, D>(
    deserializer: D,
) -> Result<Option<Cow<'a, str>>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<Text<'de>>::deserialize(deserializer)?;
    Ok(text.map(|Text(text)| text))
}

/// A string that is copied only if it has escapes. Serde does that for a `Cow` that is a field itself, but not for one
/// inside an option or a tuple.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(value.to_owned())))
    }
}

/// The value of an entry: a string, or a whole number as it is written in decimal.
struct Value<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string or a whole number from -2^53 to 2^53")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value(Cow::Owned(value.to_owned())))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value<'de>, E> {
        whole(value).map(Value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value<'de>, E> {
        whole(value).map(Value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value<'de>, E> {
        exact(value).map(Value)
    }
}

/// A whole number as text, within the range where every JSON reader sees the same number.
fn whole<'a, E: Error>(value: impl TryInto<i64> + fmt::Display + Copy) -> Result<Cow<'a, str>, E> {
    let number = value.try_into().ok();
    if number.is_some_and(|number| number.unsigned_abs() <= EXACT_MAX) {
        return Ok(Cow::Owned(value.to_string()));
    }
    Err(beyond(&value))
}

/// The same for a number with a point or an exponent.
fn exact<'a, E: Error>(value: f64) -> Result<Cow<'a, str>, E> {
    #[allow(clippy::cast_precision_loss)] // It is a power of two.
    let is_exact = value.fract() == 0.0 && value.abs() <= EXACT_MAX as f64;
    if !is_exact {
        return Err(beyond(&value));
    }
    #[allow(clippy::cast_possible_truncation)] // Whole, and in range.
    whole(value as i64)
}

fn beyond<E: Error>(value: &dyn fmt::Display) -> E {
    E::custom(format_args!(
        "{value} in a key: a number is whole and from -2^53 to 2^53 ({EXACT_MAX}); write others as strings"
    ))
}

/// Beyond, readers of JSON may see another number than was written.
const EXACT_MAX: u64 = 1 << 53;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(json: &str) -> Result<WireKey<'_>, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_what_they_are_written_as_in_decimal() {
        let user = |value: &str| {
            Ok(WireKey::Entries(vec![(
                "user".into(),
                value.to_owned().into(),
            )]))
        };
        assert_eq!(read(r#"{"user": 42}"#), user("42"));
        assert_eq!(read(r#"{"user": -7}"#), user("-7"));
        assert_eq!(read(r#"{"user": 1e3}"#), user("1000"));
        assert_eq!(
            read(r#"{"user": 9007199254740992}"#),
            user("9007199254740992")
        );
        assert_eq!(read("42"), Ok(WireKey::Bare("42".into())));
    }

    #[test]
    fn a_number_that_readers_may_see_differently_is_refused_with_the_range() {
        for wrong in [
            "9007199254740993",
            "18446744073709551615",
            "1.5",
            "1e300",
            "-1e16",
        ] {
            for json in [wrong.to_owned(), format!(r#"{{"user": {wrong}}}"#)] {
                let error = read(&json).expect_err(wrong);
                assert!(error.contains("from -2^53 to 2^53"), "{error}");
            }
        }
        let error = read(r#"{"user": true}"#).expect_err("no key");
        assert!(error.contains("a string or a whole number"), "{error}");
    }
}
