//! CONNACK: the broker's answer to a CONNECT.

use crate::connect::Version;
use crate::error::Malformed;
use crate::properties::{Properties, PropertySet, id};
use crate::reader::PacketReader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connack<'a> {
    pub has_session: bool,
    /// Zero accepts the client; any other value refuses it.
    pub code: u8,
    /// None before MQTT 5.
    pub properties: Properties<'a>,
}

impl<'a> Connack<'a> {
    pub fn read(body: &'a [u8], version: Version) -> Result<Self, Malformed> {
        let mut reader = PacketReader::of(body);
        let flags = reader.byte()?;
        let code = reader.byte()?;
        let properties = match version {
            Version::V311 => Properties::default(),
            // A server that does not support the version may answer in another one.
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

    /// The identifier that the broker assigned.
    pub fn assigned_client(&self) -> Option<&'a str> {
        self.properties.text(id::ASSIGNED_CLIENT)
    }

    /// Replaces the client's keep-alive. Seconds.
    pub fn keep_alive(&self) -> Option<u16> {
        self.properties.two(id::SERVER_KEEP_ALIVE)
    }

    /// The most unacknowledged messages that the broker accepts.
    pub fn receive_max(&self) -> u16 {
        self.properties.two(id::RECEIVE_MAX).unwrap_or(u16::MAX)
    }

    /// The highest topic alias the client may use; zero is none.
    pub fn topic_alias_max(&self) -> u16 {
        self.properties.two(id::TOPIC_ALIAS_MAX).unwrap_or(0)
    }
}
