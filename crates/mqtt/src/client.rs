//! Packets that clients send, for load tools. Not here: wills, several filters at once, topic aliases.

use crate::connect::Version;
use crate::header::{PACKET_MAX, PacketKind};
use crate::properties::id;
use crate::publish::Qos;
use crate::write;

#[derive(Clone, Copy, Debug)]
pub struct ConnectRequest<'a> {
    pub version: Version,
    pub client: &'a str,
    pub user: Option<&'a str>,
    pub password: Option<&'a str>,
    /// Seconds; zero turns it off.
    pub keep_alive: u16,
}

/// Starts a clean session. `None` if a text has more than 65,535 bytes.
pub fn connect(hello: &ConnectRequest<'_>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    write::text(&mut body, "MQTT")?;
    body.push(match hello.version {
        Version::V311 => 4,
        Version::V5 => 5,
    });
    let password = hello
        .password
        .filter(|_| hello.version == Version::V5 || hello.user.is_some());
    body.push(CLEAN | u8::from(hello.user.is_some()) << 7 | u8::from(password.is_some()) << 6);
    body.extend(hello.keep_alive.to_be_bytes());
    if hello.version == Version::V5 {
        body.push(0);
    }
    write::text(&mut body, hello.client)?;
    for text in [hello.user, password].into_iter().flatten() {
        write::text(&mut body, text)?;
    }
    write::packet(PacketKind::Connect, 0, &body)
}

/// `None` if the filter has more than 65,535 bytes.
pub fn subscribe(id: u16, filter: &str, qos: Qos, version: Version) -> Option<Vec<u8>> {
    let mut body = id.to_be_bytes().to_vec();
    if version == Version::V5 {
        body.push(0);
    }
    write::text(&mut body, filter)?;
    body.push(qos.bits());
    write::packet(PacketKind::Subscribe, 0b0010, &body)
}

/// The head of a PUBLISH that is sent for the first time.
#[derive(Clone, Copy, Debug)]
pub struct MessageHead<'a> {
    pub version: Version,
    pub topic: &'a str,
    pub qos: Qos,
    pub id: u16,
    /// Encoded properties, without their length; not sent before MQTT 5.
    pub properties: &'a [u8],
}

impl MessageHead<'_> {
    /// Appends a PUBLISH up to its payload, which has so many bytes; `None`, and nothing is appended, if a length is
    /// too large.
    pub fn write(&self, payload: usize, out: &mut Vec<u8>) -> Option<()> {
        let topic = u16::try_from(self.topic.len()).ok()?;
        let mut head = 2 + self.topic.len();
        if self.qos != Qos::AtMostOnce {
            head += 2;
        }
        let properties = u32::try_from(self.properties.len()).ok()?;
        if self.version == Version::V5 {
            head += write::varint_length(properties) + self.properties.len();
        }
        let remaining = u32::try_from(head.checked_add(payload)?).ok()?;
        if remaining > PACKET_MAX {
            return None;
        }
        out.push(PacketKind::Publish.byte(self.qos.bits() << 1));
        write::varint(out, remaining);
        out.extend(topic.to_be_bytes());
        out.extend(self.topic.as_bytes());
        if self.qos != Qos::AtMostOnce {
            out.extend(self.id.to_be_bytes());
        }
        if self.version == Version::V5 {
            write::varint(out, properties);
            out.extend(self.properties);
        }
        Some(())
    }
}

/// Appends a user property to properties; `None` if a text has more than 65,535 bytes.
pub fn user_property(name: &str, value: &str, properties: &mut Vec<u8>) -> Option<()> {
    properties.push(id::USER);
    write::text(properties, name)?;
    write::text(properties, value)
}

pub const PING: [u8; 2] = [PacketKind::Pingreq.byte(0), 0];

/// A DISCONNECT without a reason.
pub const GOODBYE: [u8; 2] = [PacketKind::Disconnect.byte(0), 0];

const CLEAN: u8 = 0x02;
