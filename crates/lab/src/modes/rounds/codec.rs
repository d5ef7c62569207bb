//! Frames of the simulated designs: the eight bytes every one begins with, instants and lists.
//!
//! Whatever is sent, reading it ends in a value or in [`Malformed`], never in a panic, and allocates no more than the
//! frame is long. Not here: what frames contain, which each design says.

use tollgate_gossip::{Decoder, Encoder, Malformed, Writer};
use tollgate_limit::{Instant, Span};
use tollgate_mode::VERSION;

pub(crate) const FRAME_BYTES_MAX: usize = 1 << 24;
/// Frame sequences have 40 bits on the wire.
pub(crate) const SEQUENCE_MAX: u64 = (1 << 40) - 1;

/// Clocks may differ by that much, a day. A frame that tells of anything later is refused: it would count for so long.
pub(crate) const AHEAD_NS_MAX: u64 = 86_400_000_000_000;

/// The latest instant that a frame may tell of.
pub(crate) fn latest(now: Instant) -> Instant {
    now.saturating_add(Span::from_nanos(u128::from(AHEAD_NS_MAX)))
}

/// What every frame begins with: version and kind, who wrote it, and how many frames it wrote before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// What follows: four bits, which each design gives a meaning.
    pub(crate) kind: u8,
    pub(crate) writer: Writer,
    /// How many frames that was before.
    pub(crate) sequence: u64,
}

/// A frame with nothing but its header.
pub(crate) fn begin(header: Header) -> Encoder {
    let mut encoder = Encoder::default();
    encoder.u8(VERSION << 4 | header.kind);
    encoder.u16(header.writer.0);
    encoder.raw(&header.sequence.to_le_bytes()[..5]);
    encoder
}

/// The header of a frame, and the decoder of what follows.
pub(crate) fn open(frame: &[u8]) -> Result<(Header, Decoder<'_>), Malformed> {
    if frame.len() > FRAME_BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut decoder = Decoder::from_first(frame);
    let first = decoder.u8()?;
    if first >> 4 != VERSION {
        return Err(Malformed::Version(first >> 4));
    }
    let writer = Writer(decoder.u16()?);
    let mut sequence = 0;
    for place in 0..5 {
        sequence |= u64::from(decoder.u8()?) << (8 * place);
    }
    let header = Header {
        kind: first & 0x0f,
        writer,
        sequence,
    };
    Ok((header, decoder))
}

/// Nanoseconds since the epoch, no later than `latest`.
pub(crate) fn instant(decoder: &mut Decoder<'_>, latest: Instant) -> Result<Instant, Malformed> {
    let instant = Instant::from_nanos(decoder.u64()?);
    if instant > latest {
        return Err(Malformed::Value);
    }
    Ok(instant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_gossip::ModeKey;

    const HEADER: Header = Header {
        kind: 3,
        writer: Writer(7),
        sequence: SEQUENCE_MAX,
    };

    #[test]
    fn numbers_come_back() {
        let mut encoder = begin(HEADER);
        for value in [0, 1, 127, 128, u128::from(u64::MAX), (1 << 126) - 1] {
            encoder.varint(value);
        }
        encoder.key(ModeKey(42));
        let frame = encoder.finish();
        let (header, mut decoder) = open(&frame).unwrap();
        assert_eq!(header, HEADER);
        for value in [0, 1, 127, 128, u128::from(u64::MAX), (1 << 126) - 1] {
            assert_eq!(decoder.varint(), Ok(value));
        }
        assert_eq!(decoder.key(), Ok(ModeKey(42)));
        assert_eq!(decoder.finish(), Ok(()));
    }

    #[test]
    fn a_header_takes_eight_bytes() {
        assert_eq!(begin(HEADER).finish().len(), 8);
    }

    #[test]
    fn a_list_longer_than_its_frame_is_refused_before_it_is_built() {
        let mut encoder = begin(HEADER);
        encoder.varint(1 << 40);
        let frame = encoder.finish();
        let (_, mut decoder) = open(&frame).unwrap();
        assert_eq!(decoder.length(1), Err(Malformed::Truncated));
    }

    #[test]
    fn other_versions_and_cut_frames_are_refused() {
        assert_eq!(open(&[0x20; 8]).err(), Some(Malformed::Version(2)));
        assert_eq!(open(&[0x10; 7]).err(), Some(Malformed::Truncated));
        assert_eq!(open(&[]).err(), Some(Malformed::Truncated));
    }
}
