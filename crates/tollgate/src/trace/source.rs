//! Bytes of a trace, in a window that moves over it.
//!
//! The window always holds text: bytes that are not UTF-8 are replaced, and remembered, so that the record they are in
//! can be refused and the next one read.

use std::io::{ErrorKind, Read};

/// Bytes asked for at once.
pub(super) const CHUNK: usize = 256 * 1024;

pub(super) struct TraceSource {
    input: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    /// End of what is known to be text.
    text_end: usize,
    end: usize,
    at_end: bool,
    /// Places in the buffer that were not UTF-8, ascending.
    bad: Vec<usize>,
    read: u64,
    head: Vec<u8>,
}

/// How many of the first bytes are kept.
pub(super) const HEAD: usize = 4;

pub(super) struct TextWindow<'b> {
    pub(super) text: &'b str,
    /// Whether the trace ends where the text ends.
    pub(super) at_end: bool,
    /// Places in the text that were not UTF-8, ascending.
    pub(super) bad: Bad<'b>,
}

/// Places that were not UTF-8, ascending, as offsets from `base`.
#[derive(Clone, Copy)]
pub(super) struct Bad<'b> {
    places: &'b [usize],
    base: usize,
}

impl Bad<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The first bad place in a part of the text.
    pub(super) fn within(&self, from: usize, to: usize) -> Option<usize> {
        let next = self
            .places
            .partition_point(|place| *place < from + self.base);
        self.places
            .get(next)
            .map(|place| place - self.base)
            .filter(|place| *place < to)
    }
}

impl TraceSource {
    pub(super) fn new(input: Box<dyn Read>) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            text_end: 0,
            end: 0,
            at_end: false,
            bad: Vec::new(),
            read: 0,
            head: Vec::new(),
        }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Whether everything has been read into the window.
    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }

    /// The window as bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.text_end]
    }

    /// The first bytes of the trace, whether they are text or not.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The window as text.
    pub(super) fn window(&self) -> TextWindow<'_> {
        let bytes = self.bytes();
        let text = std::str::from_utf8(bytes).unwrap_or_else(|error| {
            debug_assert!(false, "the window was checked when it was filled: {error}");
            ""
        });
        let first = self.bad.partition_point(|place| *place < self.start);
        let bad = Bad {
            places: &self.bad[first..],
            base: self.start,
        };
        TextWindow {
            text,
            at_end: self.at_end,
            bad,
        }
    }

    /// Moves the window's front forward.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.text_end);
    }

    /// Reads one more chunk behind the window.
    pub(super) fn fill(&mut self) -> std::io::Result<()> {
        if self.at_end {
            return Ok(());
        }
        self.make_room();
        let count = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        self.at_end = count == 0;
        let news = &self.buffer[self.end..self.end + count];
        self.head.extend(news.iter().take(HEAD - self.head.len()));
        self.end += count;
        self.read += count as u64;
        self.check_text();
        Ok(())
    }

    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        let moved = self.start;
        self.bad.retain_mut(|place| {
            let kept = *place >= moved;
            *place = place.saturating_sub(moved);
            kept
        });
        (self.start, self.text_end, self.end) = (0, self.text_end - moved, self.end - moved);
        if self.buffer.len() - self.end < CHUNK {
            let len = (self.end + CHUNK).next_power_of_two();
            self.buffer.resize(len, 0);
        }
    }

    /// Extends the text over the bytes that were just read.
    fn check_text(&mut self) {
        while self.text_end < self.end {
            match std::str::from_utf8(&self.buffer[self.text_end..self.end]) {
                Ok(_) => self.text_end = self.end,
                Err(error) => {
                    self.text_end += error.valid_up_to();
                    let Some(len) = error.error_len().or(self.at_end.then_some(1)) else {
                        return;
                    };
                    self.bad.push(self.text_end);
                    self.buffer[self.text_end..self.text_end + len].fill(b'?');
                    self.text_end += len;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time.
    struct Drip(Vec<u8>, usize);

    impl Read for Drip {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            let Some(byte) = self.0.get(self.1) else {
                return Ok(0);
            };
            room[0] = *byte;
            self.1 += 1;
            Ok(1)
        }
    }

    #[test]
    fn characters_cut_by_a_chunk_are_put_together() {
        let mut source = TraceSource::new(Box::new(Drip("aé😀z".as_bytes().to_vec(), 0)));
        while !source.at_end() {
            source.fill().unwrap();
            assert!("aé😀z".starts_with(source.window().text));
        }
        assert_eq!(source.window().text, "aé😀z");
        assert!(source.window().bad.is_empty());
        assert_eq!(source.bytes_read(), 8);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_remembered() {
        let mut source = TraceSource::new(Box::new(Drip(b"ab\xffc\xf0\x9fd\xc3".to_vec(), 0)));
        while !source.at_end() {
            source.fill().unwrap();
        }
        let window = source.window();
        assert_eq!(window.text, "ab?c??d?");
        assert_eq!(window.bad.within(0, 8), Some(2));
        assert_eq!(window.bad.within(3, 8), Some(4));
        assert_eq!(window.bad.within(0, 2), None);
        source.consume(4);
        assert_eq!(source.window().bad.within(0, 8), Some(0));
        assert_eq!(source.window().bad.within(1, 8), Some(3));
    }
}
