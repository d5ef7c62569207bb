//! gRPC calls over HTTP/2, as fast as a client can be.
//!
//! One call is one HEADERS and its DATA; of replies only frames, messages and the status are read. Deliberately absent:
//! priorities, push, our own padding, CONTINUATION frames.

use super::fields::{Field, FieldTable, blocks};
use super::{Codec, CodecError, ReplyOutcome, judge};
use crate::call::Judge;
use crate::random::Draw;
use crate::template::Template;

pub(crate) struct Http2 {
    template: Template,
    judge: Judge,
    first: Vec<u8>,
    later: Vec<u8>,
    state: State,
}

struct State {
    reader: FieldTable,
    open: Vec<Stream>,
    next_id: u32,
    /// Whether the server has sent its settings.
    settled: bool,
    streams_max: usize,
    /// Bytes that may still be sent on the connection.
    window: i64,
    /// Bytes of DATA received since our last window update.
    taken: u32,
}

#[derive(Default)]
struct Stream {
    id: u32,
    /// The start of an incomplete message.
    partial: Vec<u8>,
    outcome: Option<ReplyOutcome>,
    http: Option<u16>,
    grpc: Option<u16>,
}

impl State {
    fn new() -> Self {
        Self {
            reader: FieldTable::default(),
            open: Vec::new(),
            next_id: 1,
            settled: false,
            streams_max: usize::MAX,
            window: i64::from(WINDOW_DEFAULT),
            taken: 0,
        }
    }
}

