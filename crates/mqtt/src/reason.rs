//! Reason codes of MQTT 5 that a gateway says or looks for. Not here: the others.

/// It is done.
pub const SUCCESS: u8 = 0x00;
/// From here on a code says that something failed.
pub const FAILURES: u8 = 0x80;
/// The bytes are no packet.
pub const MALFORMED: u8 = 0x81;
/// A packet that must not be there.
pub const PROTOCOL_ERROR: u8 = 0x82;
/// A version of the protocol that is not spoken here.
pub const UNSUPPORTED_VERSION: u8 = 0x84;
/// The server cannot be had.
pub const SERVER_UNAVAILABLE: u8 = 0x88;
/// The server has more to do than it can.
pub const SERVER_BUSY: u8 = 0x89;
/// The server stops.
pub const SERVER_SHUTTING_DOWN: u8 = 0x8B;
/// No topic name, or one that is not accepted.
pub const TOPIC_NAME_INVALID: u8 = 0x90;
/// A topic alias that does not stand for anything.
pub const TOPIC_ALIAS_INVALID: u8 = 0x94;
/// A packet larger than is accepted.
pub const PACKET_TOO_LARGE: u8 = 0x95;
/// A limit was reached.
pub const QUOTA_EXCEEDED: u8 = 0x97;
/// Use another server for now.
pub const USE_ANOTHER_SERVER: u8 = 0x9C;
