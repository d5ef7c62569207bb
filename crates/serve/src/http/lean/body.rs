//! The rest of a request on HTTP/1: a body of a known length, or in chunks, parsed as strictly as heads.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use tokio::io::AsyncReadExt;

use super::head::{HttpVersion, Length, RequestHead};
use crate::shared::Stream;

/// The rest of a request: bytes already read, and those still to arrive.
pub(super) struct Rest<'b, S> {
    stream: &'b mut S,
    input: &'b mut BytesMut,
    left: Left,
    /// Bytes of trailers so far.
    trailers: usize,
    /// What to send before reading the body: `100 Continue`, or nothing.
    told: &'static [u8],
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// This many bytes, then the end.
    Bytes(u64),
    /// A line with the length of a chunk.
    Size,
    /// This many bytes of a chunk, then the end of its line.
    Chunk(u64),
    /// Lines behind the last chunk, then an empty one.
    Trailers,
    /// The next request.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadBodyError;

impl From<io::Error> for ReadBodyError {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl<'b, S> Rest<'b, S> {
    pub(super) fn new(
        stream: &'b mut S,
        input: &'b mut BytesMut,
        head: &RequestHead<'_, '_>,
    ) -> Self {
        let is_awaited = head.expects && head.version == HttpVersion::Http11 && input.is_empty();
        let left = match head.length_of_body {
            Length::Known(0) => Left::Nothing,
            Length::Known(bytes) => Left::Bytes(bytes),
            Length::Chunked => Left::Size,
        };
        Self {
            stream,
            input,
            left,
            trailers: 0,
            told: if is_awaited { CONTINUE } else { b"" },
        }
    }

    /// Skips what has been read of it. Returns whether that was all, so that another request may follow.
    pub(super) fn skip(&mut self) -> bool {
        while let Ok(Next::Piece(_)) = self.next() {}
        self.is_done()
    }

    fn is_done(&self) -> bool {
        self.left == Left::Nothing
    }

    /// The next piece of the bytes already read: some of the body, nothing yet, or the end.
    fn next(&mut self) -> Result<Next, ReadBodyError> {
        loop {
            match self.left {
                Left::Nothing => return Ok(Next::End),
                Left::Bytes(count) | Left::Chunk(count) if count > 0 => {
                    if self.input.is_empty() {
                        return Ok(Next::More);
                    }
                    let here = usize::try_from(count).unwrap_or(usize::MAX);
                    let piece = self.input.split_to(here.min(self.input.len())).freeze();
                    let count = count - piece.len() as u64;
                    self.left = match self.left {
                        Left::Bytes(_) if count == 0 => Left::Nothing,
                        Left::Bytes(_) => Left::Bytes(count),
                        _ => Left::Chunk(count),
                    };
                    return Ok(Next::Piece(piece));
                }
                Left::Bytes(_) => self.left = Left::Nothing,
                Left::Chunk(_) => match self.input.get(..2) {
                    None => return Ok(Next::More),
                    Some(b"\r\n") => {
                        self.input.advance(2);
                        self.left = Left::Size;
                    }
                    Some(_) => return Err(ReadBodyError),
                },
                Left::Size => {
                    let Some(line) = self.line()? else {
                        return Ok(Next::More);
                    };
                    self.left = match size(&line)? {
                        0 => Left::Trailers,
                        count => Left::Chunk(count),
                    };
                }
                Left::Trailers => {
                    let Some(line) = self.line()? else {
                        return Ok(Next::More);
                    };
                    self.trailers += line.len();
                    if line.is_empty() {
                        self.left = Left::Nothing;
                    } else if self.trailers > TRAILERS_BYTES_MAX || !is_field(&line) {
                        return Err(ReadBodyError);
                    }
                }
            }
        }
    }

    /// A line without its end, once complete.
    fn line(&mut self) -> Result<Option<Bytes>, ReadBodyError> {
        let Some(end) = memchr::memchr(b'\n', self.input) else {
            return if self.input.len() > LINE_BYTES_MAX {
                Err(ReadBodyError)
            } else {
                Ok(None)
            };
        };
        let mut line = self.input.split_to(end + 1).freeze();
        line.truncate(end);
        match line.split_last() {
            Some((b'\r', rest)) if end <= LINE_BYTES_MAX && !rest.contains(&b'\r') => {
                line.truncate(end - 1);
                Ok(Some(line))
            }
            _ => Err(ReadBodyError),
        }
    }
}

enum Next {
    Piece(Bytes),
    More,
    End,
}

/// The length of a chunk; extensions are ignored.
fn size(line: &[u8]) -> Result<u64, ReadBodyError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return Err(ReadBodyError);
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    if !line.iter().all(is_text) {
        return Err(ReadBodyError);
    }
    digits.iter().try_fold(0, |size, digit| {
        let value = char::from(*digit).to_digit(16).ok_or(ReadBodyError)?;
        Ok(size << 4 | u64::from(value))
    })
}

/// Whether a line is a field: a name, a colon, a value.
fn is_field(line: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_graphic() && *byte != b':';
    match memchr::memchr(b':', line) {
        Some(at) if at > 0 => line.get(..at).is_some_and(|name| name.iter().all(is_name)),
        Some(_) | None => false,
    }
}