impl Http2 {
    pub(crate) fn new(template: Template, judge: Judge, fields: &[(&'static str, String)]) -> Self {
        let (first, later) = blocks(fields);
        Self {
            template,
            judge,
            first,
            later,
            state: State::new(),
        }
    }
}

impl Codec for Http2 {
    fn greet(&mut self, out: &mut Vec<u8>) {
        self.state = State::new();
        out.extend_from_slice(PREFACE);
        // No push, and a large window.
        let settings = [&[0, 2, 0, 0, 0, 0][..], &[0, 4], &ROOM_STREAM.to_be_bytes()].concat();
        frame(kind::SETTINGS, 0, 0, &settings, out);
        frame(
            kind::WINDOW_UPDATE,
            0,
            0,
            &ROOM_CONNECTION.to_be_bytes(),
            out,
        );
    }

    fn ask(&mut self, draw: &mut Draw, out: &mut Vec<u8>) -> Option<u32> {
        let state = &mut self.state;
        let body = i64::try_from(self.template.len()).ok()?;
        if !state.settled || state.open.len() >= state.streams_max || state.window < body {
            return None;
        }
        let id = state.next_id;
        if id > ID_MAX {
            return None;
        }
        let block = if id == 1 { &self.first } else { &self.later };
        frame(kind::HEADERS, flag::END_HEADERS, id, block, out);
        let start = out.len();
        self.template.write(|| draw.next(), out);
        framed(out, start, id);
        state.window -= body;
        state.next_id += 2;
        state.open.push(Stream {
            id,
            ..Stream::default()
        });
        Some(id)
    }

    fn read(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        answered: &mut dyn FnMut(u32, ReplyOutcome),
    ) -> Result<usize, CodecError> {
        let mut at = 0;
        while let Some((head, payload)) = next_frame(input.get(at..).unwrap_or_default())? {
            at += HEAD_LEN + payload.len();
            let ended = self.state.handle(&head, payload, self.judge, out)?;
            if let Some(stream) = ended {
                answered(stream.id, stream.verdict());
            }
        }
        if self.state.taken > ROOM_CONNECTION / 2 {
            frame(
                kind::WINDOW_UPDATE,
                0,
                0,
                &self.state.taken.to_be_bytes(),
                out,
            );
            self.state.taken = 0;
        }
        Ok(at)
    }
}

impl State {
    /// Handles a frame; returns the stream that it ended.
    fn handle(
        &mut self,
        head: &Head,
        payload: &[u8],
        judge: Judge,
        out: &mut Vec<u8>,
    ) -> Result<Option<Stream>, CodecError> {
        match head.kind {
            kind::DATA => self.data(head, payload, judge),
            kind::HEADERS => self.headers(head, payload),
            kind::RST_STREAM => Ok(self.reset(head.id, payload)),
            kind::SETTINGS => self.settings(head, payload, out).map(|()| None),
            kind::PING if head.flags & flag::ACK == 0 => {
                frame(kind::PING, flag::ACK, 0, payload, out);
                Ok(None)
            }
            kind::GOAWAY => {
                let code = payload.get(4..8).map(number).unwrap_or_default();
                Err(CodecError::new(format!(
                    "the server said GOAWAY, code {code}"
                )))
            }
            kind::WINDOW_UPDATE if head.id == 0 => {
                self.window += i64::from(number(payload) & 0x7fff_ffff);
                Ok(None)
            }
            kind::CONTINUATION => Err(CodecError::new("header fields in more than one frame")),
            _ => Ok(None),
        }
    }

    fn data(
        &mut self,
        head: &Head,
        payload: &[u8],
        judge: Judge,
    ) -> Result<Option<Stream>, CodecError> {
        self.taken += u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let bytes = unpadded(head, payload)?;
        if let Some(stream) = self.open.iter_mut().find(|stream| stream.id == head.id) {
            stream.take(bytes, judge);
        }
        Ok(self.close_if(head))
    }

    fn headers(&mut self, head: &Head, payload: &[u8]) -> Result<Option<Stream>, CodecError> {
        if head.flags & flag::END_HEADERS == 0 {
            return Err(CodecError::new("header fields in more than one frame"));
        }
        let mut block = unpadded(head, payload)?;
        if head.flags & flag::PRIORITY != 0 {
            block = block.get(5..).unwrap_or_default();
        }
        let mut stream = self.open.iter_mut().find(|stream| stream.id == head.id);
        self.reader.read(block, |field| {
            let Some(stream) = &mut stream else { return };
            match field {
                Field::Status(status) => stream.http = status,
                Field::Grpc(status) => stream.grpc = status,
                Field::Other => {}
            }
        })?;
        Ok(self.close_if(head))
    }

    fn reset(&mut self, id: u32, payload: &[u8]) -> Option<Stream> {
        let mut stream = self.close(id)?;
        let code = number(payload);
        stream.outcome = Some(ReplyOutcome::refused(format!(
            "the stream was reset, code {code}"
        )));
        stream.grpc = Some(0);
        Some(stream)
    }

    fn settings(
        &mut self,
        head: &Head,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if head.flags & flag::ACK != 0 {
            return Ok(());
        }
        for setting in payload.chunks_exact(6) {
            let (name, value) = setting.split_at(2);
            let value = number(value);
            match name {
                [0, 1] if value < TABLE_MIN => {
                    return Err(CodecError::new("the server remembers no header fields"));
                }
                [0, 3] => self.streams_max = usize::try_from(value).unwrap_or(usize::MAX).max(1),
                _ => {}
            }
        }
        self.settled = true;
        frame(kind::SETTINGS, flag::ACK, 0, &[], out);
        Ok(())
    }

    fn close_if(&mut self, head: &Head) -> Option<Stream> {
        if head.flags & flag::END_STREAM == 0 {
            return None;
        }
        self.close(head.id)
    }

    fn close(&mut self, id: u32) -> Option<Stream> {
        let at = self.open.iter().position(|stream| stream.id == id)?;
        Some(self.open.remove(at))
    }
}

impl Stream {
    fn take(&mut self, bytes: &[u8], judge: Judge) {
        if self.outcome.is_some() {
            return;
        }
        if self.partial.is_empty() {
            self.outcome = message(bytes).map(|body| judge::message(judge, body));
            if self.outcome.is_some() {
                return;
            }
        }
        if self.partial.len() + bytes.len() <= MESSAGE_MAX {
            self.partial.extend_from_slice(bytes);
            self.outcome = message(&self.partial).map(|body| judge::message(judge, body));
        }
    }

    fn verdict(self) -> ReplyOutcome {
        match (self.http, self.grpc) {
            (Some(status), _) if status != 200 => ReplyOutcome::refused(format!("status {status}")),
            (_, Some(0)) => self.outcome.unwrap_or_else(ReplyOutcome::no_verdict),
            (_, Some(code)) => ReplyOutcome::refused(format!("grpc-status {code}")),
            (_, None) => ReplyOutcome::refused("no grpc-status"),
        }
    }
}

/// The body of a gRPC message, once it is complete.
fn message(bytes: &[u8]) -> Option<&[u8]> {
    let length = usize::try_from(number(bytes.get(1..5)?)).ok()?;
    bytes.get(5..5 + length)
}

struct Head {
    kind: u8,
    flags: u8,
    id: u32,
}

fn next_frame(input: &[u8]) -> Result<Option<(Head, &[u8])>, CodecError> {
    let Some((head, rest)) = input.split_at_checked(HEAD_LEN) else {
        return Ok(None);
    };
    let (length, after) = head.split_at(3);
    let length = length
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    if length > FRAME_MAX {
        return Err(CodecError::new(
            "a frame that is too large, or no HTTP/2 at all",
        ));
    }
    let head = Head {
        kind: after.first().copied().unwrap_or_default(),
        flags: after.get(1).copied().unwrap_or_default(),
        id: after.get(2..).map(number).unwrap_or_default() & 0x7fff_ffff,
    };
    Ok(rest.get(..length).map(|payload| (head, payload)))
}

fn unpadded<'a>(head: &Head, payload: &'a [u8]) -> Result<&'a [u8], CodecError> {
    if head.flags & flag::PADDED == 0 {
        return Ok(payload);
    }
    let split = payload.split_first();
    let inner = split.and_then(|(pad, rest)| {
        rest.len()
            .checked_sub(usize::from(*pad))
            .and_then(|to| rest.get(..to))
    });
    inner.ok_or_else(|| CodecError::new("more padding than frame"))
}

