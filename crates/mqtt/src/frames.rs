//! Where packets begin and end in a stream. They are not buffered, so that a packet may be of any size.

use crate::error::Malformed;
use crate::header::Header;

/// Follows the packets of one direction of a connection.
///
/// Call [`Frames::next`] with the bytes that were not consumed. After a [`Piece::Start`] pass to
/// [`Frames::enter`] the number of bytes of the packet to return as [`Piece::Part`]s; returning a part
/// consumes its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Bytes of the current packet that were not returned yet.
    left: u32,
    packet_max: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// More bytes are needed.
    More,
    /// A packet begins. Nothing was consumed.
    Start(Header),
    /// So many bytes, at least one, belong to the current packet.
    Part(usize),
}

impl Frames {
    /// The stream must begin with a packet; larger ones than `packet_max` bytes are refused.
    pub const fn new(packet_max: u32) -> Self {
        Self {
            left: 0,
            packet_max,
        }
    }

    pub fn next(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        if self.left > 0 {
            let there = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let part = self.left.min(there);
            self.left -= part;
            return Ok(match part {
                0 => Piece::More,
                // Not more than are present.
                part => Piece::Part(part as usize),
            });
        }
        let Some(header) = Header::read(bytes)? else {
            return Ok(Piece::More);
        };
        if header.packet() > self.packet_max {
            return Err(Malformed::TooLarge);
        }
        Ok(Piece::Start(header))
    }

    /// The next `bytes` bytes belong to one packet.
    pub const fn enter(&mut self, bytes: u32) {
        self.left = bytes;
    }

    /// Whether a packet has ended and the next has not begun.
    pub const fn is_between(&self) -> bool {
        self.left == 0
    }
}
