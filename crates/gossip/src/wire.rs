//! Frames between nodes: bytes to values and back.
//!
//! ```text
//! first      version 4 bits, kind 4 bits | writer 2 | flags 1 | acknowledged: writer 2, all up to, window (flag)
//! report     number | time 8 | first number of a range (flag) | entries
//! keep       number of the last report | time 8 | entries
//! return     part | time 8 | entries
//! ask        place to go on from
//! page       time 8 | next place, 0 for none | vector: count, (node 2, writer 2, all up to, window) each | keys
//! hello      start 8 | 0, or 1 and the writer before 2
//! ack        nothing
//! entry      key 16 | 4 × count + 0, (age, tokens) each   or 1, age, tokens given back   or 2, age of a reset
//! key        key 16 | count | (age, amount) each
//! ```
//!
//! Tokens and amounts are twice what they are, and one more where they are loose. Numbers without a length have seven
//! bits a byte; ages are nanoseconds before the time of the frame. Whatever a stranger sends, reading it ends in a
//! value or in [`Malformed`]. Not here: what frames mean.

use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Malformed, ModeKey, NodeId, VERSION, Writer};

use crate::bytes::{Decoder, Encoder};

use super::law::{LinkEntry, RestoredLevel, Seg, What};

const REPORT: u8 = 1;
const ACK: u8 = 2;
const KEEP: u8 = 3;
const HELLO: u8 = 4;
const RETURN: u8 = 5;
const ASK: u8 = 6;
const PAGE: u8 = 7;

const HAS_ACK: u8 = 1;
const IS_RESENT: u8 = 2;
const IS_RANGE: u8 = 4;

/// The longest frame that is read.
const FRAME_BYTES_MAX: usize = 1 << 22;
/// Entries are packed up to that many bytes, so that a frame fits into a datagram.
pub(super) const BODY_BYTES: usize = 1_100;
/// Keys of a page are packed up to that many bytes; pages go by stream.
pub(super) const PAGE_BYTES: usize = 1 << 15;
/// No frame has a greater number.
const NUMBER_MAX: u64 = 1 << 56;
/// No more tokens are reported at once.
const TOKENS_MAX: u64 = 1 << 48;
/// Clocks may differ by a day.
const AHEAD: Span = Span::from_nanos(86_400_000_000_000);

/// What a node has received of a stream: every number up to `cum`, and `cum + 1 + i` for every bit `i` of `slices`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    pub(super) writer: Writer,
    pub(super) cum: u64,
    pub(super) window: u64,
}

/// A numbered frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkReport<E = Vec<LinkEntry>> {
    pub(super) number: u64,
    /// It stands for every number after this one.
    pub(super) lo: Option<u64>,
    pub(super) time: Instant,
    pub(super) entries: E,
}

/// A page of what a node knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExchangePage {
    pub(super) time: Instant,
    /// Where the next page begins.
    pub(super) next: Option<u32>,
    /// Which frames of whom are in it.
    pub(super) vector: Vec<(NodeId, Ack)>,
    pub(super) keys: Vec<(ModeKey, Vec<RestoredLevel>)>,
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkMessage {
    Report(LinkReport),
    Ack,
    Keep(LinkReport),
    Hello(LinkHello),
    Return(LinkReport),
    Ask(u32),
    Page(ExchangePage),
}

/// A greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkHello {
    /// When the boot began.
    pub(super) start: Instant,
    /// The writer of the boot before, where there was one.
    pub(super) was: Option<Writer>,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) writer: Writer,
    pub(super) ack: Option<Ack>,
    pub(super) is_resent: bool,
    pub(super) message: LinkMessage,
}

/// What every frame begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHead {
    pub(super) writer: Writer,
    pub(super) ack: Option<Ack>,
    pub(super) is_resent: bool,
}

impl FrameHead {
    fn begin(self, kind: u8, flags: u8) -> Encoder {
        let mut encoder = Encoder::default();
        encoder.u8(VERSION << 4 | kind);
        encoder.u16(self.writer.0);
        let acks = if self.ack.is_some() { HAS_ACK } else { 0 };
        let resent = if self.is_resent { IS_RESENT } else { 0 };
        encoder.u8(flags | acks | resent);
        if let Some(ack) = self.ack {
            put_ack(&mut encoder, ack);
        }
        encoder
    }

    /// A numbered frame.
    pub(super) fn report(self, report: &LinkReport<Arc<[u8]>>) -> Arc<[u8]> {
        let range = if report.lo.is_some() { IS_RANGE } else { 0 };
        let mut encoder = self.begin(REPORT, range);
        put_report(&mut encoder, report);
        encoder.finish()
    }

    /// Copies of silent tokens, as of the report of that number.
    pub(super) fn keep(self, copies: &LinkReport<Arc<[u8]>>) -> Arc<[u8]> {
        let mut encoder = self.begin(KEEP, 0);
        put_report(&mut encoder, copies);
        encoder.finish()
    }

