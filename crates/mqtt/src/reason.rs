//! Reason codes of MQTT 5 that a gateway sends or checks. Not here: the others.

pub const SUCCESS: u8 = 0x00;
/// From here on a code is an error.
pub const FAILURES: u8 = 0x80;
pub const MALFORMED: u8 = 0x81;
/// A packet that is not allowed here.
pub const PROTOCOL_ERROR: u8 = 0x82;
pub const UNSUPPORTED_VERSION: u8 = 0x84;
pub const SERVER_UNAVAILABLE: u8 = 0x88;
/// The server is overloaded.
pub const SERVER_BUSY: u8 = 0x89;
pub const SERVER_SHUTTING_DOWN: u8 = 0x8B;
/// No topic name, or one that is not accepted.
pub const TOPIC_NAME_INVALID: u8 = 0x90;
/// A topic alias that is not defined.
pub const TOPIC_ALIAS_INVALID: u8 = 0x94;
/// A packet larger than is accepted.
pub const PACKET_TOO_LARGE: u8 = 0x95;
pub const QUOTA_EXCEEDED: u8 = 0x97;
pub const USE_ANOTHER_SERVER: u8 = 0x9C;
