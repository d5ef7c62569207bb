//! Where packets begin and end in a stream. Nothing of them is kept, so that a packet may be of any size.

use crate::error::Malformed;
use crate::header::Header;

/// Follows the packets of one direction of a connection.
///
/// Ask [`Frames::next`] with whatever has arrived and was not consumed. After a [`Piece::Start`] say with
/// [`Frames::enter`] how many bytes of the packet are to come as [`Piece::Part`]s; those of a part are consumed by
/// being handed out.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Bytes of the packet under way that were not handed out.
    left: u32,
    packet_max: u32,
}

/// What is at the front of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Too little to tell.
    More,
    /// A packet begins. Nothing was consumed.
    Start(Header),
    /// So many bytes, at least one, belong to the packet under way.
    Part(usize),
}

impl Frames {
    /// A stream that begins with a packet, none of them of more than `packet_max` bytes.
    pub const fn new(packet_max: u32) -> Self {
        Self {
            left: 0,
            packet_max,
        }
    }

    /// What is at the front of these bytes?
    pub fn next(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        if self.left > 0 {
            let there = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let part = self.left.min(there);
            self.left -= part;
            return Ok(match part {
                0 => Piece::More,
                // Not more than there are.
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

    /// The next bytes, as many as these, belong to one packet.
    pub const fn enter(&mut self, bytes: u32) {
        self.left = bytes;
    }

    /// Whether a packet has ended and none has begun.
    pub const fn is_between(&self) -> bool {
        self.left == 0
    }
}
