//! CONNECT: the first packet of a client.

use crate::error::Malformed;
use crate::properties::{Properties, PropertySet};
use crate::reader::PacketReader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V311,
    V5,
}

/// Password and will were checked only for their format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    pub version: Version,
    pub is_clean: bool,
    pub has_will: bool,
    /// Seconds; zero turns it off.
    pub keep_alive: u16,
    /// Empty if the server is to assign one.
    pub client: &'a str,
    pub user: Option<&'a str>,
    /// None before MQTT 5.
    pub properties: Properties<'a>,
}

impl<'a> Connect<'a> {
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
