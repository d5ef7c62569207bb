//! HPACK, as far as a load generator needs it.
//!
//! Writing: fields are sent as literals that the server remembers, and later as their indexes. Reading: only `:status`
//! and `grpc-status` are searched. Names are compared as encoded, in either coding, so nothing is ever decoded; and as
//! eviction starts with the oldest, the indexes of remembered fields do not depend on their sizes.

use std::collections::VecDeque;

use super::CodecError;

/// A decoded field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// `:status`, or `None` if it was not understood.
    Status(Option<u16>),
    /// `grpc-status`.
    Grpc(Option<u16>),
    /// Anything else.
    Other,
}

/// The dynamic table of a peer.
#[derive(Debug, Default)]
pub(super) struct FieldTable {
    remembered: VecDeque<Field>,
}

impl FieldTable {
    /// Reads a block, and passes on every field that matters.
    pub(super) fn read(
        &mut self,
        mut block: &[u8],
        mut each: impl FnMut(Field),
    ) -> Result<(), CodecError> {
        while let Some(&first) = block.first() {
            match first {
                0x80.. => each(self.numbered(integer(&mut block, 7)?)?),
                0x40..0x80 => {
                    let field = self.literal(&mut block, 6)?;
                    self.remember(field);
                    each(field);
                }
                // A new size of the table, which only evicts.
                0x20..0x40 => drop(integer(&mut block, 5)?),
                0x00..0x20 => each(self.literal(&mut block, 4)?),
            }
        }
        Ok(())
    }

    fn remember(&mut self, field: Field) {
        self.remembered.push_front(field);
        self.remembered.truncate(REMEMBERED_MAX);
    }

    fn numbered(&self, number: usize) -> Result<Field, CodecError> {
        match number {
            0 => Err(CodecError::new("a field number of zero")),
            8..=14 => Ok(Field::Status(STATUSES.get(number - 8).copied())),
            1..=STATIC_MAX => Ok(Field::Other),
            _ => {
                let found = self.remembered.get(number - STATIC_MAX - 1);
                found
                    .copied()
                    .ok_or_else(|| CodecError::new("a field number that was never given"))
            }
        }
    }

    fn literal(&self, block: &mut &[u8], prefix: u32) -> Result<Field, CodecError> {
        let name = match integer(block, prefix)? {
            0 => named(text(block)?),
            number => self.numbered(number)?,
        };
        let (coded, value) = text(block)?;
        Ok(match name {
            Field::Status(_) => Field::Status(decimal(coded, value)),
            Field::Grpc(_) => Field::Grpc(decimal(coded, value)),
            Field::Other => Field::Other,
        })
    }
}

/// A text: whether it is Huffman-coded, and its bytes.
type Text<'a> = (bool, &'a [u8]);

fn named(name: Text<'_>) -> Field {
    match name {
        (false, b"grpc-status") | (true, GRPC_STATUS) => Field::Grpc(None),
        _ => Field::Other,
    }
}

fn text<'a>(block: &mut &'a [u8]) -> Result<Text<'a>, CodecError> {
    let coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(block, 7)?;
    let short = || CodecError::new("a field that is cut off");
    let (text, rest) = block.split_at_checked(length).ok_or_else(short)?;
    *block = rest;
    Ok((coded, text))
}

fn integer(block: &mut &[u8], prefix: u32) -> Result<usize, CodecError> {
    let broken = || CodecError::new("a number in a field makes no sense");
    let mask = (1_usize << prefix) - 1;
    let (first, mut rest) = block.split_first().ok_or_else(broken)?;
    let mut value = usize::from(*first) & mask;
    if value == mask {
        for shift in (0..28).step_by(7) {
            let (byte, after) = rest.split_first().ok_or_else(broken)?;
            rest = after;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                *block = rest;
                return Ok(value);
            }
        }
        return Err(broken());
    }
    *block = rest;
    Ok(value)
}

