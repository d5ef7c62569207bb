//! RESP as a client speaks it: commands out, replies in.
//!
//! Not here: what they mean.

use std::io::{self, Read};

use tollgate_node::Key;

/// A key as commands say it: how many words, and their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandWords {
    count: usize,
    bytes: Vec<u8>,
}

/// The words of a key.
pub(super) fn words(key: Key<'_>) -> CommandWords {
    let mut words = CommandWords::default();
    match key {
        Key::Word(word) => words.put(word.to_string().as_bytes()),
        Key::Text(text) => words.put(text),
        Key::Entries(entries) => {
            for (name, value) in entries {
                words.put(name.as_bytes());
                words.put(value.as_bytes());
            }
        }
    }
    words
}

impl CommandWords {
    pub(super) fn put(&mut self, word: &[u8]) {
        self.count += 1;
        self.bytes.extend(format!("${}\r\n", word.len()).as_bytes());
        self.bytes.extend_from_slice(word);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A command of these words, and those of a key behind them.
    pub(super) fn write(&self, key: &Self, out: &mut Vec<u8>) {
        out.extend(format!("*{}\r\n", self.count + key.count).as_bytes());
        out.extend_from_slice(&self.bytes);
        out.extend_from_slice(&key.bytes);
    }
}

/// A command of these words.
pub(super) fn command<'w>(all: impl IntoIterator<Item = &'w [u8]>) -> CommandWords {
    let mut words = CommandWords::default();
    all.into_iter().for_each(|word| words.put(word));
    words
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RespValue {
    Nothing,
    Text(Vec<u8>),
    Error(String),
    Number(i64),
    List(Vec<RespValue>),
    /// It answers no command.
    Push(Vec<RespValue>),
}

impl RespValue {
    /// What a map, or a list of names and values, has under a name.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        let Self::List(items) = self else {
            return None;
        };
        let mut pairs = items.chunks_exact(2);
        let pair =
            pairs.find(|pair| matches!(&pair[0], Self::Text(is) if is == name.as_bytes()))?;
        pair.get(1)
    }

    pub(super) const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Reads replies from a stream.
pub(super) struct Replies<R> {
    from: io::BufReader<R>,
}

impl<R: Read> Replies<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from: io::BufReader::new(from),
        }
    }

    /// The next reply.
    pub(super) fn next(&mut self) -> io::Result<RespValue> {
        self.value(DEPTH_MAX)
    }

    fn value(&mut self, depth: usize) -> io::Result<RespValue> {
        let line = self.line()?;
        let (kind, rest) = line.split_first().ok_or_else(senseless)?;
        Ok(match kind {
            b'+' | b',' | b'(' => RespValue::Text(rest.to_vec()),
            b'-' => RespValue::Error(String::from_utf8_lossy(rest).into_owned()),
            b':' => RespValue::Number(number(rest)?),
            b'_' => RespValue::Nothing,
            b'#' => RespValue::Number(i64::from(rest == b"t")),
            b'$' | b'=' => match usize::try_from(number(rest)?) {
                Ok(length) => RespValue::Text(self.text(length)?),
                Err(_) => RespValue::Nothing,
            },
            b'*' | b'~' | b'>' | b'%' => {
                let Ok(count) = usize::try_from(number(rest)?) else {
                    return Ok(RespValue::Nothing);
                };
                let count = if *kind == b'%' {
                    count.saturating_mul(2)
                } else {
                    count
                };
                if depth == 0 || count > ITEMS_MAX {
                    return Err(senseless());
                }
                let items = (0..count).map(|_| self.value(depth - 1));
                let items = items.collect::<io::Result<_>>()?;
                if *kind == b'>' {
                    RespValue::Push(items)
                } else {
                    RespValue::List(items)
                }
            }
            _ => return Err(senseless()),
        })
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            self.from.read_exact(&mut byte)?;
            match byte {
                [b'\n'] => break,
                [b'\r'] => {}
                [byte] if line.len() < LINE_BYTES_MAX => line.push(byte),
                _ => return Err(senseless()),
            }
        }
        Ok(line)
    }

    fn text(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > TEXT_BYTES_MAX {
            return Err(senseless());
        }
        let mut text = vec![0; length + 2];
        self.from.read_exact(&mut text)?;
        text.truncate(length);
        Ok(text)
    }
}

fn number(digits: &[u8]) -> io::Result<i64> {
    let digits = std::str::from_utf8(digits).ok();
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(senseless)
}

fn senseless() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a reply makes no sense")
}

/// Lists within lists.
const DEPTH_MAX: usize = 4;
const ITEMS_MAX: usize = 256;
const LINE_BYTES_MAX: usize = 4096;
const TEXT_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_they_were_written() {
        let bytes = b"+OK\r\n:7\r\n$2\r\nhi\r\n_\r\n%1\r\n$7\r\nallowed\r\n:1\r\n>2\r\n$1\r\na\r\n:3\r\n-ERR no\r\n";
        let mut replies = Replies::new(&bytes[..]);
        let text = |text: &str| RespValue::Text(text.into());
        let all: Vec<RespValue> = (0..7).map(|_| replies.next().unwrap()).collect();
        assert_eq!(
            all[..4],
            [
                text("OK"),
                RespValue::Number(7),
                text("hi"),
                RespValue::Nothing
            ]
        );
        assert_eq!(all[4].field("allowed").and_then(RespValue::number), Some(1));
        assert_eq!(
            all[5],
            RespValue::Push(vec![text("a"), RespValue::Number(3)])
        );
        assert_eq!(all[6], RespValue::Error("ERR no".into()));
        assert!(replies.next().is_err());
    }

    #[test]
    fn whatever_comes_is_an_error_at_worst() {
        for bytes in [
            &b"*99999999999\r\n"[..],
            b"$70000\r\n",
            b"?\r\n",
            b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
            b":seven\r\n",
            b"\r\n",
        ] {
            assert!(Replies::new(bytes).next().is_err());
        }
    }

    #[test]
    fn a_command_has_all_its_words() {
        let mut out = Vec::new();
        let head = command([&b"PING"[..]]);
        head.write(&words(Key::Entries(&[("user", "ada")])), &mut out);
        assert_eq!(out, b"*3\r\n$4\r\nPING\r\n$4\r\nuser\r\n$3\r\nada\r\n");
    }
}