/// The first four bytes as a big-endian number.
fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8], out: &mut Vec<u8>) {
    push_head(payload.len(), kind, flags, id, out);
    out.extend_from_slice(payload);
}

/// Makes DATA frames of what was appended since `start`.
fn framed(out: &mut Vec<u8>, start: usize, id: u32) {
    let body = out.split_off(start);
    let mut chunks = body.chunks(FRAME_MAX).peekable();
    while let Some(chunk) = chunks.next() {
        let flags = if chunks.peek().is_none() {
            flag::END_STREAM
        } else {
            0
        };
        frame(kind::DATA, flags, id, chunk, out);
    }
}

fn push_head(length: usize, kind: u8, flags: u8, id: u32, out: &mut Vec<u8>) {
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    out.extend_from_slice(length.get(1..).unwrap_or_default());
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&id.to_be_bytes());
}

mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RST_STREAM: u8 = 3;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const PING: u8 = 6;
    pub(super) const GOAWAY: u8 = 7;
    pub(super) const WINDOW_UPDATE: u8 = 8;
    pub(super) const CONTINUATION: u8 = 9;
}

mod flag {
    pub(super) const END_STREAM: u8 = 1;
    pub(super) const ACK: u8 = 1;
    pub(super) const END_HEADERS: u8 = 4;
    pub(super) const PADDED: u8 = 8;
    pub(super) const PRIORITY: u8 = 0x20;
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_LEN: usize = 9;
/// The default maximum frame size, in both directions.
const FRAME_MAX: usize = 16_384;
const WINDOW_DEFAULT: u32 = 65_535;
const ROOM_STREAM: u32 = 1 << 20;
const ROOM_CONNECTION: u32 = 1 << 28;
const TABLE_MIN: u32 = 4096;
const ID_MAX: u32 = (1 << 31) - 3;
const MESSAGE_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Distribution;

