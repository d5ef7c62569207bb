//! What a format's parser finds at the front of a text, and the lines that most formats are made of.

use memchr::memchr;

use super::error::ParseFault;

/// The longest record, so that a file without line ends cannot take all memory.
pub const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One step of a parser through a text.
///
/// A step that takes bytes reports how many, and how many line ends are among them.
pub(super) enum Step {
    /// A record; its entries are in the layout.
    Record { time_ms: u64, cost: u64, took: Took },
    /// Something between records.
    Blank(Took),
    /// A record that cannot be read, or text where none belongs.
    Bad { fault: ParseFault, took: Took },
    /// The text stops inside a record; more is needed.
    Short,
    /// The space for unescaped texts is used up; the same text can be read on with more space.
    Full,
}

/// How much of the text a step used.
#[derive(Clone, Copy)]
pub(super) struct Took {
    pub(super) bytes: usize,
    pub(super) lines: u64,
}

impl Took {
    /// All of `text`.
    pub(super) fn all(text: &str) -> Self {
        let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        Self {
            bytes: text.len(),
            lines: lines as u64,
        }
    }
}

/// A line without its ending.
pub(super) struct TraceLine<'b> {
    pub(super) text: &'b str,
    pub(super) took: Took,
}

impl<'b> TraceLine<'b> {
    /// The first line of `text`; `None` when it may go on beyond the text.
    #[inline]
    pub(super) fn first(text: &'b str, at_end: bool) -> Option<Self> {
        let (line, took) = match memchr(b'\n', text.as_bytes()) {
            Some(end) => (
                &text[..end],
                Took {
                    bytes: end + 1,
                    lines: 1,
                },
            ),
            None if at_end => (
                text,
                Took {
                    bytes: text.len(),
                    lines: 0,
                },
            ),
            None => return None,
        };
        Some(Self {
            text: line.strip_suffix('\r').unwrap_or(line),
            took,
        })
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_its_newline_or_with_the_file() {
        let line = TraceLine::first("a b\r\nc", false).unwrap();
        assert_eq!((line.text, line.took.bytes, line.took.lines), ("a b", 5, 1));
        assert!(TraceLine::first("c", false).is_none());
        let last = TraceLine::first("c", true).unwrap();
        assert_eq!((last.text, last.took.bytes, last.took.lines), ("c", 1, 0));
    }
}
