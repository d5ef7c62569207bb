//! What was typed, with the place it was typed at: the leaves of every raw type.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_saphyr::{Location, Spanned};

use crate::snippet::Place;

/// A scalar exactly as typed, whatever type YAML would give it.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text.
    pub value: Box<str>,
    /// Where it was typed.
    pub place: Place,
    /// Typed without quotes, so that it may be a number.
    pub plain: bool,
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value,
            referenced,
            defined,
        } = Spanned::<String>::deserialize(deserializer)?;
        let typed = defined.span().byte_len();
        let plain = typed == u64::try_from(value.len()).ok();
        Ok(Self {
            value: value.into(),
            place: place_of(referenced),
            plain,
        })
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.value)
    }
}

/// Fields or a list, with the place they begin at.
#[derive(Clone, Debug)]
pub struct YamlNode<T> {
    /// What is there.
    pub value: T,
    /// Where it begins.
    pub place: Place,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for YamlNode<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value, referenced, ..
        } = Spanned::<T>::deserialize(deserializer)?;
        Ok(Self {
            value,
            place: place_of(referenced),
        })
    }
}

impl<T: Serialize> Serialize for YamlNode<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// A list that is refused as soon as it has more than `MAX` items.
#[derive(Clone, Debug)]
pub struct Few<T, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> Few<T, MAX> {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize, const MAX: usize> Serialize for Few<T, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for FewVisitor<T, MAX> {
    type Value = Few<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut few = Vec::new();
        while let Some(item) = items.next_element()? {
            if few.len() == MAX {
                return Err(A::Error::custom(format_args!("{TOO_MANY}{MAX}")));
            }
            few.push(item);
        }
        Ok(Few(few))
    }
}

/// Names with values, in the order typed. Which names there are is checked later, so that every mistake has its place.
#[derive(Clone, Debug)]
pub struct Pairs<T>(pub Vec<(Text, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Pairs<T> {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsVisitor<T> {
    type Value = Pairs<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names with values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            if pairs.len() == PAIRS_MAX {
                return Err(A::Error::custom(format_args!("{TOO_MANY}{PAIRS_MAX}")));
            }
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

/// A field that, where it is given, has a value: `burst:` with nothing behind it is a mistake, not a default.
pub fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

pub(crate) fn place_of(location: Location) -> Place {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Place {
        line: narrow(location.line()),
        column: narrow(location.column()),
        width: narrow(location.span().len()),
    }
}

/// How the message about a list that is too long begins; its bound follows.
pub(crate) const TOO_MANY: &str = "more than the most allowed here, ";
/// More than any map of names can rightly have; plans have the largest.
const PAIRS_MAX: usize = crate::PLANS_MAX;