    fn codec() -> Http2 {
        let fields = vec![(":path", "/s/m".to_owned())];
        Http2::new(Template::new(vec![0; 40], 4), Judge::Throttle, &fields)
    }

    fn draw() -> Draw {
        Draw::new((1, Distribution::Uniform), 0, 0, 1)
    }

    fn reply(id: u32, allowed: u8, status: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame(kind::HEADERS, flag::END_HEADERS, id, &[0x88], &mut bytes);
        frame(kind::DATA, 0, id, &[0, 0, 0, 0, 2, 8, allowed], &mut bytes);
        let trailers = [&[0, 11][..], b"grpc-status", &[1, b'0' + status]].concat();
        let flags = flag::END_HEADERS | flag::END_STREAM;
        frame(kind::HEADERS, flags, id, &trailers, &mut bytes);
        bytes
    }

    #[test]
    fn nothing_is_asked_before_the_server_has_spoken() {
        let (mut codec, mut out) = (codec(), Vec::new());
        codec.greet(&mut out);
        assert!(out.starts_with(PREFACE));
        assert_eq!(codec.ask(&mut draw(), &mut out), None);
        let mut settings = Vec::new();
        frame(kind::SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 2], &mut settings);
        codec.read(&settings, &mut out, &mut |_, _| {}).unwrap();
        let mut ask = || codec.ask(&mut draw(), &mut out);
        assert_eq!((ask(), ask(), ask()), (Some(1), Some(3), None));
    }

    #[test]
    fn replies_come_in_any_order_and_in_pieces() {
        let mut stream = Vec::new();
        frame(kind::SETTINGS, 0, 0, &[], &mut stream);
        let greeting = stream.len();
        for bytes in [reply(5, 1, 0), reply(1, 0, 0), reply(3, 1, 8)] {
            stream.extend(bytes);
        }
        let expected = [
            (5, ReplyOutcome::ALLOWED),
            (1, ReplyOutcome::DENIED),
            (3, ReplyOutcome::refused("grpc-status 8")),
        ];
        for split in greeting..stream.len() {
            let (mut codec, mut out) = (codec(), Vec::new());
            codec.greet(&mut out);
            codec
                .read(&stream[..greeting], &mut out, &mut |_, _| {})
                .unwrap();
            for _ in 0..3 {
                codec.ask(&mut draw(), &mut out).unwrap();
            }
            let mut answers = Vec::new();
            let mut answered = |id, outcome| answers.push((id, outcome));
            let used = codec
                .read(&stream[greeting..split], &mut out, &mut answered)
                .unwrap();
            codec
                .read(&stream[greeting + used..], &mut out, &mut answered)
                .unwrap();
            assert_eq!(answers, expected, "split at {split}");
        }
    }

    #[test]
    fn the_connection_has_no_more_room_than_the_server_gives() {
        let (mut codec, mut out) = (codec(), Vec::new());
        codec.greet(&mut out);
        let mut settings = Vec::new();
        frame(kind::SETTINGS, 0, 0, &[], &mut settings);
        codec.read(&settings, &mut out, &mut |_, _| {}).unwrap();
        let mut asked = 0;
        while codec.ask(&mut draw(), &mut out).is_some() {
            asked += 1;
        }
        assert_eq!(asked, WINDOW_DEFAULT / 40);
        let mut more = Vec::new();
        frame(kind::WINDOW_UPDATE, 0, 0, &40_u32.to_be_bytes(), &mut more);
        codec.read(&more, &mut out, &mut |_, _| {}).unwrap();
        assert!(codec.ask(&mut draw(), &mut out).is_some());
    }
}
