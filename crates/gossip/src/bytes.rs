//! Numbers as bytes: fixed integers, numbers of seven bits a byte, and keys; written to the end of a frame, taken off its front.
//!
//! Whatever a stranger sends, reading it ends in a value or in [`Malformed`], never in a panic. Not here: what frames begin
//! with and contain, which each protocol says.

use tollgate_mode::{Key, Malformed};

/// Appends numbers to a frame.
#[derive(Debug, Default)]
pub struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// Seven bits a byte, the lowest first.
    pub fn varint(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.u8(low_byte(value) | 0x80);
            value >>= 7;
        }
        self.u8(low_byte(value));
    }

    /// A varint of at most 64 bits.
    pub fn count(&mut self, value: u64) {
        self.varint(u128::from(value));
    }

    /// Sixteen bytes.
    pub fn key(&mut self, key: Key) {
        self.raw(&key.0.to_le_bytes());
    }

    /// Bytes that were encoded before.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What was appended when the frame already had `from` bytes.
    pub(crate) fn since(&self, from: usize) -> &[u8] {
        self.bytes.get(from..).unwrap_or_default()
    }

    /// The frame.
    pub fn finish(self) -> std::sync::Arc<[u8]> {
        self.bytes.into()
    }
}

/// Takes numbers off a frame.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Begins with the first byte of a frame, whatever it begins with.
    pub const fn from_first(frame: &'a [u8]) -> Self {
        Self { rest: frame }
    }

    /// Whether everything was taken.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes not taken yet; no list in a frame can have more members than that.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Takes exactly these bytes if they come next.
    pub(crate) fn skip(&mut self, bytes: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(bytes);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Seven bits a byte, at most eighteen of them.
    pub fn varint(&mut self) -> Result<u128, Malformed> {
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

    /// A varint of at most 64 bits.
    pub fn count(&mut self) -> Result<u64, Malformed> {
        u64::try_from(self.varint()?).map_err(|_| Malformed::Value)
    }

    /// Sixteen bytes.
    pub fn key(&mut self) -> Result<Key, Malformed> {
        self.array().map(|bytes| Key(u128::from_le_bytes(bytes)))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }
}

fn low_byte(value: u128) -> u8 {
    value.to_le_bytes()[0]
}
