//! Replies of RESP servers, in the order of the requests.

use super::{Codec, CodecError, InOrder, ReplyOutcome};
use crate::call::Judge;
use crate::random::Draw;
use crate::template::Template;

pub(crate) struct Resp {
    template: Template,
    judge: Judge,
    greeting: Vec<u8>,
    greeting_replies: usize,
    /// Replies that answer the greeting and not a request.
    skip: usize,
    tickets: InOrder,
}

impl Resp {
    pub(crate) fn new(template: Template, judge: Judge, greeting: (Vec<u8>, usize)) -> Self {
        Self {
            template,
            judge,
            greeting: greeting.0,
            greeting_replies: greeting.1,
            skip: 0,
            tickets: InOrder::default(),
        }
    }
}

impl Codec for Resp {
    fn greet(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.greeting);
        self.skip = self.greeting_replies;
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
        while let Some(reply) = whole(input, at)? {
            if self.skip > 0 {
                self.skip -= 1;
                if let Some(error) = reply.error {
                    return Err(CodecError::new(String::from_utf8_lossy(error)));
                }
            } else {
                answered(self.tickets.answer()?, verdict(self.judge, &reply));
            }
            at = reply.end;
        }
        Ok(at)
    }
}

/// The parts of a reply that matter.
struct Reply<'a> {
    end: usize,
    error: Option<&'a [u8]>,
    /// The first integer, at any depth.
    integer: Option<i64>,
}

fn verdict(judge: Judge, reply: &Reply<'_>) -> ReplyOutcome {
    if let Some(error) = reply.error {
        return ReplyOutcome::refused(String::from_utf8_lossy(error));
    }
    match (judge, reply.integer) {
        (Judge::Zero, Some(integer)) => ReplyOutcome::of(integer == 0),
        (Judge::NotZero, Some(integer)) => ReplyOutcome::of(integer != 0),
        (Judge::Any, _) => ReplyOutcome::ALLOWED,
        _ => ReplyOutcome::no_verdict(),
    }
}

/// Finds the end of the reply that starts at `start`; `None` if it is incomplete.
fn whole(input: &[u8], start: usize) -> Result<Option<Reply<'_>>, CodecError> {
    let mut reply = Reply {
        end: start,
        error: None,
        integer: None,
    };
    let mut values_left = 1_u64;
    while values_left > 0 {
        values_left -= 1;
        let Some(line) = line(input, reply.end)? else {
            return Ok(None);
        };
        reply.end += line.len() + 2;
        let (kind, rest) = line
            .split_first()
            .ok_or_else(|| CodecError::new("an empty line"))?;
        match kind {
            b'+' | b'_' | b'#' | b',' | b'(' => {}
            b'-' => reply.error = reply.error.or(Some(rest)),
            b':' => reply.integer = reply.integer.or(Some(number(rest)?)),
            b'$' | b'=' | b'!' => {
                let length = number(rest)?;
                if length >= 0 {
                    let length = usize::try_from(length)
                        .map_err(|_| CodecError::new("a length too large"))?;
                    reply.end = reply.end.saturating_add(length + 2);
                }
            }
            b'*' | b'~' | b'>' => values_left += u64::try_from(number(rest)?).unwrap_or(0),
            b'%' => values_left += 2 * u64::try_from(number(rest)?).unwrap_or(0),
            _ => {
                return Err(CodecError::new(format!(
                    "a reply starts with {:?}",
                    char::from(*kind)
                )));
            }
        }
        if values_left > VALUES_MAX {
            return Err(CodecError::new("a reply with too many values"));
        }
    }
    Ok((reply.end <= input.len()).then_some(reply))
}

