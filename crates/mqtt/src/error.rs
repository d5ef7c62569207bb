//! Errors of the decoder.

use core::fmt;

use crate::reason;

/// The rest of the connection cannot be parsed after any of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A packet type that does not exist.
    Kind,
    /// Flags that the packet type must not have.
    Flags,
    /// A length with more than four bytes, or more bytes than it needs.
    Length,
    /// A packet that ends inside a field.
    Truncated,
    /// Bytes after the last field.
    Trailing,
    /// Text that is not UTF-8, or has a NUL.
    Text,
    /// A property that is unknown, not allowed in this packet, or repeated.
    Property,
    /// A packet identifier of zero.
    PacketId,
    /// A topic name that is empty or has a wildcard.
    Topic,
    /// A topic alias of zero, or one that was never set.
    TopicAlias,
    /// Neither MQTT 3.1.1 nor MQTT 5.
    Version,
    /// A packet that is not allowed at this point.
    OutOfTurn,
    /// A packet, or the part of it that must be buffered, that is larger than allowed.
    TooLarge,
}

impl Malformed {
    /// The reason code of MQTT 5.
    pub const fn reason(self) -> u8 {
        match self {
            Self::Kind
            | Self::Flags
            | Self::Length
            | Self::Truncated
            | Self::Trailing
            | Self::Text => reason::MALFORMED,
            Self::Property | Self::PacketId | Self::OutOfTurn => reason::PROTOCOL_ERROR,
            Self::Topic => reason::TOPIC_NAME_INVALID,
            Self::TopicAlias => reason::TOPIC_ALIAS_INVALID,
            Self::Version => reason::UNSUPPORTED_VERSION,
            Self::TooLarge => reason::PACKET_TOO_LARGE,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "no such packet type",
            Self::Flags => "flags that the packet type must not have",
            Self::Length => "a length that is too long",
            Self::Truncated => "a packet that ends inside a field",
            Self::Trailing => "bytes behind the last field",
            Self::Text => "text that is not UTF-8, or has a NUL",
            Self::Property => "a property that has no place there",
            Self::PacketId => "a packet identifier of zero",
            Self::Topic => "no topic name",
            Self::TopicAlias => "no such topic alias",
            Self::Version => "neither MQTT 3.1.1 nor MQTT 5",
            Self::OutOfTurn => "a packet out of turn",
            Self::TooLarge => "a packet that is too large",
        })
    }
}

impl std::error::Error for Malformed {}
