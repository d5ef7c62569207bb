//! Base64 for addresses (RFC 4648, section 5), without padding.
//!
//! One text for any bytes: spare bits of the last letter must be zero, so that no two texts are one receipt.

/// The bytes as text.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| chunk.get(place).copied().map_or(0, u32::from);
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..=chunk.len() {
            let six = word >> (18 - 6 * letter) & 0x3F;
            text.push(char::from(LETTERS[six as usize & 0x3F]));
        }
    }
    text
}

/// The bytes of a text, at most that many; `None` where it is none that [`encode`] writes.
pub fn decode(text: &str, bytes_max: usize) -> Option<Vec<u8>> {
    let letters = text.as_bytes();
    if letters.len() / 4 * 3 > bytes_max || letters.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    for chunk in letters.chunks(4) {
        let mut word = 0;
        for letter in chunk {
            word = word << 6 | u32::from(value(*letter)?);
        }
        word <<= 6 * (4 - chunk.len());
        let [_, first, second, third] = word.to_be_bytes();
        match chunk.len() {
            2 if second == 0 && third == 0 => bytes.push(first),
            3 if third == 0 => bytes.extend([first, second]),
            4 => bytes.extend([first, second, third]),
            _ => return None,
        }
    }
    Some(bytes)
}

/// The bytes as text in the alphabet of section 4, with padding.
pub fn encode_padded(bytes: &[u8]) -> String {
    let mut text = encode(bytes).replace('-', "+").replace('_', "/");
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// The bytes of a text in either alphabet, padded or not, as other programs write it; at most that many.
pub fn decode_any(text: &str, bytes_max: usize) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    decode(&text.replace('+', "-").replace('/', "_"), bytes_max)
}

const fn value(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn agrees_with_the_examples_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        assert_eq!(encode(&[0xFB, 0xFF]), "-_8");
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(encode_padded(bytes.as_bytes()), text);
        }
        assert_eq!(encode_padded(&[0xFB, 0xFF]), "+/8=");
        assert_eq!(decode_any("/+8A", 3), Some(vec![0xFF, 0xEF, 0x00]));
        assert_eq!(decode_any("Zm8=", 2), Some(b"fo".to_vec()));
    }

    proptest! {
        #[test]
        fn reads_what_it_wrote_and_nothing_else(bytes in prop::collection::vec(any::<u8>(), 0..50), text in "[A-Za-z0-9_=+-]{0,9}") {
            prop_assert_eq!(decode(&encode(&bytes), 50), Some(bytes.clone()));
            prop_assert_eq!(decode_any(&encode_padded(&bytes), 50), Some(bytes));
            if let Some(bytes) = decode(&text, 50) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
