//! What a payload is made of: kinds of frames, and the numbers of the protocol.
//!
//! Not here: what is inside frames.

/// The version of the protocol that is spoken.
pub const VERSION: u8 = 1;
/// The oldest version that is understood: always the one before, where there was one.
pub const OLDEST_VERSION: u8 = 1;
/// What the seal adds to a payload: version 1, seal-key id 1, boot 8, counter 8, tag 16.
pub const DATAGRAM_OVERHEAD: usize = 34;
/// The longest message of a stream.
pub const MESSAGE_BYTES_MAX: usize = (1 << 24) + 64;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A packet of the membership protocol.
    Probe = 1,
    /// A replica's frame, behind the tag of its policy.
    Gossip = 2,
    /// Asks for a pong, to measure the delay.
    Ping = 3,
    /// Answers a ping.
    Pong = 4,
    /// To an address of which nobody knows who is there: who we are.
    Hello = 5,
    /// Answers a hello: who is here.
    Welcome = 6,
    /// Tells a node of another that claims its identity.
    Rival = 7,
    /// Tells the younger of two nodes with one identity to stop.
    Taken = 8,
    /// Says that the sender leaves.
    Bye = 9,
    /// Requests for the owner of their keys; by stream.
    Forward = 16,
    /// What the owner answered; by stream.
    Answer = 17,
    /// State for a node that joins; by stream.
    Snapshot = 18,
    /// State from a node that leaves, or of keys that moved; by stream.
    HandOver = 19,
    /// Asks for a snapshot; by stream.
    Ask = 20,
}

impl Kind {
    /// The kind of that number, if this version knows it.
    pub const fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Probe,
            2 => Self::Gossip,
            3 => Self::Ping,
            4 => Self::Pong,
            5 => Self::Hello,
            6 => Self::Welcome,
            7 => Self::Rival,
            8 => Self::Taken,
            9 => Self::Bye,
            16 => Self::Forward,
            17 => Self::Answer,
            18 => Self::Snapshot,
            19 => Self::HandOver,
            20 => Self::Ask,
            _ => return None,
        })
    }
}