impl<S: Stream> Body for Rest<'_, S> {
    type Data = Bytes;
    type Error = ReadBodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ReadBodyError>>> {
        let rest = self.get_mut();
        loop {
            match rest.next() {
                Ok(Next::Piece(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                Ok(Next::End) => return Poll::Ready(None),
                Err(broken) => return Poll::Ready(Some(Err(broken))),
                Ok(Next::More) => {}
            }
            while !rest.told.is_empty() {
                let told = Pin::new(&mut *rest.stream).poll_write(context, rest.told);
                let count = ready!(told).unwrap_or(rest.told.len());
                rest.told = rest.told.get(count..).unwrap_or_default();
            }
            // A broken connection shows when it is read.
            let _ = ready!(Pin::new(&mut *rest.stream).poll_flush(context));
            rest.input.reserve(READ_BYTES);
            let read = pin!(rest.stream.read_buf(rest.input));
            if ready!(read.poll(context)).unwrap_or_default() == 0 {
                return Poll::Ready(Some(Err(ReadBodyError)));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_done()
    }

    fn size_hint(&self) -> SizeHint {
        match self.left {
            Left::Bytes(count) => SizeHint::with_exact(count),
            Left::Nothing => SizeHint::with_exact(0),
            Left::Size | Left::Chunk(_) | Left::Trailers => SizeHint::default(),
        }
    }
}

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// The least space for a read.
const READ_BYTES: usize = 8 << 10;
/// Bytes of a line between chunks.
const LINE_BYTES_MAX: usize = 512;
/// Bytes of all lines behind the last chunk.
const TRAILERS_BYTES_MAX: usize = 4 << 10;
/// More digits than any permitted chunk length has.
const DIGITS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    /// The body, and what follows it; `None` if malformed.
    fn read(bytes: &str, length: Length, at: usize) -> Option<(String, String)> {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        let (first, second) = bytes.split_at(at.min(bytes.len()));
        let mut stream = std::io::Cursor::new(second.as_bytes().to_vec());
        let mut input = BytesMut::from(first);
        let head = RequestHead {
            length: 0,
            length_of_body: length,
            expects: false,
            method: "POST",
            target: "/",
            path: "/",
            query: "",
            lines: &[],
            version: HttpVersion::Http11,
            is_kept: true,
        };
        let mut rest = Rest::new(&mut stream, &mut input, &head);
        let body = runtime.block_on(BodyExt::collect(&mut rest)).ok()?;
        assert!(rest.is_done());
        let mut behind = input.to_vec();
        let place = usize::try_from(stream.position()).unwrap();
        behind.extend_from_slice(&stream.into_inner()[place..]);
        let body = body.to_bytes().to_vec();
        Some((
            String::from_utf8(body).unwrap(),
            String::from_utf8(behind).unwrap(),
        ))
    }

    #[test]
    fn bodies_end_where_they_end_however_they_are_split() {
        for (bytes, length, body, behind) in [
            ("abcdeGET", Length::Known(5), "abcde", "GET"),
            ("GET", Length::Known(0), "", "GET"),
            (
                "5\r\nabcde\r\n0\r\n\r\nGET",
                Length::Chunked,
                "abcde",
                "GET",
            ),
            (
                "2\r\nab\r\nA;x=\"y\"\r\n0123456789\r\n000\r\nx: y\r\n\r\nGET",
                Length::Chunked,
                "ab0123456789",
                "GET",
            ),
        ] {
            for at in 0..=bytes.len() {
                let found = read(bytes, length, at);
                assert_eq!(found, Some((body.to_owned(), behind.to_owned())), "{at}");
            }
        }
    }

    #[test]
    fn chunks_that_can_be_read_in_two_ways_are_none() {
        for bytes in [
            "5 \r\nabcde\r\n0\r\n\r\n",
            " 5\r\nabcde\r\n0\r\n\r\n",
            "5\nabcde\r\n0\r\n\r\n",
            "5\r\nabcde\n0\r\n\r\n",
            "5\r\nabcde0\r\n\r\n",
            "5;\nx\r\nabcde\r\n0\r\n\r\n",
            "5;\rx\r\nabcde\r\n0\r\n\r\n",
            "+5\r\nabcde\r\n0\r\n\r\n",
            "0x5\r\nabcde\r\n0\r\n\r\n",
            "-1\r\na\r\n0\r\n\r\n",
            "\r\n",
            ";\r\n",
            "000000005\r\nabcde\r\n0\r\n\r\n",
            "ffffffffffffffff1\r\n",
            "5\r\nabcde\r\n0\r\n x: y\r\n\r\n",
            "5\r\nabcde\r\n0\r\nx\r\n\r\n",
            "5\r\nabcde\r\n0\r\n: y\r\n\r\n",
            "5\r\nabcde\r\n0\r\nx: y\n\r\n",
            "5\r\nabcd",
        ] {
            for at in [0, bytes.len()] {
                assert_eq!(read(bytes, Length::Chunked, at), None, "{bytes:?}");
            }
        }
        let long = format!("5;{}\r\nabcde\r\n0\r\n\r\n", "x".repeat(LINE_BYTES_MAX));
        assert_eq!(read(&long, Length::Chunked, 0), None);
        let trailers = format!("0\r\n{}\r\n", "x: y\r\n".repeat(TRAILERS_BYTES_MAX));
        assert_eq!(read(&trailers, Length::Chunked, 0), None);
    }
}
