//! Numbers as bytes: fixed integers, numbers of seven bits a byte, and keys; written to the end of a frame, taken off
//! its front.
//!
//! Whatever a stranger sends, reading it ends in a value or in [`Malformed`], never in a panic. Not here: what frames
//! begin with and contain, which each protocol says.

use tollgate_kit::{Reader, put_varint};
use tollgate_mode::{Malformed, ModeKey};

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

    /// Two bytes, the lowest first.
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_le_bytes());
    }

    /// Eight bytes, the lowest first.
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// Seven bits a byte, the lowest first.
    pub fn varint(&mut self, value: u128) {
        put_varint(&mut self.bytes, value);
    }

    /// A varint of at most 64 bits.
    pub fn count(&mut self, value: u64) {
        self.varint(u128::from(value));
    }

    /// Sixteen bytes.
    pub fn key(&mut self, key: ModeKey) {
        self.raw(&key.0.to_le_bytes());
    }

    /// Bytes that were encoded before.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What was appended when the frame already had `from` bytes.
    pub fn since(&self, from: usize) -> &[u8] {
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
    rest: Reader<'a>,
}

impl<'a> Decoder<'a> {
    /// Begins with the first byte of a frame, whatever it begins with.
    pub const fn from_first(frame: &'a [u8]) -> Self {
        Self {
            rest: Reader(frame),
        }
    }

    /// Whether everything was taken.
    pub const fn is_empty(&self) -> bool {
        self.rest.0.is_empty()
    }

    /// Bytes not taken yet; no list in a frame can have more members than that.
    pub(crate) fn left(&self) -> usize {
        self.rest.0.len()
    }

    /// Takes exactly these bytes if they come next.
    pub fn skip(&mut self, bytes: &[u8]) -> bool {
        let rest = self.rest.0.strip_prefix(bytes);
        self.rest = rest.map_or(self.rest, Reader);
        rest.is_some()
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.rest.u8().ok_or(Malformed::Truncated)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.rest.u16().ok_or(Malformed::Truncated)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.rest.u64().ok_or(Malformed::Truncated)
    }

    /// Seven bits a byte, at most eighteen of them.
    pub fn varint(&mut self) -> Result<u128, Malformed> {
        match self.rest.varint(126) {
            Some(value) => Ok(value),
            None if self.is_empty() => Err(Malformed::Truncated),
            None => Err(Malformed::Value),
        }
    }

    /// A varint of at most 64 bits.
    pub fn count(&mut self) -> Result<u64, Malformed> {
        u64::try_from(self.varint()?).map_err(|_| Malformed::Value)
    }

    /// Sixteen bytes.
    pub fn key(&mut self) -> Result<ModeKey, Malformed> {
        self.rest.u128().map(ModeKey).ok_or(Malformed::Truncated)
    }

    /// The length of a list whose members take at least `each` bytes; refused if the frame cannot hold them.
    pub fn length(&mut self, each: usize) -> Result<usize, Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed::Value)?;
        if length > self.left() / each.max(1) {
            return Err(Malformed::Truncated);
        }
        Ok(length)
    }

    /// Ends a frame.
    pub fn finish(self) -> Result<(), Malformed> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Trailing)
        }
    }
}
