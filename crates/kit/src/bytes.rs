//! Numbers as bytes: little-endian, or seven bits a byte, lowest first.
//!
//! Reading never panics, never takes more than is left, and gives `None` for what cannot be read; why a frame is
//! refused is up to its protocol. Not here: what the bytes mean.

/// Takes numbers off the front of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(
    /// What is left to read.
    pub &'a [u8],
);

impl<'a> Reader<'a> {
    /// So many bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// So many bytes, by their type.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Sixteen bytes.
    pub fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    /// A number of which only the lowest `N` bytes were written.
    pub fn low<const N: usize>(&mut self) -> Option<u64> {
        let low = self.array::<N>()?;
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(low) {
            *to = from;
        }
        Some(u64::from_le_bytes(bytes))
    }

    /// Seven bits a byte, of at most so many bits together. What is cut off is taken whole; of what is too large,
    /// nothing is.
    pub fn varint(&mut self, bits: u32) -> Option<u128> {
        let mut value = 0;
        for ((shift, byte), at) in (0..bits).step_by(7).zip(self.0).zip(1..) {
            let part = u128::from(byte & 0x7f);
            if part >> (bits - shift).min(7) > 0 {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                self.0 = self.0.get(at..)?;
                return Some(value);
            }
        }
        if self.0.len() < bits.div_ceil(7) as usize {
            self.0 = &[];
        }
        None
    }

    /// A varint of at most 64 bits.
    pub fn number(&mut self) -> Option<u64> {
        u64::try_from(self.varint(u64::BITS)?).ok()
    }

    /// A varint that is a place or a length.
    pub fn index(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// How many things follow that take at least one byte each.
    pub fn count(&mut self) -> Option<usize> {
        self.index().filter(|count| *count <= self.0.len())
    }

    /// Bytes behind their length.
    pub fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.index()?;
        self.take(length)
    }
}

/// Appends a number with seven bits a byte.
pub fn put_varint(into: &mut Vec<u8>, value: impl Into<u128>) {
    let mut value = value.into();
    while value > 0x7f {
        into.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    into.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn varints_come_back(value in any::<u128>(), shift in 0..128_u32) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let bits = 128 - value.leading_zeros();
            for bits in bits.max(1)..=128 {
                let mut reader = Reader(&bytes);
                prop_assert_eq!(reader.varint(bits), Some(value));
                prop_assert_eq!(reader.0.len(), 0);
            }
            prop_assert!(bits <= 64 || Reader(&bytes).number().is_none());
        }

        #[test]
        fn any_bytes_are_a_varint_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..22), bits in 0..=128_u32) {
            let mut reader = Reader(&bytes);
            let value = reader.varint(bits);
            prop_assert!(value.is_none_or(|value| bits == 128 || value >> bits == 0));
            prop_assert!(value.is_some() || reader.0.is_empty() || reader.0.len() == bytes.len());
        }
    }

    #[test]
    fn a_varint_beyond_64_bits_is_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.push(2);
        assert_eq!(Reader(&bytes).number(), None);
        bytes[9] = 1;
        assert_eq!(Reader(&bytes).number(), Some(u64::MAX));
    }

    #[test]
    fn what_is_cut_off_is_none() {
        let mut reader = Reader(&[1, 2, 3]);
        assert_eq!(reader.low::<2>(), Some(0x0201));
        assert_eq!(
            (reader.u16(), reader.u64(), reader.take(2)),
            (None, None, None)
        );
        assert_eq!((reader.block(), reader.0.len()), (None, 0));
        assert_eq!(Reader(&[4, 0]).count(), None);
        assert_eq!(Reader(&[2, 7, 8, 9]).block(), Some(&[7, 8][..]));
    }
}