fn line(input: &[u8], start: usize) -> Result<Option<&[u8]>, CodecError> {
    let Some(rest) = input.get(start..) else {
        return Ok(None);
    };
    match memchr::memchr(b'\n', rest) {
        None if rest.len() > LINE_MAX => Err(CodecError::new("a line that does not end")),
        None => Ok(None),
        Some(end) => {
            let line = rest.get(..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r");
            line.map(Some)
                .ok_or_else(|| CodecError::new("a line that ends without CR"))
        }
    }
}

fn number(digits: &[u8]) -> Result<i64, CodecError> {
    let (sign, digits) = match digits.split_first() {
        Some((b'-', rest)) => (-1, rest),
        _ => (1, digits),
    };
    let broken = || CodecError::new("a number that is none");
    if digits.is_empty() {
        return Err(broken());
    }
    let mut number = 0_i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return Err(broken());
        }
        number = number.saturating_mul(10).saturating_add(i64::from(digit));
    }
    Ok(number * sign)
}

const VALUES_MAX: u64 = 1 << 16;
const LINE_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Distribution;

    fn codec(judge: Judge, greeting: (Vec<u8>, usize)) -> Resp {
        Resp::new(Template::new(b"x".to_vec(), 4), judge, greeting)
    }

    fn ask(codec: &mut Resp, count: usize) {
        let mut draw = Draw::new((1, Distribution::Uniform), 0, 0, 1);
        for _ in 0..count {
            assert!(codec.ask(&mut draw, &mut Vec::new()).is_some());
        }
    }

    fn read(codec: &mut Resp, input: &[u8]) -> (usize, Vec<(u32, ReplyOutcome)>) {
        let mut outcomes = Vec::new();
        let mut answered = |ticket, outcome| outcomes.push((ticket, outcome));
        let used = codec.read(input, &mut Vec::new(), &mut answered).unwrap();
        (used, outcomes)
    }

    #[test]
    fn replies_are_cut_wherever_the_bytes_are() {
        let stream = b"*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n*5\r\n:1\r\n:16\r\n:0\r\n:4\r\n:9\r\n-ERR no\r\n$-1\r\n";
        for split in 0..stream.len() {
            let mut codec = codec(Judge::Zero, (Vec::new(), 0));
            ask(&mut codec, 4);
            let (used, mut outcomes) = read(&mut codec, &stream[..split]);
            outcomes.extend(read(&mut codec, &stream[used..]).1);
            let verdicts: Vec<_> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
            assert_eq!(
                verdicts,
                [
                    ReplyOutcome::ALLOWED,
                    ReplyOutcome::DENIED,
                    ReplyOutcome::refused("ERR no"),
                    ReplyOutcome::no_verdict()
                ],
                "split at {split}"
            );
        }
    }

    #[test]
    fn a_map_is_judged_by_its_first_integer() {
        let mut codec = codec(Judge::NotZero, (Vec::new(), 0));
        ask(&mut codec, 1);
        let input = b"*4\r\n$7\r\nallowed\r\n:1\r\n$6\r\npolicy\r\n$-1\r\n";
        assert_eq!(
            read(&mut codec, input),
            (input.len(), vec![(0, ReplyOutcome::ALLOWED)])
        );
    }

    #[test]
    fn the_greeting_has_replies_of_its_own() {
        let mut codec = codec(Judge::Any, (b"AUTH".to_vec(), 1));
        let mut out = Vec::new();
        codec.greet(&mut out);
        assert_eq!(out, b"AUTH");
        ask(&mut codec, 1);
        assert_eq!(
            read(&mut codec, b"+OK\r\n+PONG\r\n").1,
            [(0, ReplyOutcome::ALLOWED)]
        );
    }

    #[test]
    fn garbage_is_not_read_further() {
        let mut codec = codec(Judge::Any, (Vec::new(), 0));
        let mut ignore = |_, _| {};
        for garbage in [
            &b"HTTP/1.1 400\r\n"[..],
            b":x\r\n",
            b"*99999999\r\n",
            b"+OK\r\n",
            b"+a\n",
        ] {
            assert!(
                codec.read(garbage, &mut Vec::new(), &mut ignore).is_err(),
                "{garbage:?}"
            );
        }
    }
}
