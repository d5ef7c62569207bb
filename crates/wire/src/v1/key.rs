//! Keys in JSON: a string, or an object whose members are the entries in order.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::ENTRIES_MAX;

/// Who is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// One value without a name.
    Bare(Cow<'a, str>),
    /// Names and values in the order in which they were written; at least one, no name twice, at
    /// most [`ENTRIES_MAX`].
    Entries(Vec<(Cow<'a, str>, Cow<'a, str>)>),
}

impl Serialize for Key<'_> {
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

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string, or an object of strings")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Key<'de>, E> {
        Ok(Key::Bare(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Key<'de>, E> {
        Ok(Key::Bare(Cow::Owned(value.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Key<'de>, A::Error> {
        let mut entries: Vec<(Cow<'de, str>, Cow<'de, str>)> = Vec::new();
        while let Some((Text(name), Text(value))) = map.next_entry()? {
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
        Ok(Key::Entries(entries))
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

/// A string that is copied only if it has escapes. Serde does that for a `Cow` that is a field
/// itself, but not for one inside an option or a tuple.
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
