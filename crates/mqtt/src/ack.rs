//! PUBACK, PUBREC, PUBREL and PUBCOMP, which look alike, SUBACK and DISCONNECT.

use crate::connect::Version;
use crate::error::Malformed;
use crate::properties::{Properties, PropertySet, id};
use crate::reader::PacketReader;
use crate::reason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    pub id: u16,
    /// Success if the packet has none.
    pub reason: u8,
    /// None before MQTT 5.
    pub properties: Properties<'a>,
}

impl<'a> Ack<'a> {
    pub fn read(body: &'a [u8], version: Version) -> Result<Self, Malformed> {
        let mut reader = PacketReader::of(body);
        let id = reader.id()?;
        let (reason, properties) = match version {
            Version::V311 => (reason::SUCCESS, Properties::default()),
            Version::V5 => tail(&mut reader, PropertySet::ACK)?,
        };
        reader.end()?;
        Ok(Self {
            id,
            reason,
            properties,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suback {
    pub id: u16,
    /// The granted `QoS`; 0x80 and more is a refusal.
    pub code: u8,
}

impl Suback {
    pub fn read(body: &[u8], version: Version) -> Result<Self, Malformed> {
        let mut reader = PacketReader::of(body);
        let id = reader.id()?;
        if version == Version::V5 {
            Properties::read(&mut reader, PropertySet::ACK)?;
        }
        let code = reader.byte()?;
        reader.end()?;
        Ok(Self { id, code })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnect<'a> {
    /// Success if the packet has none.
    pub reason: u8,
    /// None before MQTT 5.
    pub properties: Properties<'a>,
}

impl<'a> Disconnect<'a> {
    pub fn read(body: &'a [u8], version: Version) -> Result<Self, Malformed> {
        let mut reader = PacketReader::of(body);
        let (reason, properties) = match version {
            Version::V311 => (reason::SUCCESS, Properties::default()),
            Version::V5 => tail(&mut reader, PropertySet::DISCONNECT)?,
        };
        reader.end()?;
        Ok(Self { reason, properties })
    }

    pub fn server_reference(&self) -> Option<&'a str> {
        self.properties.text(id::SERVER_REFERENCE)
    }
}

/// A reason code and properties, either of which may be left out from the end.
fn tail<'a>(
    reader: &mut PacketReader<'a>,
    place: PropertySet,
) -> Result<(u8, Properties<'a>), Malformed> {
    if reader.is_empty() {
        return Ok((reason::SUCCESS, Properties::default()));
    }
    let reason = reader.byte()?;
    if reader.is_empty() {
        return Ok((reason, Properties::default()));
    }
    Ok((reason, Properties::read(reader, place)?))
}
