//! CONNACK: whether a broker lets a client in, and on which terms.

use crate::connect::Version;
use crate::error::Malformed;
use crate::properties::{Properties, PropertySet, id};
use crate::reader::PacketReader;

/// A CONNACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connack<'a> {
    /// Whether the broker knew the session.
    pub has_session: bool,
    /// Zero lets the client in; anything else does not.
    pub code: u8,
    /// Its properties; none before MQTT 5.
    pub properties: Properties<'a>,
}

impl<'a> Connack<'a> {
    /// Reads what follows the fixed header.
    pub fn read(body: &'a [u8], version: Version) -> Result<Self, Malformed> {
        let mut reader = PacketReader::of(body);
        let flags = reader.byte()?;
        let code = reader.byte()?;
        let properties = match version {
            Version::V311 => Properties::default(),
            // A server that found no version it speaks answers as it can.
            Version::V5 if reader.is_empty() => Properties::default(),
            Version::V5 => Properties::read(&mut reader, PropertySet::CONNACK)?,
        };
        reader.end()?;
        if flags > 1 {
            return Err(Malformed::Flags);
        }
        Ok(Self {
            has_session: flags == 1,
            code,
            properties,
        })
    }

    /// The identifier that the broker chose for the client.
    pub fn assigned_client(&self) -> Option<&'a str> {
        self.properties.text(id::ASSIGNED_CLIENT)
    }

    /// The keep-alive that counts in place of the client's.
    pub fn keep_alive(&self) -> Option<u16> {
        self.properties.two(id::SERVER_KEEP_ALIVE)
    }

    /// How many messages the broker takes that it has not acknowledged.
    pub fn receive_max(&self) -> u16 {
        self.properties.two(id::RECEIVE_MAX).unwrap_or(u16::MAX)
    }

    /// The highest topic alias the client may use; zero is none.
    pub fn topic_alias_max(&self) -> u16 {
        self.properties.two(id::TOPIC_ALIAS_MAX).unwrap_or(0)
    }
}
