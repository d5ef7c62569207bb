//! Kinds of frames, and the numbers of the protocol.
//!
//! Not here: the bodies of frames.

use tollgate_kit::{Reader, put_varint};

use crate::bytes::put_u48;
use crate::event::Refused;

/// The version of the protocol that this node sends.
pub const VERSION: u8 = 1;
/// The oldest version that is accepted: always the previous one, if any.
pub const OLDEST_VERSION: u8 = 1;
/// What the seal adds to a payload: version 1, seal-key id 1, boot 8, counter 8, tag 16.
pub const DATAGRAM_OVERHEAD: usize = 34;
/// The longest message of a stream.
pub const MESSAGE_BYTES_MAX: usize = (1 << 24) + 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum FrameKind {
    Probe = 1,
    /// A replica's frame, behind the tag of its policy.
    Gossip = 2,
    /// Asks for a pong, to measure the delay.
    Ping = 3,
    Pong = 4,
    /// Sent to an address whose node is unknown: describes the sender.
    Hello = 5,
    /// Answers a hello: describes the receiver.
    Welcome = 6,
    /// Reports to a node another one that claims its identity.
    Rival = 7,
    /// Orders the younger of two nodes with one identity to stop.
    Taken = 8,
    Bye = 9,
    /// Requests forwarded to the owner of their keys; by stream.
    Forward = 16,
    /// Answers of the owner; by stream.
    Answer = 17,
    /// State for a node that joins the cluster; by stream.
    Snapshot = 18,
    /// State from a node that leaves, or of keys that moved; by stream.
    HandOver = 19,
    /// Asks for a snapshot; by stream.
    Ask = 20,
    /// Values of keys whose assignments the owner must look up; by stream.
    Introduce = 21,
    /// Missing nodes, for a node that started since; by stream.
    Missing = 22,
    /// The name of a missing node to forget; by stream.
    Forget = 23,
    /// Asks whether the other has lent what the sender lends now; by stream.
    Prove = 24,
}

impl FrameKind {
    /// `None` for kinds of later versions.
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
            21 => Self::Introduce,
            22 => Self::Missing,
            23 => Self::Forget,
            24 => Self::Prove,
            _ => return None,
        })
    }
}

pub(crate) struct Frames<'a> {
    reader: Reader<'a>,
    is_broken: bool,
}

impl<'a> Frames<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self {
            reader: Reader(bytes),
            is_broken: false,
        }
    }

    fn read(&mut self) -> Option<(u8, &'a [u8])> {
        let kind = self.reader.u8()?;
        Some((kind, self.reader.block()?))
    }
}

impl<'a> Iterator for Frames<'a> {
    /// The number of a kind, and a body; iteration ends after an error.
    type Item = Result<(u8, &'a [u8]), Refused>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken || self.reader.0.is_empty() {
            return None;
        }
        let frame = self.read();
        self.is_broken = frame.is_none();
        Some(frame.ok_or(Refused::Malformed))
    }
}

pub(crate) fn frame(kind: FrameKind, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(length + 6);
    bytes.push(kind as u8);
    put_varint(&mut bytes, length as u64);
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PayloadHead {
    /// The sender's clock, in milliseconds since the epoch.
    pub(crate) sent_ms: u64,
    /// The receiver's boot, folded; zero if the sender does not know it.
    pub(crate) to: u32,
}

impl PayloadHead {
    pub(crate) fn put(self, into: &mut Vec<u8>) {
        put_u48(into, self.sent_ms);
        into.extend(self.to.to_le_bytes());
    }

    pub(crate) fn read(payload: &[u8]) -> Option<(Self, &[u8])> {
        let mut reader = Reader(payload);
        let sent_ms = reader.low::<6>()?;
        let to = reader.u32()?;
        Some((Self { sent_ms, to }, reader.0))
    }
}

/// Never zero.
pub(crate) const fn fold(boot: u64) -> u32 {
    let [low @ .., _, _, _, _] = (boot ^ (boot >> 32)).to_le_bytes();
    let folded = u32::from_le_bytes(low);
    if folded == 0 { 1 } else { folded }
}

/// The head of a payload: sent-at 6, to 4.
pub(crate) const HEAD_LEN: usize = 10;
/// The longest packet of the membership protocol: the same on all nodes, since a longer one is refused.
pub(crate) const PROBE_BYTES_MAX: usize =
    crate::config::ClusterConfig::MTU_MIN - DATAGRAM_OVERHEAD - HEAD_LEN - 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kinds_and_numbers_agree() {
        for number in 0..=255 {
            if let Some(kind) = FrameKind::of(number) {
                assert_eq!(kind as u8, number);
            }
        }
    }

    #[test]
    fn a_boot_is_never_folded_to_nobody() {
        assert_ne!(fold(0), 0);
        assert_ne!(fold(u64::MAX), 0);
        assert_ne!(fold(1 << 32 | 1), 0);
    }

    proptest! {
        #[test]
        fn frames_come_back(bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..9)) {
            let mut bytes = Vec::new();
            for body in &bodies {
                bytes.extend(frame(FrameKind::Gossip, &[body]));
            }
            let back: Vec<_> = Frames::new(&bytes).map(|frame| frame.unwrap().1.to_vec()).collect();
            prop_assert_eq!(back, bodies);
        }

        #[test]
        fn any_bytes_are_frames_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let frames: Vec<_> = Frames::new(&bytes).collect();
            let broken = frames.iter().filter(|frame| frame.is_err()).count();
            prop_assert!(broken <= 1);
            let _ = PayloadHead::read(&bytes);
        }
    }
}