    /// An acknowledgement.
    pub(super) fn ack(self) -> Arc<[u8]> {
        self.begin(ACK, 0).finish()
    }

    /// A greeting under a new writer.
    pub(super) fn hello(self, hello: LinkHello) -> Arc<[u8]> {
        let mut encoder = self.begin(HELLO, 0);
        encoder.u64(hello.start.as_nanos());
        encoder.u8(u8::from(hello.was.is_some()));
        if let Some(was) = hello.was {
            encoder.u16(was.0);
        }
        encoder.finish()
    }

    /// One of several parts of the copies that were kept for a node, by its number.
    pub(super) fn give_back(self, part: &LinkReport<Arc<[u8]>>) -> Arc<[u8]> {
        let mut encoder = self.begin(RETURN, 0);
        put_report(&mut encoder, part);
        encoder.finish()
    }

    /// Asks for a page.
    pub(super) fn ask(self, place: u32) -> Arc<[u8]> {
        let mut encoder = self.begin(ASK, 0);
        encoder.count(u64::from(place));
        encoder.finish()
    }

    /// A page.
    pub(super) fn page(self, page: &ExchangePage) -> Arc<[u8]> {
        let mut encoder = self.begin(PAGE, 0);
        encoder.u64(page.time.as_nanos());
        encoder.count(page.next.map_or(0, |next| u64::from(next) + 1));
        encoder.count(page.vector.len() as u64);
        for (node, ack) in &page.vector {
            encoder.u16(node.0);
            put_ack(&mut encoder, *ack);
        }
        for (key, told) in &page.keys {
            encoder.key(*key);
            encoder.count(told.len() as u64);
            for told in told {
                encoder.count(page.time.nanos_since(told.at));
                encoder.varint(told.amount * 2 + u128::from(told.is_loose));
            }
        }
        encoder.finish()
    }
}

fn put_ack(encoder: &mut Encoder, ack: Ack) {
    encoder.u16(ack.writer.0);
    encoder.count(ack.cum);
    encoder.count(ack.window);
}

fn put_report(encoder: &mut Encoder, report: &LinkReport<Arc<[u8]>>) {
    encoder.count(report.number);
    encoder.u64(report.time.as_nanos());
    if let Some(lo) = report.lo {
        encoder.count(lo);
    }
    encoder.raw(&report.entries);
}

/// Packs entries into as many bodies as they need.
pub(super) fn bodies(entries: &[LinkEntry], time: Instant, bytes: usize) -> Vec<Arc<[u8]>> {
    let mut bodies = Vec::new();
    let mut encoder = Encoder::default();
    for entry in entries {
        if encoder.len() >= bytes {
            bodies.push(std::mem::take(&mut encoder).finish());
        }
        put_entry(&mut encoder, entry, time);
    }
    if !encoder.is_empty() {
        bodies.push(encoder.finish());
    }
    bodies
}

fn put_entry(encoder: &mut Encoder, entry: &LinkEntry, time: Instant) {
    encoder.key(entry.key);
    let seg = |encoder: &mut Encoder, seg: &Seg| {
        encoder.count(time.nanos_since(seg.at));
        encoder.count(seg.n.min(TOKENS_MAX) * 2 + u64::from(seg.is_loose));
    };
    match &entry.what {
        What::Report(segs) => {
            encoder.count(segs.len() as u64 * 4);
            for it in segs {
                seg(encoder, it);
            }
        }
        What::Refund(refund) => {
            encoder.count(1);
            seg(encoder, refund);
        }
        What::Reset(at) => {
            encoder.count(2);
            encoder.count(time.nanos_since(*at));
        }
    }
}

/// Whether a frame reports.
pub(super) fn is_report(frame: &[u8]) -> bool {
    frame.first().is_some_and(|first| first & 0x0f == REPORT)
}

/// Reads a frame that arrives now.
pub(super) fn decode(bytes: &[u8], now: Instant) -> Result<Frame, Malformed> {
    if bytes.len() > FRAME_BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut rest = Decoder::from_first(bytes);
    let first = rest.u8()?;
    if first >> 4 != VERSION {
        return Err(Malformed::Version(first >> 4));
    }
    let writer = Writer(rest.u16()?);
    let flags = rest.u8()?;
    if flags > HAS_ACK | IS_RESENT | IS_RANGE {
        return Err(Malformed::Value);
    }
    let has_ack = flags & HAS_ACK > 0;
    let ack = has_ack.then(|| take_ack(&mut rest)).transpose()?;
    let latest = now.saturating_add(AHEAD);
    let message = match first & 0x0f {
        REPORT => LinkMessage::Report(take_report(&mut rest, flags, latest)?),
        ACK => LinkMessage::Ack,
        KEEP => LinkMessage::Keep(take_report(&mut rest, 0, latest)?),
        HELLO => LinkMessage::Hello(take_hello(&mut rest, latest)?),
        RETURN => LinkMessage::Return(take_report(&mut rest, 0, latest)?),
        ASK => LinkMessage::Ask(take_place(&mut rest)?),
        PAGE => LinkMessage::Page(take_page(&mut rest, latest)?),
        kind => return Err(Malformed::Kind(kind)),
    };
    if !rest.is_empty() {
        return Err(Malformed::Trailing);
    }
    let is_resent = flags & IS_RESENT > 0;
    Ok(Frame {
        writer,
        ack,
        is_resent,
        message,
    })
}

