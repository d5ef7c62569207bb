//! CONNECT: who comes, and how it speaks.

use crate::error::Malformed;
use crate::properties::{Properties, PropertySet};
use crate::reader::PacketReader;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// MQTT 3.1.1.
    V311,
    /// MQTT 5.
    V5,
}

/// A CONNECT. Its password and its will were checked for their shape only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    /// The version that is spoken from here on.
    pub version: Version,
    /// Whether the session begins anew.
    pub is_clean: bool,
    /// Whether there is a will.
    pub has_will: bool,
    /// Seconds in which the client says something; zero is for ever.
    pub keep_alive: u16,
    /// The client's identifier; empty where the server is to choose one.
    pub client: &'a str,
    /// The user's name.
    pub user: Option<&'a str>,
    /// Its properties; none before MQTT 5.
    pub properties: Properties<'a>,
}

impl<'a> Connect<'a> {
    /// Reads what follows the fixed header.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = PacketReader::of(body);
        let version = version(&mut reader)?;
        let flags = Flags::read(&mut reader, version)?;
        let keep_alive = reader.two()?;
        let properties = properties(&mut reader, version, PropertySet::CONNECT)?;
        let client = reader.text()?;
        if flags.has(Flags::WILL) {
            properties_of_will(&mut reader, version)?;
        }
        let user = flags.has(Flags::USER).then(|| reader.text()).transpose()?;
        if flags.has(Flags::PASSWORD) {
            reader.binary()?;
        }
        reader.end()?;
        Ok(Self {
            version,
            is_clean: flags.has(Flags::CLEAN),
            has_will: flags.has(Flags::WILL),
            keep_alive,
            client,
            user,
            properties,
        })
    }
}

fn version(reader: &mut PacketReader<'_>) -> Result<Version, Malformed> {
    let name = reader.binary()?;
    let level = reader.byte()?;
    match (name, level) {
        (b"MQTT", 4) => Ok(Version::V311),
        (b"MQTT", 5) => Ok(Version::V5),
        _ => Err(Malformed::Version),
    }
}

fn properties<'a>(
    reader: &mut PacketReader<'a>,
    version: Version,
    place: PropertySet,
) -> Result<Properties<'a>, Malformed> {
    match version {
        Version::V311 => Ok(Properties::default()),
        Version::V5 => Properties::read(reader, place),
    }
}

fn properties_of_will(reader: &mut PacketReader<'_>, version: Version) -> Result<(), Malformed> {
    properties(reader, version, PropertySet::WILL)?;
    reader.text()?;
    reader.binary()?;
    Ok(())
}

struct Flags(u8);

impl Flags {
    const RESERVED: u8 = 0x01;
    const CLEAN: u8 = 0x02;
    const WILL: u8 = 0x04;
    const WILL_QOS: u8 = 0x18;
    const WILL_RETAIN: u8 = 0x20;
    const PASSWORD: u8 = 0x40;
    const USER: u8 = 0x80;

    fn read(reader: &mut PacketReader<'_>, version: Version) -> Result<Self, Malformed> {
        let flags = Self(reader.byte()?);
        let about_will = flags.has(Self::WILL_QOS | Self::WILL_RETAIN);
        let is_wrong = flags.has(Self::RESERVED)
            || (about_will && !flags.has(Self::WILL))
            || flags.0 & Self::WILL_QOS == Self::WILL_QOS
            || (version == Version::V311 && flags.has(Self::PASSWORD) && !flags.has(Self::USER));
        if is_wrong {
            Err(Malformed::Flags)
        } else {
            Ok(flags)
        }
    }

    const fn has(&self, any: u8) -> bool {
        self.0 & any != 0
    }
}
