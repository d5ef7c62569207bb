//! Packets that a gateway sends. Not here: packets of clients (`client`), and packets that only brokers send.

use crate::connect::Version;
use crate::header::{PACKET_MAX, PacketKind};
use crate::properties::id;
use crate::reason;

/// One of the four packets that acknowledge a message. Without the reason code in MQTT 3.1.1, which has
/// none.
pub fn ack(kind: PacketKind, id: u16, reason: u8, version: Version) -> Vec<u8> {
    let flags = if kind == PacketKind::Pubrel {
        0b0010
    } else {
        0
    };
    let mut body = id.to_be_bytes().to_vec();
    if version == Version::V5 && reason != reason::SUCCESS {
        body.push(reason);
    }
    short(kind, flags, &body)
}

/// A CONNACK that refuses a client, by a reason code of MQTT 5; MQTT 3.1.1 gets the nearest code.
pub fn refusal(reason: u8, version: Version) -> Vec<u8> {
    let body: &[u8] = match version {
        Version::V5 => &[0, reason, 0],
        Version::V311 => &[0, old_code(reason)],
    };
    short(PacketKind::Connack, 0, body)
}

/// Empty in MQTT 3.1.1, where servers do not send DISCONNECT: the connection just ends.
pub fn disconnect(reason: u8, version: Version) -> Vec<u8> {
    match version {
        Version::V5 => short(PacketKind::Disconnect, 0, &[reason]),
        Version::V311 => Vec::new(),
    }
}

/// A DISCONNECT of MQTT 5 that names another server; `None` if the name has more than 65,535 bytes.
pub fn use_another(server: &str) -> Option<Vec<u8>> {
    naming(
        PacketKind::Disconnect,
        &[reason::USE_ANOTHER_SERVER],
        server,
    )
}

/// A CONNACK of MQTT 5 that refuses a client and names another server; `None` if the name has more than 65,535 bytes.
pub fn refer(server: &str) -> Option<Vec<u8>> {
    naming(
        PacketKind::Connack,
        &[0, reason::USE_ANOTHER_SERVER],
        server,
    )
}

/// A packet whose only property is another server.
fn naming(kind: PacketKind, head: &[u8], server: &str) -> Option<Vec<u8>> {
    let mut properties = vec![id::SERVER_REFERENCE];
    text(&mut properties, server)?;
    let mut body = head.to_vec();
    varint(&mut body, u32::try_from(properties.len()).ok()?);
    body.extend(properties);
    packet(kind, 0, &body)
}

/// A packet whose body is at most a few bytes.
fn short(kind: PacketKind, flags: u8, body: &[u8]) -> Vec<u8> {
    packet(kind, flags, body).unwrap_or_default()
}

/// `None` if it exceeds the largest packet.
pub(crate) fn packet(kind: PacketKind, flags: u8, body: &[u8]) -> Option<Vec<u8>> {
    let remaining = u32::try_from(body.len()).ok()?;
    if remaining > PACKET_MAX {
        return None;
    }
    let mut bytes = vec![kind.byte(flags)];
    varint(&mut bytes, remaining);
    bytes.extend(body);
    Some(bytes)
}

/// Bytes that a variable byte integer takes.
pub(crate) const fn varint_length(value: u32) -> usize {
    match value {
        ..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        _ => 4,
    }
}

/// The codes of MQTT 3.1.1: 1 is the version, 3 the server.
const fn old_code(reason: u8) -> u8 {
    match reason {
        reason::UNSUPPORTED_VERSION => 1,
        _ => 3,
    }
}

/// Text with a length prefix; `None` if that is more than 65,535 bytes.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) -> Option<()> {
    out.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
    out.extend(text.as_bytes());
    Some(())
}

/// A variable byte integer. Bits above 28 are cut off.
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u32) {
    for _ in 0..3 {
        if value < 0x80 {
            break;
        }
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7F) as u8);
}
