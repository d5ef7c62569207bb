//! Escapes of JSON strings.

use super::error::Fault;

/// Whether every escape of a string's inside is sound; the fault's place is relative to the string.
pub(super) fn check(raw: &str) -> Result<(), Fault> {
    let bytes = raw.as_bytes();
    if let Some(at) = bytes.iter().position(|byte| *byte < b' ') {
        return Err(Fault::new(at, "a control character inside a string")
            .hint("write it as an escape, for example \\n"));
    }
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        at += next;
        at += match Escape::at(&bytes[at..]) {
            Ok(escape) => escape.len,
            Err(what) => return Err(Fault::new(at, what)),
        };
    }
    Ok(())
}

/// Writes the meaning of a checked string to `room`, which is at least as long, and returns its length.
pub(super) fn write(raw: &str, room: &mut [u8]) -> usize {
    let bytes = raw.as_bytes();
    let (mut at, mut len) = (0, 0);
    while at < bytes.len() {
        let plain = memchr::memchr(b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
        room[len..len + plain].copy_from_slice(&bytes[at..at + plain]);
        at += plain;
        len += plain;
        if let Some(Ok(escape)) = bytes
            .get(at..)
            .filter(|rest| !rest.is_empty())
            .map(Escape::at)
        {
            len += escape.meaning.encode_utf8(&mut room[len..]).len();
            at += escape.len;
        }
    }
    len
}

struct Escape {
    meaning: char,
    len: usize,
}

impl Escape {
    /// The escape that starts at the front of `bytes`, which is a backslash.
    fn at(bytes: &[u8]) -> Result<Self, &'static str> {
        let meaning = match bytes.get(1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return Self::unicode(bytes),
            _ => return Err("a backslash that starts no known escape"),
        };
        Ok(Self { meaning, len: 2 })
    }

    fn unicode(bytes: &[u8]) -> Result<Self, &'static str> {
        const ALONE: &str = "half of a surrogate pair";
        let first = hex(bytes.get(2..6)).ok_or("\\u without four hexadecimal digits")?;
        if !(0xd800..0xe000).contains(&first) {
            let meaning = char::from_u32(first).ok_or(ALONE)?;
            return Ok(Self { meaning, len: 6 });
        }
        let second = bytes
            .get(6..8)
            .filter(|mark| mark == b"\\u")
            .and(hex(bytes.get(8..12)));
        let second = second
            .filter(|second| (0xdc00..0xe000).contains(second))
            .ok_or(ALONE)?;
        if first >= 0xdc00 {
            return Err(ALONE);
        }
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        Ok(Self {
            meaning: char::from_u32(code).ok_or(ALONE)?,
            len: 12,
        })
    }
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |code, byte| {
        Some(code << 4 | char::from(*byte).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(raw: &str) -> Result<String, String> {
        check(raw).map_err(|fault| fault.what.clone())?;
        let mut room = vec![0; raw.len()];
        let len = write(raw, &mut room);
        Ok(std::str::from_utf8(&room[..len]).unwrap().to_owned())
    }

    #[test]
    fn every_escape_means_what_json_says() {
        assert_eq!(
            read(r#"a\"\\\/\b\f\n\r\t"#).unwrap(),
            "a\"\\/\u{8}\u{c}\n\r\t"
        );
        assert_eq!(read(r"\u0041\u00e9\u20ac\ud83d\ude00").unwrap(), "Aé€😀");
        assert_eq!(read(r"é\\\\n").unwrap(), r"é\\n");
    }

    #[test]
    fn broken_escapes_are_refused() {
        for raw in [
            r"\x",
            r"\u12g4",
            r"\u123",
            r"\ud800",
            r"\ud800\n",
            r"\ude00\ud83d",
            "\\",
        ] {
            assert!(read(raw).is_err(), "{raw}");
        }
        assert!(read("a\nb").is_err());
    }

    #[test]
    fn any_character_written_as_escapes_comes_back() {
        for code in (0..0x11_0000).step_by(37).filter_map(char::from_u32) {
            let mut units = [0; 2];
            let units = code.encode_utf16(&mut units).iter();
            let raw: Vec<String> = units.map(|unit| format!("\\u{unit:04x}")).collect();
            assert_eq!(read(&raw.concat()).unwrap(), code.to_string());
        }
    }
}
