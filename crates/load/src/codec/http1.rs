//! Replies of HTTP/1.1 servers, in the order of the requests.
//!
//! Bodies have a length; chunked ones are refused, as no endpoint worth measuring sends them.

use super::{Codec, CodecError, InOrder, ReplyOutcome};
use crate::call::Judge;
use crate::random::Draw;
use crate::template::Template;

use super::judge;

pub(crate) struct Http1 {
    template: Template,
    judge: Judge,
    tickets: InOrder,
}

impl Http1 {
    pub(crate) fn new(template: Template, judge: Judge) -> Self {
        Self {
            template,
            judge,
            tickets: InOrder::default(),
        }
    }
}

impl Codec for Http1 {
    fn greet(&mut self, _out: &mut Vec<u8>) {
        self.tickets = InOrder::default();
    }

    fn ask(&mut self, draw: &mut Draw, out: &mut Vec<u8>) -> Option<u32> {
        self.template.write(|| draw.next(), out);
        Some(self.tickets.ask())
    }

    fn read(
        &mut self,
        input: &[u8],
        _out: &mut Vec<u8>,
        answered: &mut dyn FnMut(u32, ReplyOutcome),
    ) -> Result<usize, CodecError> {
        let mut at = 0;
        while let Some((head, body_at)) = head(input.get(at..).unwrap_or_default())? {
            let (from, to) = (at + body_at, at + body_at + head.length);
            let Some(body) = input.get(from..to) else {
                break;
            };
            answered(
                self.tickets.answer()?,
                verdict(self.judge, head.status, body),
            );
            at = to;
        }
        Ok(at)
    }
}

fn verdict(judge: Judge, status: u16, body: &[u8]) -> ReplyOutcome {
    match (status, judge) {
        (200..300, Judge::Json) => judge::json(body),
        (200..300, _) => ReplyOutcome::ALLOWED,
        (429 | 503, Judge::Any) | (429, _) => ReplyOutcome::DENIED,
        _ => {
            let body: String = String::from_utf8_lossy(body)
                .chars()
                .take(BODY_SHOWN)
                .collect();
            ReplyOutcome::refused(format!("status {status} {body}"))
        }
    }
}

struct Head {
    status: u16,
    length: usize,
}

/// Reads a head, if it is complete, and returns where the body starts.
fn head(input: &[u8]) -> Result<Option<(Head, usize)>, CodecError> {
    let Some(end) = memchr::memmem::find(input, b"\r\n\r\n") else {
        if input.len() > HEAD_MAX {
            return Err(CodecError::new("a head that does not end"));
        }
        return Ok(None);
    };
    let lines = input.get(..end).unwrap_or_default();
    let mut lines = lines.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let status = first
        .strip_prefix(b"HTTP/1.")
        .and_then(|rest| rest.get(2..5))
        .and_then(digits)
        .and_then(|status| u16::try_from(status).ok())
        .ok_or_else(|| CodecError::new("no status line"))?;
    let mut length = 0;
    for line in lines {
        if let Some(value) = field(line, b"content-length:") {
            length = digits(value)
                .ok_or_else(|| CodecError::new("a content-length that is no number"))?;
        } else if field(line, b"transfer-encoding:").is_some() {
            return Err(CodecError::new(
                "a chunked reply; only replies with content-length are read",
            ));
        }
    }
    Ok(Some((Head { status, length }, end + 4)))
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

fn digits(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

const HEAD_MAX: usize = 1 << 16;
const BODY_SHOWN: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Distribution;

    #[test]
    fn replies_are_cut_wherever_the_bytes_are() {
        let stream = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\nx: y\r\n\r\n{\"allowed\":true}\
            HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n{\"allowed\":false}\
            HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\n\r\n\
            HTTP/1.1 500 Oops\r\ncontent-length: 2\r\n\r\nno";
        let expected = [
            ReplyOutcome::ALLOWED,
            ReplyOutcome::DENIED,
            ReplyOutcome::DENIED,
            ReplyOutcome::refused("status 500 no"),
        ];
        for split in 0..stream.len() {
            let mut codec = Http1::new(Template::new(Vec::new(), 4), Judge::Json);
            let mut draw = Draw::new((1, Distribution::Uniform), 0, 0, 1);
            for _ in 0..4 {
                codec.ask(&mut draw, &mut Vec::new()).unwrap();
            }
            let mut verdicts = Vec::new();
            let mut answered = |_, outcome| verdicts.push(outcome);
            let used = codec
                .read(&stream[..split], &mut Vec::new(), &mut answered)
                .unwrap();
            codec
                .read(&stream[used..], &mut Vec::new(), &mut answered)
                .unwrap();
            assert_eq!(verdicts, expected, "split at {split}");
        }
    }

    #[test]
    fn what_is_not_understood_breaks_the_connection() {
        let mut codec = Http1::new(Template::new(Vec::new(), 4), Judge::Any);
        for input in [
            &b"+OK\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert!(codec.read(input, &mut Vec::new(), &mut |_, _| {}).is_err());
        }
    }
}
