//! The reply writer: appends to a buffer of the caller's, so that a pipeline is one write.

use std::fmt::Display;
use std::io::Write;

/// The version of RESP; `HELLO` changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// The initial version of every connection.
    #[default]
    Resp2,
    /// With its own null, maps and push messages.
    Resp3,
}

impl Version {
    /// The number in `HELLO`.
    pub const fn number(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Appends replies to a buffer.
///
/// An aggregate is its header and then its items: after `array(2)` come two replies, after `map(2)` four. This is not
/// checked.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    version: Version,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut Vec<u8>, version: Version) -> Self {
        Self { out, version }
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// A status, such as `OK`. Line ends in it become spaces.
    pub fn simple(&mut self, text: &str) {
        let start = self.out.len();
        self.out.push(b'+');
        self.out.extend_from_slice(text.as_bytes());
        self.close(start);
    }

    /// An error, whose first word is its code. Line ends in it become spaces.
    pub fn error(&mut self, error: &impl Display) {
        let start = self.out.len();
        // Writing to a vector cannot fail; a `Display` that does leaves a shorter text.
        let _ = write!(self.out, "-{error}");
        self.close(start);
    }

    pub fn integer(&mut self, value: i64) {
        self.header(b':', value);
    }

    pub fn bulk(&mut self, bytes: &[u8]) {
        self.header(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.end();
    }

    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Resp2 => b"$-1\r\n",
            Version::Resp3 => b"_\r\n",
        });
    }

    /// The header of a list of `items` replies.
    pub fn array(&mut self, items: usize) {
        self.header(b'*', items);
    }

    /// The header of `pairs` of replies; in RESP2 a list of twice as many.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Resp2 => self.header(b'*', pairs * 2),
            Version::Resp3 => self.header(b'%', pairs),
        }
    }

    /// The header of an unsolicited message of `items` replies; in RESP2 a list.
    pub fn push(&mut self, items: usize) {
        match self.version {
            Version::Resp2 => self.header(b'*', items),
            Version::Resp3 => self.header(b'>', items),
        }
    }

    /// Ends a line that began at `start`, and replaces the line ends in it.
    fn close(&mut self, start: usize) {
        for byte in &mut self.out[start..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.end();
    }

    /// Writes a type byte, a number and a line end, all at once.
    #[inline]
    fn header(&mut self, kind: u8, value: impl TryInto<i64>) {
        // No slice is longer than the largest `i64`.
        let value = value.try_into().unwrap_or(i64::MAX);
        if let Ok(digit @ 0..=9) = u8::try_from(value) {
            let line = [kind, b'0' + digit, b'\r', b'\n'];
            self.out.extend_from_slice(&line);
            return;
        }
        let mut line = [0_u8; LINE_BYTES_MAX];
        let mut from = line.len() - 2;
        line[from..].copy_from_slice(b"\r\n");
        let mut left = value.unsigned_abs();
        while left > 0 {
            from -= 1;
            #[allow(clippy::cast_possible_truncation)] // Less than ten.
            let digit = (left % 10) as u8;
            line[from] = b'0' + digit;
            left /= 10;
        }
        if value < 0 {
            from -= 1;
            line[from] = b'-';
        }
        from -= 1;
        line[from] = kind;
        self.out.extend_from_slice(&line[from..]);
    }

    fn end(&mut self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

/// A type byte, a sign, the digits of the largest magnitude an `i64` has, and a line end.
const LINE_BYTES_MAX: usize = 1 + 1 + 19 + 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn written(version: Version, write: impl Fn(&mut Writer<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Writer::new(&mut out, version));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_exact() {
        for value in [0, 7, -7, 10, i64::MAX, i64::MIN] {
            let text = written(Version::Resp2, |writer| writer.integer(value));
            assert_eq!(text, format!(":{value}\r\n"));
        }
    }

    #[test]
    fn a_line_cannot_be_broken_from_inside() {
        let text = written(Version::Resp2, |writer| writer.error(&"ERR a\r\n+OK"));
        assert_eq!(text, "-ERR a  +OK\r\n");
        let text = written(Version::Resp3, |writer| writer.simple("a\nb"));
        assert_eq!(text, "+a b\r\n");
    }

    #[test]
    fn the_versions_differ_in_null_map_and_push() {
        type Write = fn(&mut Writer<'_>);
        let table: [(Write, &str, &str); 5] = [
            (|writer| writer.null(), "$-1\r\n", "_\r\n"),
            (|writer| writer.map(2), "*4\r\n", "%2\r\n"),
            (|writer| writer.push(2), "*2\r\n", ">2\r\n"),
            (|writer| writer.array(2), "*2\r\n", "*2\r\n"),
            (
                |writer| writer.bulk(b"a\r\n"),
                "$3\r\na\r\n\r\n",
                "$3\r\na\r\n\r\n",
            ),
        ];
        for (write, second, third) in table {
            assert_eq!(written(Version::Resp2, write), second);
            assert_eq!(written(Version::Resp3, write), third);
        }
    }
}
