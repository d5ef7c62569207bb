//! Frames of this crate: the eight bytes every one begins with, instants and lists.
//!
//! Whatever a stranger sends, reading it ends in a value or in [`Malformed`], never in a panic, and allocates no more
//! than the frame is long. Not here: plain numbers (`bytes`), and what frames contain, which each design says.

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Malformed, VERSION, Writer};

pub(crate) use crate::bytes::{Decoder, Encoder};

/// The longest frame that is read.
pub const FRAME_BYTES_MAX: usize = 1 << 24;
/// Frame sequences have 40 bits on the wire.
pub const SEQUENCE_MAX: u64 = (1 << 40) - 1;

/// Clocks may differ by that much, a day. A frame that tells of anything later is refused: it would count for so long.
pub const AHEAD_NS_MAX: u64 = 86_400_000_000_000;

/// The latest instant that a frame may tell of.
pub fn latest(now: Instant) -> Instant {
    now.saturating_add(Span::from_nanos(u128::from(AHEAD_NS_MAX)))
}

/// What every frame begins with: version and kind, who wrote it, and how many frames it wrote before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What follows: four bits, which each design gives a meaning.
    pub kind: u8,
    /// Who wrote it.
    pub writer: Writer,
    /// How many frames that was before.
    pub sequence: u64,
}

/// What the frames of this crate have besides numbers.
impl Encoder {
    /// A frame with nothing but its header.
    pub fn new(header: Header) -> Self {
        let mut encoder = Self {
            bytes: Vec::with_capacity(64),
        };
        encoder.u8(VERSION << 4 | header.kind);
        encoder.u16(header.writer.0);
        encoder.sequence(header.sequence);
        encoder
    }

    /// The low 40 bits, in five bytes.
    pub(crate) fn sequence(&mut self, value: u64) {
        self.raw(&value.to_le_bytes()[..5]);
    }
}

/// The same, taken off.
impl<'a> Decoder<'a> {
    /// Begins a frame: its header, and the decoder of what follows.
    pub fn new(frame: &'a [u8]) -> Result<(Header, Self), Malformed> {
        if frame.len() > FRAME_BYTES_MAX {
            return Err(Malformed::TooLong);
        }
        let mut decoder = Self::from_first(frame);
        let first = decoder.u8()?;
        if first >> 4 != VERSION {
            return Err(Malformed::Version(first >> 4));
        }
        let header = Header {
            kind: first & 0x0f,
            writer: Writer(decoder.u16()?),
            sequence: decoder.sequence()?,
        };
        Ok((header, decoder))
    }

    /// Ends a frame.
    pub fn finish(self) -> Result<(), Malformed> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Trailing)
        }
    }

    /// Nanoseconds since the epoch, no later than `latest`.
    pub fn instant(&mut self, latest: Instant) -> Result<Instant, Malformed> {
        let instant = Instant::from_nanos(self.u64()?);
        if instant > latest {
            return Err(Malformed::Value);
        }
        Ok(instant)
    }

    pub(crate) fn sequence(&mut self) -> Result<u64, Malformed> {
        self.low::<5>()
    }

    /// The length of a list whose members take at least `each` bytes; refused if the frame cannot hold them.
    pub fn length(&mut self, each: usize) -> Result<usize, Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed::Value)?;
        if length > self.left() / each.max(1) {
            return Err(Malformed::Truncated);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_mode::Key;

    const HEADER: Header = Header {
        kind: 3,
        writer: Writer(7),
        sequence: SEQUENCE_MAX,
    };

    #[test]
    fn numbers_come_back() {
        let mut encoder = Encoder::new(HEADER);
        for value in [0, 1, 127, 128, u128::from(u64::MAX), (1 << 126) - 1] {
            encoder.varint(value);
        }
        encoder.key(Key(42));
        let frame = encoder.finish();
        let (header, mut decoder) = Decoder::new(&frame).unwrap();
        assert_eq!(header, HEADER);
        for value in [0, 1, 127, 128, u128::from(u64::MAX), (1 << 126) - 1] {
            assert_eq!(decoder.varint(), Ok(value));
        }
        assert_eq!(decoder.key(), Ok(Key(42)));
        assert_eq!(decoder.finish(), Ok(()));
    }

    #[test]
    fn a_header_takes_eight_bytes() {
        assert_eq!(Encoder::new(HEADER).finish().len(), 8);
    }

    #[test]
    fn a_list_longer_than_its_frame_is_refused_before_it_is_built() {
        let mut encoder = Encoder::new(HEADER);
        encoder.varint(1 << 40);
        let frame = encoder.finish();
        let (_, mut decoder) = Decoder::new(&frame).unwrap();
        assert_eq!(decoder.length(1), Err(Malformed::Truncated));
    }

    #[test]
    fn other_versions_and_cut_frames_are_refused() {
        assert_eq!(Decoder::new(&[0x20; 8]).err(), Some(Malformed::Version(2)));
        assert_eq!(Decoder::new(&[0x10; 7]).err(), Some(Malformed::Truncated));
        assert_eq!(Decoder::new(&[]).err(), Some(Malformed::Truncated));
    }
}
