//! Properties of MQTT 5: checked once, then read in place.

use crate::error::Malformed;
use crate::reader::PacketReader;

/// Already checked: all known, allowed in the packet, and not repeated unless allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property<'a> {
    pub id: u8,
    pub value: PropertyValue<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyValue<'a> {
    /// A byte.
    Byte(u8),
    /// A number of two bytes.
    Two(u16),
    /// A number of four bytes.
    Four(u32),
    /// A number of one to four bytes.
    Varint(u32),
    Text(&'a str),
    Binary(&'a [u8]),
    Pair(&'a str, &'a str),
}

impl<'a> Properties<'a> {
    /// Reads the length and the properties; refuses those not in `allowed`.
    pub(crate) fn read(
        reader: &mut PacketReader<'a>,
        allowed: PropertySet,
    ) -> Result<Self, Malformed> {
        let length = reader.varint()?;
        // At most a variable byte integer.
        let bytes = reader.take(length as usize)?;
        let mut rest = PacketReader::of(bytes);
        let mut seen = 0;
        while !rest.is_empty() {
            let property = property(&mut rest)?;
            let bit = 1_u64 << property.id;
            let is_twice = seen & bit != 0 && !matches!(property.id, id::USER | id::SUBSCRIPTION);
            if allowed.0 & bit == 0 || is_twice {
                return Err(Malformed::Property);
            }
            seen |= bit;
        }
        Ok(Self { bytes })
    }

    /// In order.
    pub fn iter(self) -> impl Iterator<Item = Property<'a>> {
        let mut rest = PacketReader::of(self.bytes);
        // They were parsed before, so this hides no error.
        core::iter::from_fn(move || property(&mut rest).ok())
    }

    /// The user properties, in order; a name may repeat.
    pub fn user(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.iter().filter_map(|property| match property.value {
            PropertyValue::Pair(name, value) => Some((name, value)),
            _ => None,
        })
    }

    /// Without the length.
    pub const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn two(self, id: u8) -> Option<u16> {
        self.iter().find_map(|property| match property.value {
            PropertyValue::Two(value) if property.id == id => Some(value),
            _ => None,
        })
    }

    pub(crate) fn text(self, id: u8) -> Option<&'a str> {
        self.iter().find_map(|property| match property.value {
            PropertyValue::Text(value) if property.id == id => Some(value),
            _ => None,
        })
    }
}

fn property<'a>(reader: &mut PacketReader<'a>) -> Result<Property<'a>, Malformed> {
    // Formally a variable byte integer; all that exist take one byte.
    let id = reader.byte()?;
    let value = match id {
        1 | 23 | 25 | 36 | 37 | 40..=42 => PropertyValue::Byte(reader.byte()?),
        19 | 33..=35 => PropertyValue::Two(reader.two()?),
        2 | 17 | 24 | 39 => PropertyValue::Four(reader.four()?),
        11 => PropertyValue::Varint(reader.varint()?),
        3 | 8 | 18 | 21 | 26 | 28 | 31 => PropertyValue::Text(reader.text()?),
        9 | 22 => PropertyValue::Binary(reader.binary()?),
        38 => PropertyValue::Pair(reader.text()?, reader.text()?),
        _ => return Err(Malformed::Property),
    };
    Ok(Property { id, value })
}

/// Identifiers that this crate looks for.
pub(crate) mod id {
    pub(crate) const SUBSCRIPTION: u8 = 11;
    pub(crate) const ASSIGNED_CLIENT: u8 = 18;
    pub(crate) const SERVER_KEEP_ALIVE: u8 = 19;
    pub(crate) const SERVER_REFERENCE: u8 = 28;
    pub(crate) const RECEIVE_MAX: u8 = 33;
    pub(crate) const TOPIC_ALIAS_MAX: u8 = 34;
    pub(crate) const TOPIC_ALIAS: u8 = 35;
    pub(crate) const USER: u8 = 38;
}

/// The properties that are allowed, one bit each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PropertySet(u64);

impl PropertySet {
    pub(crate) const CONNECT: Self = Self::of(&[17, 21, 22, 23, 25, 33, 34, 38, 39]);
    pub(crate) const WILL: Self = Self::of(&[1, 2, 3, 8, 9, 24, 38]);
    pub(crate) const CONNACK: Self = Self::of(&[
        17, 18, 19, 21, 22, 26, 28, 31, 33, 34, 36, 37, 38, 39, 40, 41, 42,
    ]);
    pub(crate) const PUBLISH: Self = Self::of(&[1, 2, 3, 8, 9, 11, 35, 38]);
    pub(crate) const ACK: Self = Self::of(&[31, 38]);
    pub(crate) const DISCONNECT: Self = Self::of(&[17, 28, 31, 38]);

    const fn of(ids: &[u8]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < ids.len() {
            bits |= 1 << ids[at];
            at += 1;
        }
        Self(bits)
    }
}