fn take_ack(rest: &mut Decoder<'_>) -> Result<Ack, Malformed> {
    let writer = Writer(rest.u16()?);
    let (cum, window) = (rest.count()?, rest.count()?);
    if cum > NUMBER_MAX || window & 1 > 0 {
        return Err(Malformed::Value);
    }
    Ok(Ack {
        writer,
        cum,
        window,
    })
}

fn take_time(rest: &mut Decoder<'_>, latest: Instant) -> Result<Instant, Malformed> {
    let time = Instant::from_nanos(rest.u64()?);
    if time > latest {
        return Err(Malformed::Value);
    }
    Ok(time)
}

fn take_hello(rest: &mut Decoder<'_>, latest: Instant) -> Result<LinkHello, Malformed> {
    let start = take_time(rest, latest)?;
    let was = match rest.u8()? {
        0 => None,
        1 => Some(Writer(rest.u16()?)),
        _ => return Err(Malformed::Value),
    };
    Ok(LinkHello { start, was })
}

fn take_report(
    rest: &mut Decoder<'_>,
    flags: u8,
    latest: Instant,
) -> Result<LinkReport, Malformed> {
    let number = rest.count()?;
    let time = take_time(rest, latest)?;
    let is_range = flags & IS_RANGE > 0;
    let lo = is_range.then(|| rest.count()).transpose()?;
    if number > NUMBER_MAX || lo.is_some_and(|lo| lo >= number) {
        return Err(Malformed::Value);
    }
    let entries = take_entries(rest, time)?;
    Ok(LinkReport {
        number,
        lo,
        time,
        entries,
    })
}

fn take_entries(rest: &mut Decoder<'_>, time: Instant) -> Result<Vec<LinkEntry>, Malformed> {
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let key = rest.key()?;
        let tag = rest.count()?;
        let what = match (tag % 4, tag / 4) {
            (0, count @ 1..) => {
                let count = length(rest, count)?;
                let segs = (0..count).map(|_| take_seg(rest, time));
                What::Report(segs.collect::<Result<_, _>>()?)
            }
            (1, 0) => What::Refund(take_seg(rest, time)?),
            (2, 0) => What::Reset(take_age(rest, time)?),
            _ => return Err(Malformed::Value),
        };
        entries.push(LinkEntry { key, what });
    }
    Ok(entries)
}

/// The length of a list, which the frame must be able to hold.
fn length(rest: &Decoder<'_>, count: u64) -> Result<usize, Malformed> {
    let count = usize::try_from(count).map_err(|_| Malformed::Value)?;
    if count > rest.left() / 2 {
        return Err(Malformed::Truncated);
    }
    Ok(count)
}

fn take_seg(rest: &mut Decoder<'_>, time: Instant) -> Result<Seg, Malformed> {
    let at = take_age(rest, time)?;
    let n = rest.count()?;
    let (n, is_loose) = (n / 2, n % 2 > 0);
    if n > TOKENS_MAX {
        return Err(Malformed::Value);
    }
    Ok(Seg { at, n, is_loose })
}

fn take_age(rest: &mut Decoder<'_>, time: Instant) -> Result<Instant, Malformed> {
    let at = time.as_nanos().checked_sub(rest.count()?);
    at.map(Instant::from_nanos).ok_or(Malformed::Value)
}

fn take_place(rest: &mut Decoder<'_>) -> Result<u32, Malformed> {
    u32::try_from(rest.count()?).map_err(|_| Malformed::Value)
}

fn take_page(rest: &mut Decoder<'_>, latest: Instant) -> Result<ExchangePage, Malformed> {
    let time = take_time(rest, latest)?;
    let next = take_place(rest)?.checked_sub(1);
    let count = rest.count()?;
    let mut vector = Vec::new();
    for _ in 0..length(rest, count)? {
        vector.push((NodeId(rest.u16()?), take_ack(rest)?));
    }
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let key = rest.key()?;
        let count = rest.count()?;
        let mut told = Vec::new();
        for _ in 0..length(rest, count)? {
            let at = take_age(rest, time)?;
            let amount = rest.varint()?;
            told.push(RestoredLevel {
                at,
                amount: amount / 2,
                is_loose: amount % 2 > 0,
            });
        }
        keys.push((key, told));
    }
    Ok(ExchangePage {
        time,
        next,
        vector,
        keys,
    })
}
