//! Numbers and texts as JSON and HTML want them, appended to bytes without detours.

use std::fmt;

/// Appends formatted text.
pub(crate) fn put(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = fmt::Write::write_fmt(out, text);
}

/// Appends a whole number in decimal digits.
#[inline]
pub(crate) fn push_u64(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    while value >= 100 {
        let pair = usize::try_from(value % 100).unwrap_or(0) * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = usize::try_from(value).unwrap_or(0) * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + u8::try_from(value).unwrap_or(0);
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a whole number of any size.
#[inline]
pub(crate) fn push_u128(value: u128, out: &mut Vec<u8>) {
    match u64::try_from(value) {
        Ok(small) => push_u64(small, out),
        Err(_) => out.extend_from_slice(value.to_string().as_bytes()),
    }
}

/// The digits of 00 to 99.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut at = 0u8;
    while at < 100 {
        pairs[at as usize * 2] = b'0' + at / 10;
        pairs[at as usize * 2 + 1] = b'0' + at % 10;
        at += 1;
    }
    pairs
};

/// Appends a text as a JSON string, quotes included.
pub(crate) fn push_json(text: &dyn fmt::Display, out: &mut Vec<u8>) {
    out.push(b'"');
    // Writing to bytes does not fail; a text that refuses to be written ends where it stopped.
    let _ = fmt::write(&mut Escaped(out), format_args!("{text}"));
    out.push(b'"');
}

struct Escaped<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while let Some(at) = rest
            .iter()
            .position(|byte| *byte < b' ' || *byte == b'"' || *byte == b'\\')
        {
            self.0.extend_from_slice(&rest[..at]);
            push_escape(rest[at], self.0);
            rest = &rest[at + 1..];
        }
        self.0.extend_from_slice(rest);
        Ok(())
    }
}

#[cold]
fn push_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// A text with everything escaped that means something in HTML, inside and outside of attributes.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        let mut value = u64::MAX;
        while value > 0 {
            for near in [value, value - 1, value / 3] {
                let mut out = Vec::new();
                push_u64(near, &mut out);
                assert_eq!(out, near.to_string().as_bytes());
            }
            value /= 3;
        }
        let mut out = Vec::new();
        push_u128(u128::MAX, &mut out);
        assert_eq!(out, u128::MAX.to_string().as_bytes());
    }

    #[test]
    fn any_text_is_a_json_string_that_reads_back() {
        let text: String = (0..0x3000)
            .filter_map(char::from_u32)
            .chain("😀\"\\".chars())
            .collect();
        let mut out = Vec::new();
        push_json(&text, &mut out);
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }

    #[test]
    fn nothing_in_a_text_can_be_taken_for_markup() {
        assert_eq!(
            html("<a b='c' d=\"e\">&"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;"
        );
    }
}
