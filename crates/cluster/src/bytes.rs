//! Bytes of the protocol: little-endian integers, varints, short texts.
//!
//! Reading past the end is `None`, never a panic, and allocates no more than was there. Not here: what the bytes mean.

/// What is left to read.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn left(&self) -> usize {
        self.0.len()
    }

    /// Whatever is left.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u48(&mut self) -> Option<u64> {
        let low: [u8; 6] = self.array()?;
        let mut bytes = [0; 8];
        bytes[..6].copy_from_slice(&low);
        Some(u64::from_le_bytes(bytes))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    /// Seven bits a byte, the lowest first; what does not fit in 64 bits is refused.
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A length of one byte, and a text of at most `max` bytes.
    pub(crate) fn text(&mut self, max: usize) -> Option<&'a str> {
        let length = usize::from(self.u8()?);
        let bytes = self.bytes(length).filter(|_| length <= max)?;
        std::str::from_utf8(bytes).ok()
    }
}

pub(crate) fn put_u48(into: &mut Vec<u8>, value: u64) {
    into.extend(value.to_le_bytes().iter().take(6));
}

pub(crate) fn put_varint(into: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        into.push(low_byte(value) | 0x80);
        value >>= 7;
    }
    into.push(low_byte(value));
}

/// A text that was cut to less than 256 bytes before.
pub(crate) fn put_text(into: &mut Vec<u8>, text: &str) {
    into.push(low_byte(text.len() as u64));
    into.extend_from_slice(text.as_bytes());
}

/// The longest beginning of a text that has at most `max` bytes and ends between letters.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or("")
}

const fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn varints_come_back(value in any::<u64>(), shift in 0..64_u32) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.varint(), Some(value));
            prop_assert_eq!(reader.left(), 0);
        }

        #[test]
        fn any_bytes_are_a_varint_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let _ = Reader::new(&bytes).varint();
        }
    }

    #[test]
    fn a_varint_beyond_64_bits_is_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.push(2);
        assert_eq!(Reader::new(&bytes).varint(), None);
        bytes[9] = 1;
        assert_eq!(Reader::new(&bytes).varint(), Some(u64::MAX));
    }

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
    }
}