/// A small number in either coding.
fn decimal(coded: bool, text: &[u8]) -> Option<u16> {
    if !coded {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    // In Huffman coding 0 to 2 have five bits, and the other digits six.
    let (mut bits, mut left) = (0_u64, 0_u32);
    for byte in text.get(..text.len().min(DIGITS_MAX))? {
        bits = bits << 8 | u64::from(*byte);
        left += 8;
    }
    let mut value = None;
    while left >= 5 {
        let five = bits >> (left - 5) & 0x1f;
        let digit = if five <= 2 {
            left -= 5;
            five
        } else if left >= 6 {
            let six = bits >> (left - 6) & 0x3f;
            left -= 6;
            match six {
                0x19..=0x1f => six - 0x16,
                _ => break,
            }
        } else {
            break;
        };
        value = Some(value.unwrap_or(0_u16) * 10 + u16::try_from(digit).ok()?);
    }
    value
}

/// The blocks of a request: as literals that the server remembers, and as indexes.
pub(super) fn blocks(fields: &[(&'static str, String)]) -> (Vec<u8>, Vec<u8>) {
    let mut first = vec![METHOD_POST, SCHEME_HTTP];
    let mut later = first.clone();
    for (at, (name, value)) in fields.iter().enumerate() {
        first.push(0x40);
        for text in [*name, value.as_str()] {
            push_integer(text.len(), 7, &mut first);
            first.extend_from_slice(text.as_bytes());
        }
        let number = STATIC_MAX + fields.len() - at;
        let start = later.len();
        push_integer(number, 7, &mut later);
        if let Some(byte) = later.get_mut(start) {
            *byte |= 0x80;
        }
    }
    (first, later)
}

#[allow(clippy::cast_possible_truncation, reason = "cut to the bits of a byte")]
fn push_integer(value: usize, prefix: u32, out: &mut Vec<u8>) {
    let mask = (1 << prefix) - 1;
    if value < mask {
        out.push(value as u8);
        return;
    }
    out.push(mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

const METHOD_POST: u8 = 0x83;
const SCHEME_HTTP: u8 = 0x86;
/// Entries of the static table.
const STATIC_MAX: usize = 61;
/// A table of 4096 bytes has at most this many fields of at least 32.
const REMEMBERED_MAX: usize = 128;
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
/// `grpc-status`, Huffman-coded.
const GRPC_STATUS: &[u8] = &[0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f];
const DIGITS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut FieldTable, block: &[u8]) -> Vec<Field> {
        let mut fields = Vec::new();
        reader.read(block, |field| fields.push(field)).unwrap();
        fields
    }

    #[test]
    fn a_remembered_status_is_found_by_its_number() {
        let mut reader = FieldTable::default();
        let mut block = vec![0x88, 0x40, 0x88];
        block.extend_from_slice(GRPC_STATUS);
        block.extend_from_slice(&[1, b'0']);
        let zero = Field::Grpc(Some(0));
        assert_eq!(read(&mut reader, &block), [Field::Status(Some(200)), zero]);
        // Another field is remembered after it, so its index grows.
        let other = [0x40, 1, b'x', 1, b'y'];
        assert_eq!(read(&mut reader, &other), [Field::Other]);
        assert_eq!(read(&mut reader, &[0xbf]), [zero]);
        // The name by its index, the value Huffman-coded: 14.
        let value = [0x0f, 0x30, 0x82, 0b0000_1011, 0b0101_1111];
        assert_eq!(read(&mut reader, &value), [Field::Grpc(Some(14))]);
    }

    #[test]
    fn broken_blocks_are_refused() {
        for block in [
            &[0x80][..],
            &[0xff],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x40, 5, b'x'],
            &[0xc0],
        ] {
            let mut reader = FieldTable::default();
            assert!(reader.read(block, |_| {}).is_err(), "{block:?}");
        }
    }

    #[test]
    fn numbers_of_either_coding_are_read() {
        assert_eq!(decimal(false, b"13"), Some(13));
        for (digit, code) in [(0, 0x07), (2, 0x17), (3, 0x67), (9, 0x7f)] {
            assert_eq!(decimal(true, &[code]), Some(digit), "{code:x}");
        }
    }

    #[test]
    fn what_is_written_can_be_read_by_number() {
        let fields = vec![(":path", "/x".to_owned()), ("grpc-status", "3".to_owned())];
        let (first, later) = blocks(&fields);
        let mut reader = FieldTable::default();
        assert_eq!(
            read(&mut reader, &first).last(),
            Some(&Field::Grpc(Some(3)))
        );
        assert_eq!(
            read(&mut reader, &later).last(),
            Some(&Field::Grpc(Some(3)))
        );
    }
}
