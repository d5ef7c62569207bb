//! What streams between nodes carry, once TLS was agreed: a greeting each way, then messages, requests and answers.
//!
//! Every frame is `length 4 | type 1 | rest`, numbers big-endian. Not here: what messages and bodies mean.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// A frame that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Who is at the other end; the first of a stream, each way.
    Hello(PeerHello),
    /// For the machine of the cluster.
    Message(Bytes),
    /// A question to be answered.
    Request {
        /// Told again in the answer.
        number: u64,
        kind: u8,
        body: Bytes,
    },
    /// The answer to a question.
    Answer {
        number: u64,
        outcome: ResponseStatus,
        body: Bytes,
    },
    /// Of a later version.
    Unknown,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerHello {
    pub(super) id: u128,
    pub(super) boot: u64,
}

/// Whether a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseStatus {
    Done,
    /// There is nobody who answers such questions, or the asker is no member.
    Refused,
    /// Too many are being answered.
    Busy,
}

/// The bytes of a greeting.
pub(super) fn hello(hello: PeerHello) -> Vec<u8> {
    let mut out = begin(HELLO, 25);
    out.push(VERSION);
    out.extend(hello.id.to_be_bytes());
    out.extend(hello.boot.to_be_bytes());
    out
}

/// The bytes of a message; `None` where it is too long for a frame.
pub(super) fn message(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = checked(MESSAGE, bytes.len())?;
    out.extend(bytes);
    Some(out)
}

/// The bytes of a question; `None` where it is too long for a frame.
pub(super) fn request(number: u64, kind: u8, body: &[u8]) -> Option<Vec<u8>> {
    let mut out = checked(REQUEST, 9 + body.len())?;
    out.extend(number.to_be_bytes());
    out.push(kind);
    out.extend(body);
    Some(out)
}

/// The bytes of an answer; one too long for a frame becomes a refusal.
pub(super) fn answer(number: u64, outcome: ResponseStatus, body: &[u8]) -> Vec<u8> {
    let Some(mut out) = checked(ANSWER, 9 + body.len()) else {
        return answer(number, ResponseStatus::Refused, &[]);
    };
    out.extend(number.to_be_bytes());
    out.push(match outcome {
        ResponseStatus::Done => 0,
        ResponseStatus::Refused => 1,
        ResponseStatus::Busy => 2,
    });
    out.extend(body);
    out
}

fn checked(kind: u8, rest: usize) -> Option<Vec<u8>> {
    (rest < FRAME_BYTES_MAX).then(|| begin(kind, rest))
}

#[expect(clippy::cast_possible_truncation, reason = "frames are far shorter")]
fn begin(kind: u8, rest: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(5 + rest);
    out.extend((rest as u32 + 1).to_be_bytes());
    out.push(kind);
    out
}

/// Reads frames, several at a time where they come together.
pub(super) struct FrameReader<R> {
    stream: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            buffer: BytesMut::with_capacity(READ_BYTES),
        }
    }

    /// The next frame; `None` where the stream ends between two. Nothing is lost where this is not awaited to its end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.whole()? {
                return Ok(Some(frame));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                let is_between = self.buffer.is_empty();
                return if is_between {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        }
    }

    /// The frame at the front of the buffer, where all of it is there.
    fn whole(&mut self) -> io::Result<Option<Frame>> {
        let Some(length) = self.buffer.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if !(1..=FRAME_BYTES_MAX).contains(&length) {
            return Err(broken("a frame of a length that none has"));
        }
        if self.buffer.len() < 4 + length {
            // Memory is taken as bytes come, not as they are announced.
            self.buffer.reserve(READ_BYTES);
            return Ok(None);
        }
        self.buffer.advance(4);
        parse(self.buffer.split_to(length).freeze()).map(Some)
    }
}

fn parse(mut bytes: Bytes) -> io::Result<Frame> {
    let short = || broken("a frame that is too short");
    let kind = bytes.try_get_u8().map_err(|_| short())?;
    Ok(match kind {
        HELLO => {
            let version = bytes.try_get_u8().map_err(|_| short())?;
            if !(OLDEST_VERSION..=VERSION).contains(&version) {
                return Err(broken("a greeting of an unknown version"));
            }
            Frame::Hello(PeerHello {
                id: bytes.try_get_u128().map_err(|_| short())?,
                boot: bytes.try_get_u64().map_err(|_| short())?,
            })
        }
        MESSAGE => Frame::Message(bytes),
        REQUEST => Frame::Request {
            number: bytes.try_get_u64().map_err(|_| short())?,
            kind: bytes.try_get_u8().map_err(|_| short())?,
            body: bytes,
        },
        ANSWER => Frame::Answer {
            number: bytes.try_get_u64().map_err(|_| short())?,
            outcome: match bytes.try_get_u8().map_err(|_| short())? {
                0 => ResponseStatus::Done,
                2 => ResponseStatus::Busy,
                _ => ResponseStatus::Refused,
            },
            body: bytes,
        },
        _ => Frame::Unknown,
    })
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

const VERSION: u8 = 1;
/// The oldest version of a greeting that is understood: always the one before, where there was one.
const OLDEST_VERSION: u8 = 1;
const HELLO: u8 = 0;
const MESSAGE: u8 = 1;
const REQUEST: u8 = 2;
const ANSWER: u8 = 3;
/// The longest frame, its type included.
pub(super) const FRAME_BYTES_MAX: usize = tollgate_cluster::MESSAGE_BYTES_MAX + 16;
const READ_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const ME: PeerHello = PeerHello { id: 7, boot: 9 };

    async fn read_all(bytes: &[u8]) -> io::Result<Vec<Frame>> {
        let mut reader = FrameReader::new(bytes);
        let mut frames = Vec::new();
        while let Some(frame) = reader.next().await? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[tokio::test]
    async fn reads_what_was_written() {
        let long = vec![5; 100_000];
        let bytes = [
            hello(ME),
            message(b"to all").unwrap(),
            request(3, 4, &long).unwrap(),
            answer(3, ResponseStatus::Done, b"yes"),
            answer(4, ResponseStatus::Busy, b""),
            vec![0, 0, 0, 2, 99, 1],
        ];
        let expected = vec![
            Frame::Hello(ME),
            Frame::Message(Bytes::from_static(b"to all")),
            Frame::Request {
                number: 3,
                kind: 4,
                body: long.into(),
            },
            Frame::Answer {
                number: 3,
                outcome: ResponseStatus::Done,
                body: Bytes::from_static(b"yes"),
            },
            Frame::Answer {
                number: 4,
                outcome: ResponseStatus::Busy,
                body: Bytes::new(),
            },
            Frame::Unknown,
        ];
        assert_eq!(read_all(&bytes.concat()).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn refuses_what_is_no_frame() {
        for bytes in [
            &[0, 0, 0, 0][..],
            &[255, 255, 255, 255, 1],
            &[0, 0, 0, 2, 0, 9],
            &[0, 0, 0, 3, 2, 0, 0],
            &[0, 0, 0],
            &[0, 0, 0, 9, 1],
        ] {
            assert!(read_all(bytes).await.is_err(), "{bytes:?}");
        }
        assert!(message(&vec![0; FRAME_BYTES_MAX]).is_none());
    }
}
