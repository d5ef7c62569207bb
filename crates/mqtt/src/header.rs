//! The fixed header: the type of a packet, and its length.

use crate::error::Malformed;
use crate::reader::varint;

/// The most bytes that can follow a fixed header.
pub const PACKET_MAX: u32 = 268_435_455;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub enum PacketKind {
    Connect = 1,
    Connack = 2,
    Publish = 3,
    Puback = 4,
    Pubrec = 5,
    Pubrel = 6,
    Pubcomp = 7,
    Subscribe = 8,
    Suback = 9,
    Unsubscribe = 10,
    Unsuback = 11,
    Pingreq = 12,
    Pingresp = 13,
    Disconnect = 14,
    Auth = 15,
}

impl PacketKind {
    const fn of(nibble: u8) -> Option<Self> {
        Some(match nibble {
            1 => Self::Connect,
            2 => Self::Connack,
            3 => Self::Publish,
            4 => Self::Puback,
            5 => Self::Pubrec,
            6 => Self::Pubrel,
            7 => Self::Pubcomp,
            8 => Self::Subscribe,
            9 => Self::Suback,
            10 => Self::Unsubscribe,
            11 => Self::Unsuback,
            12 => Self::Pingreq,
            13 => Self::Pingresp,
            14 => Self::Disconnect,
            15 => Self::Auth,
            _ => return None,
        })
    }

    /// The fixed flags of this type; `None` if they vary.
    const fn flags(self) -> Option<u8> {
        match self {
            Self::Publish => None,
            Self::Pubrel | Self::Subscribe | Self::Unsubscribe => Some(0b0010),
            Self::Connect
            | Self::Connack
            | Self::Puback
            | Self::Pubrec
            | Self::Pubcomp
            | Self::Suback
            | Self::Unsuback
            | Self::Pingreq
            | Self::Pingresp
            | Self::Disconnect
            | Self::Auth => Some(0),
        }
    }

    /// The first byte of a packet of this type with these flags.
    pub(crate) const fn byte(self, flags: u8) -> u8 {
        (self as u8) << 4 | flags
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: PacketKind,
    /// The lower half of its first byte.
    pub flags: u8,
    /// Bytes after the header.
    pub remaining: u32,
    /// Bytes of the header.
    pub length: u8,
}

impl Header {
    /// `None` if the header is incomplete.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let Some((&first, rest)) = bytes.split_first() else {
            return Ok(None);
        };
        let kind = PacketKind::of(first >> 4).ok_or(Malformed::Kind)?;
        let flags = first & 0x0F;
        let is_allowed = kind
            .flags()
            .map_or(flags & 0b0110 != 0b0110, |only| only == flags);
        if !is_allowed {
            return Err(Malformed::Flags);
        }
        let Some((remaining, length)) = varint(rest)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            kind,
            flags,
            remaining,
            length: length + 1,
        }))
    }

    /// Bytes of the whole packet.
    pub fn packet(self) -> u32 {
        self.remaining + u32::from(self.length)
    }

    /// The bytes after the header; `None` if the packet is incomplete.
    pub fn body(self, bytes: &[u8]) -> Option<&[u8]> {
        let end = usize::try_from(self.packet()).ok()?;
        bytes.get(self.length.into()..end)
    }
}
