//! The part of `MessagePack` that the scripts use: whole numbers, strings, and flat or nested arrays.
//!
//! Not here: maps, floats, negative numbers; the scripts send none.

#[derive(Default, PartialEq, Eq)]
pub(crate) struct Packer(Vec<u8>);

impl Packer {
    pub(crate) fn number(&mut self, number: u64) {
        let [.., a, b, c, d] = number.to_be_bytes();
        match number {
            0..=0x7F => self.0.push(d),
            0x80..=0xFF => self.0.extend([0xCC, d]),
            0x100..=0xFFFF => self.0.extend([0xCD, c, d]),
            0x1_0000..=0xFFFF_FFFF => self.0.extend([0xCE, a, b, c, d]),
            _ => {
                self.0.push(0xCF);
                self.0.extend(number.to_be_bytes());
            }
        }
    }

    /// The only negative number, for "without bound".
    pub(crate) fn minus_one(&mut self) {
        self.0.push(0xFF);
    }

    pub(crate) fn string(&mut self, bytes: &[u8]) {
        // No argument comes near 4 GiB.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.0.push(0xDB);
        self.0.extend(length.to_be_bytes());
        self.0.extend(bytes);
    }

    /// Begins an array of so many values.
    pub(crate) fn array(&mut self, length: usize) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.0.push(0xDD);
        self.0.extend(length.to_be_bytes());
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Packed<'a> {
    Number(u64),
    String(&'a [u8]),
    Array(usize),
}

pub(crate) struct Unpacker<'a>(pub(crate) &'a [u8]);

impl<'a> Unpacker<'a> {
    /// The next value; `None` at the end and for other types.
    pub(crate) fn value(&mut self) -> Option<Packed<'a>> {
        let [kind] = *self.take(1)? else { return None };
        let value = match kind {
            0..=0x7F => Packed::Number(u64::from(kind)),
            0x90..=0x9F => Packed::Array(usize::from(kind & 0x0F)),
            0xA0..=0xBF => Packed::String(self.take(usize::from(kind & 0x1F))?),
            0xCC => Packed::Number(self.big_endian(1)?),
            0xCD => Packed::Number(self.big_endian(2)?),
            0xCE => Packed::Number(self.big_endian(4)?),
            0xCF => Packed::Number(self.big_endian(8)?),
            0xD9 => self.string(1)?,
            0xDA => self.string(2)?,
            0xDB => self.string(4)?,
            0xDC => self.array(2)?,
            0xDD => self.array(4)?,
            _ => return None,
        };
        Some(value)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        match self.value()? {
            Packed::Number(number) => Some(number),
            Packed::String(_) | Packed::Array(_) => None,
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn string(&mut self, width: usize) -> Option<Packed<'a>> {
        let length = usize::try_from(self.big_endian(width)?).ok()?;
        Some(Packed::String(self.take(length)?))
    }

    fn array(&mut self, width: usize) -> Option<Packed<'a>> {
        let length = usize::try_from(self.big_endian(width)?).ok()?;
        Some(Packed::Array(length))
    }

    fn big_endian(&mut self, width: usize) -> Option<u64> {
        let bytes = self.take(width)?.iter();
        Some(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_read_again() {
        let numbers = [
            0,
            1,
            0x7F,
            0x80,
            0xFF,
            0x100,
            0xFFFF,
            0x1_0000,
            1 << 32,
            1 << 53,
            u64::MAX,
        ];
        let mut packer = Packer::default();
        packer.array(numbers.len());
        for number in numbers {
            packer.number(number);
        }
        packer.string(b"wide");
        let bytes = packer.into_bytes();
        let mut unpacker = Unpacker(&bytes);
        assert_eq!(unpacker.value(), Some(Packed::Array(numbers.len())));
        for number in numbers {
            assert_eq!(unpacker.number(), Some(number));
        }
        assert_eq!(unpacker.value(), Some(Packed::String(b"wide")));
        assert!(unpacker.is_empty());
    }

    #[test]
    fn bytes_that_are_cut_short_or_not_ours_are_refused() {
        for bytes in [
            &[0xCF, 1, 2][..],
            &[0xDB, 0, 0, 0, 9, 1],
            &[0xC0],
            &[0xCB],
            &[],
        ] {
            assert_eq!(Unpacker(bytes).value(), None);
        }
    }
}
