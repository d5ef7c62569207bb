//! Reads fields off the front of bytes.

use crate::error::Malformed;

/// The rest of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketReader<'a>(&'a [u8]);

impl<'a> PacketReader<'a> {
    pub(crate) const fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Trailing)
        }
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn two(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn four(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// A packet identifier.
    pub(crate) fn id(&mut self) -> Result<u16, Malformed> {
        match self.two()? {
            0 => Err(Malformed::PacketId),
            id => Ok(id),
        }
    }

    pub(crate) fn varint(&mut self) -> Result<u32, Malformed> {
        let (value, length) = varint(self.0)?.ok_or(Malformed::Truncated)?;
        self.take(length.into())?;
        Ok(value)
    }

    /// Bytes with a length prefix.
    pub(crate) fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.two()?;
        self.take(length.into())
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let text = core::str::from_utf8(self.binary()?).map_err(|_| Malformed::Text)?;
        if text.contains('\0') {
            return Err(Malformed::Text);
        }
        Ok(text)
    }
}

/// A variable byte integer at the start of `bytes`, and its length; `None` if it is incomplete.
pub(crate) fn varint(bytes: &[u8]) -> Result<Option<(u32, u8)>, Malformed> {
    let mut value = 0;
    for (at, byte) in (0_u8..).zip(bytes.iter().take(VARINT_BYTES_MAX)) {
        value |= u32::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            // Lenient parsers would read a non-minimal encoding differently.
            let is_shortest = at == 0 || *byte != 0;
            return if is_shortest {
                Ok(Some((value, at + 1)))
            } else {
                Err(Malformed::Length)
            };
        }
    }
    if bytes.len() < VARINT_BYTES_MAX {
        Ok(None)
    } else {
        Err(Malformed::Length)
    }
}

const VARINT_BYTES_MAX: usize = 4;
