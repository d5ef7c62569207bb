//! Bytes of the protocol: short texts, and times in six bytes. Not here: other numbers, and what the bytes mean.

use tollgate_kit::Reader;

pub(crate) fn text<'a>(reader: &mut Reader<'a>, max: usize) -> Option<&'a str> {
    let length = usize::from(reader.u8()?);
    let bytes = reader.take(length).filter(|_| length <= max)?;
    std::str::from_utf8(bytes).ok()
}

pub(crate) fn put_u48(into: &mut Vec<u8>, value: u64) {
    into.extend(value.to_le_bytes().iter().take(6));
}

/// The text must already be cut to less than 256 bytes.
pub(crate) fn put_text(into: &mut Vec<u8>, text: &str) {
    into.push(text.len().to_le_bytes()[0]);
    into.extend_from_slice(text.as_bytes());
}

/// The longest prefix of a text that has at most `max` bytes and ends on a character boundary.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
    }
}
