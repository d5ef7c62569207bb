//! Inline commands: one line typed by a person, with quotes as `redis-cli` and `telnet` users know them.

use std::ops::Range;

use super::parse::ProtocolError;

/// Splits a line at spaces, and appends the unescaped arguments to `bytes`.
///
/// In double quotes `\n`, `\r`, `\t`, `\b`, `\a` and `\xHH` have their usual meaning and any other escaped byte is
/// itself; in single quotes only `\'` is an escape. A closing quote must be followed by a space or the end.
pub(super) fn split(
    line: &[u8],
    arguments_max: usize,
    bytes: &mut Vec<u8>,
    arguments: &mut Vec<Range<usize>>,
) -> Result<(), ProtocolError> {
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        if arguments.len() == arguments_max {
            return Err(ProtocolError::InlineLength);
        }
        let start = bytes.len();
        rest = argument(rest, bytes)?.trim_ascii_start();
        arguments.push(start..bytes.len());
    }
    Ok(())
}

/// Whether a line that begins with this word comes from an HTTP client.
pub(super) fn is_http(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:")
}

/// Takes one argument off the front of a line, which does not begin with a space.
fn argument<'a>(line: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    let mut rest = line;
    loop {
        rest = match rest {
            [] => return Ok(rest),
            [space, ..] if space.is_ascii_whitespace() => return Ok(rest),
            [b'"', inside @ ..] => return after_quote(double_quoted(inside, bytes)),
            [b'\'', inside @ ..] => return after_quote(single_quoted(inside, bytes)),
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
        }
    }
}

/// Checks that a closing quote is followed by a space; `None` is a quote that never closed.
fn after_quote(rest: Option<&[u8]>) -> Result<&[u8], ProtocolError> {
    rest.filter(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        .ok_or(ProtocolError::UnbalancedQuotes)
}

fn double_quoted<'a>(inside: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = inside;
    loop {
        let (byte, after) = match rest {
            [] => return None,
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'x', high, low, after @ ..] if hex(*high).is_some() && hex(*low).is_some() => {
                (hex(*high)? << 4 | hex(*low)?, after)
            }
            [b'\\', escaped, after @ ..] => (unescaped(*escaped), after),
            [byte, after @ ..] => (*byte, after),
        };
        bytes.push(byte);
        rest = after;
    }
}

fn single_quoted<'a>(inside: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = inside;
    loop {
        let (byte, after) = match rest {
            [] => return None,
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'\'', after @ ..] => (b'\'', after),
            [byte, after @ ..] => (*byte, after),
        };
        bytes.push(byte);
        rest = after;
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, ProtocolError> {
        let (mut bytes, mut arguments) = (Vec::new(), Vec::new());
        split(line, 4, &mut bytes, &mut arguments)?;
        Ok(arguments
            .into_iter()
            .map(|range| bytes[range].to_vec())
            .collect())
    }

    #[test]
    fn understands_quotes_and_escapes() {
        let line = br#"  set "a \"b\"\n\x41\xZZ"  'it\'s \n' "" "#;
        let expected: [&[u8]; 4] = [b"set", b"a \"b\"\nAxZZ", b"it's \\n", b""];
        assert_eq!(words(line).unwrap(), expected);
    }

    #[test]
    fn refuses_quotes_that_do_not_close() {
        for line in [&b"a \"b"[..], b"a 'b", b"a \"b\"c", b"a 'b'c", b"\"\\"] {
            assert_eq!(words(line), Err(ProtocolError::UnbalancedQuotes));
        }
    }

    #[test]
    fn refuses_one_argument_too_many() {
        assert_eq!(words(b"a b c d").unwrap().len(), 4);
        assert_eq!(words(b"a b c d e"), Err(ProtocolError::InlineLength));
    }
}
