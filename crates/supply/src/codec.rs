//! Bytes of frames: numbers of seven bits a byte, and keys.
//!
//! Whatever a stranger sends, reading it ends in a value or in [`Malformed`], never in a panic. Not here: what frames contain.

use tollgate_gossip::{Key, Malformed};
use tollgate_limit::Instant;

/// Appends numbers to a frame.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Seven bits a byte, the lowest first.
    pub(crate) fn varint(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.bytes.push(low_byte(value) | 0x80);
            value >>= 7;
        }
        self.bytes.push(low_byte(value));
    }

    pub(crate) fn count(&mut self, value: u64) {
        self.varint(u128::from(value));
    }

    pub(crate) fn instant(&mut self, value: Instant) {
        self.count(value.as_nanos());
    }

    pub(crate) fn key(&mut self, key: Key) {
        self.bytes.extend_from_slice(&key.0.to_le_bytes());
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Takes numbers off a frame.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) const fn new(frame: &'a [u8]) -> Self {
        Self { rest: frame }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn varint(&mut self) -> Result<u128, Malformed> {
        let mut value = 0_u128;
        for shift in (0..126).step_by(7) {
            let byte = self.u8()?;
            value |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed::Value)
    }

    pub(crate) fn count(&mut self) -> Result<u64, Malformed> {
        u64::try_from(self.varint()?).map_err(|_| Malformed::Value)
    }

    /// A number of at most `max`.
    pub(crate) fn at_most(&mut self, max: u64) -> Result<u64, Malformed> {
        self.count().and_then(|value| {
            if value > max {
                Err(Malformed::Value)
            } else {
                Ok(value)
            }
        })
    }

    pub(crate) fn instant(&mut self) -> Result<Instant, Malformed> {
        self.count().map(Instant::from_nanos)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Value),
        }
    }

    pub(crate) fn key(&mut self) -> Result<Key, Malformed> {
        self.array().map(|bytes| Key(u128::from_le_bytes(bytes)))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }
}

fn low_byte(value: u128) -> u8 {
    value.to_le_bytes()[0]
}
