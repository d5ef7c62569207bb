//! PUBLISH: everything but its payload, which is never parsed.

use crate::connect::Version;
use crate::error::Malformed;
use crate::header::{Header, PACKET_MAX, PacketKind};
use crate::properties::{Properties, PropertySet, id};
use crate::reader::{PacketReader, varint};
use crate::topic::is_topic;
use crate::write;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Qos {
    AtMostOnce,
    AtLeastOnce,
    ExactlyOnce,
}

impl Qos {
    /// The value in packets.
    pub(crate) const fn bits(self) -> u8 {
        self as u8
    }
}

/// A PUBLISH without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishHead<'a> {
    pub header: Header,
    /// Empty if an alias stands for it.
    pub topic: &'a str,
    /// The packet identifier; zero under [`Qos::AtMostOnce`], which has none.
    pub id: u16,
    pub alias: Option<u16>,
    /// None before MQTT 5.
    pub properties: Properties<'a>,
    /// Bytes from the first of the packet to the first of the payload.
    pub length: usize,
    version: Version,
}

impl<'a> PublishHead<'a> {
    /// `None` if the head is incomplete. The header must be that of a PUBLISH.
    pub fn read(
        header: Header,
        bytes: &'a [u8],
        version: Version,
    ) -> Result<Option<Self>, Malformed> {
        let length = match measure(header, bytes, version) {
            Ok(length) => length,
            Err(Short::Truncated) => return Err(Malformed::Truncated),
            Err(Short::Wrong(wrong)) => return Err(wrong),
            Err(Short::More) => return Ok(None),
        };
        let Some(head) = bytes.get(header.length.into()..length) else {
            return Ok(None);
        };
        let mut reader = PacketReader::of(head);
        let topic = reader.text()?;
        let id = if qos(header) == Qos::AtMostOnce {
            0
        } else {
            reader.id()?
        };
        let properties = match version {
            Version::V311 => Properties::default(),
            Version::V5 => Properties::read(&mut reader, PropertySet::PUBLISH)?,
        };
        let alias = properties.two(id::TOPIC_ALIAS);
        let head = Self {
            header,
            topic,
            id,
            alias,
            properties,
            length,
            version,
        };
        head.check().map(Some)
    }

    fn check(self) -> Result<Self, Malformed> {
        if qos(self.header) == Qos::AtMostOnce && self.is_dup() {
            return Err(Malformed::Flags);
        }
        if self.alias == Some(0) {
            return Err(Malformed::TopicAlias);
        }
        let is_by_alias = self.topic.is_empty() && self.alias.is_some();
        if !is_by_alias && !is_topic(self.topic) {
            return Err(Malformed::Topic);
        }
        Ok(self)
    }

    pub const fn qos(&self) -> Qos {
        qos(self.header)
    }

    /// Whether it may be a repetition.
    pub const fn is_dup(&self) -> bool {
        self.header.flags & 0b1000 != 0
    }

    pub const fn is_retained(&self) -> bool {
        self.header.flags & 0b0001 != 0
    }

    /// Bytes of the payload.
    pub fn payload(&self) -> u32 {
        // The head is within the packet.
        self.header.packet() - u32::try_from(self.length).unwrap_or(0)
    }

    /// Replaces the topic; `None` if the packet would exceed [`PACKET_MAX`](crate::PACKET_MAX).
    pub fn with_topic(&self, topic: &str) -> Option<Vec<u8>> {
        let mut body = Vec::with_capacity(self.length + topic.len());
        write::text(&mut body, topic)?;
        if self.id != 0 {
            body.extend(self.id.to_be_bytes());
        }
        if self.version == Version::V5 {
            let properties = self.properties.bytes();
            write::varint(&mut body, u32::try_from(properties.len()).ok()?);
            body.extend(properties);
        }
        let remaining = u32::try_from(body.len())
            .ok()?
            .checked_add(self.payload())?;
        if remaining > PACKET_MAX {
            return None;
        }
        let mut head = vec![PacketKind::Publish.byte(self.header.flags)];
        write::varint(&mut head, remaining);
        head.extend(body);
        Some(head)
    }
}

const fn qos(header: Header) -> Qos {
    match header.flags >> 1 & 0b11 {
        0 => Qos::AtMostOnce,
        1 => Qos::AtLeastOnce,
        _ => Qos::ExactlyOnce,
    }
}

enum Short {
    /// More bytes are needed.
    More,
    /// It exceeds the packet.
    Truncated,
    Wrong(Malformed),
}

/// Bytes from the first of the packet to the first of the payload.
fn measure(header: Header, bytes: &[u8], version: Version) -> Result<usize, Short> {
    let packet = header.packet() as usize;
    // Bytes after the packet do not belong to it.
    let bytes = &bytes[..bytes.len().min(packet)];
    let within = |end: usize| {
        if end > packet {
            Err(Short::Truncated)
        } else {
            Ok(end)
        }
    };
    let topic = usize::from(header.length);
    let start = within(topic + 2)?;
    let length = bytes.get(topic..start).ok_or(Short::More)?;
    let length = length
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let id = if qos(header) == Qos::AtMostOnce { 0 } else { 2 };
    let end = within(start + length + id)?;
    if version == Version::V311 {
        return Ok(end);
    }
    within(end + 1)?;
    let there = bytes.get(end..).ok_or(Short::More)?;
    match varint(there).map_err(Short::Wrong)? {
        Some((length, bytes)) => within(end + usize::from(bytes) + length as usize),
        None if bytes.len() == packet => Err(Short::Truncated),
        None => Err(Short::More),
    }
}
