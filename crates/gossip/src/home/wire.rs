//! The frames of this design as bytes.
//!
//! An end of a backlog takes the eight bytes of its nanosecond and a varint for the rest, so that nothing is rounded. A
//! frame is read whole before any of it is used. Not here: what anybody does with them.

use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_mode::{Key, Malformed, NodeId, Writer};

use crate::bucket::{Bucket, Mark};
use crate::codec::{Decoder, Encoder, Header};
use crate::home::epoch::{Count, EpochId};
use crate::home::own::SEGMENTS_MAX;
use crate::list::Segment;

pub(super) const REPORT: u8 = 1;
pub(super) const ANNOUNCE: u8 = 2;
pub(super) const DIRECT: u8 = 3;
pub(super) const KEEP: u8 = 4;
pub(super) const JOIN: u8 = 5;
pub(super) const HAND: u8 = 6;
pub(super) const ASK: u8 = 7;

/// Epoch numbers above this are refused, so that they never run out.
const EPOCH_MAX: u64 = 1 << 48;
/// The shortest segment on the wire.
const SEGMENT_BYTES: usize = 9;

const IS_TOLD: u8 = 1;
const IS_FORWARDED: u8 = 2;
const HAS_EPOCH: u8 = 4;
const HAS_ROUTE: u8 = 8;

/// A frame that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Report(Report),
    Announce(Announce),
    Direct(Direct),
    Keep(Vec<Kept>),
    /// A restarted node names its boot before.
    Join(Writer),
    Hand(Vec<Hand>),
    /// A restarted node wants its copies sent to the homes.
    Ask(Writer),
}

/// A writer's whole list, for the home and the standby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) key: Key,
    pub(super) end: Mark,
    pub(super) count: Option<Count>,
    pub(super) list: Vec<Segment>,
    /// Everybody else was told too.
    pub(super) is_told: bool,
    /// Whoever got it first was not the right address.
    pub(super) is_forwarded: bool,
}

/// What the home says to everybody: the end, or the base of an epoch and what was counted since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announce {
    pub(super) key: Key,
    pub(super) end: Mark,
    pub(super) sum: Option<Count>,
    pub(super) near: u64,
    pub(super) route: Option<Route>,
}

/// What a writer says to everybody near exhaustion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Direct {
    pub(super) key: Key,
    pub(super) end: Mark,
    pub(super) count: Option<Count>,
    pub(super) route: Option<Route>,
}

/// News that is passed on along a tree: whose, and how often it was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) root: NodeId,
    pub(super) hops: u8,
}

/// A copy for the next node, and for how many seconds it may matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) key: Key,
    pub(super) seconds: u64,
    pub(super) version: u64,
    pub(super) list: Vec<Segment>,
}

/// What is known of a key, for a new home or a restarted node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hand {
    pub(super) key: Key,
    pub(super) end: Mark,
    /// `end` is what everybody has been told.
    pub(super) is_told: bool,
    /// For how many seconds lists may matter that were never reported.
    pub(super) seconds: u64,
    pub(super) lists: Vec<Held>,
}

/// A writer's list at that version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) writer: Writer,
    pub(super) version: u64,
    pub(super) list: Vec<Segment>,
}

impl Frame {
    /// Reads a frame.
    pub(super) fn decode(bucket: Bucket, frame: &[u8]) -> Result<(Header, Self), Malformed> {
        let (header, decoder) = Decoder::new(frame)?;
        let mut reader = Reader { bucket, decoder };
        let frame = match header.kind {
            REPORT => Self::Report(reader.report()?),
            ANNOUNCE => Self::Announce(reader.announce()?),
            DIRECT => Self::Direct(reader.direct()?),
            KEEP => Self::Keep(reader.many(Reader::kept)?),
            JOIN => Self::Join(reader.writer()?),
            HAND => Self::Hand(reader.many(Reader::hand)?),
            ASK => Self::Ask(reader.writer()?),
            kind => return Err(Malformed::Kind(kind)),
        };
        reader.decoder.finish()?;
        Ok((header, frame))
    }
}

impl Report {
    pub(super) fn write(&self, bucket: Bucket, mut to: Encoder) -> Arc<[u8]> {
        let told = if self.is_told { IS_TOLD } else { 0 };
        let forwarded = if self.is_forwarded { IS_FORWARDED } else { 0 };
        to.key(self.key);
        to.u8(told | forwarded | epoch_flag(self.count));
        write_mark(bucket, &mut to, self.end);
        write_count(&mut to, self.count);
        write_list(&mut to, &self.list);
        to.finish()
    }
}

impl Announce {
    pub(super) fn write(&self, bucket: Bucket, mut to: Encoder) -> Arc<[u8]> {
        to.key(self.key);
        to.u8(epoch_flag(self.sum) | route_flag(self.route));
        write_mark(bucket, &mut to, self.end);
        write_count(&mut to, self.sum);
        to.varint(u128::from(self.near));
        write_route(&mut to, self.route);
        to.finish()
    }
}

impl Direct {
    pub(super) fn write(&self, bucket: Bucket, mut to: Encoder) -> Arc<[u8]> {
        to.key(self.key);
        to.u8(epoch_flag(self.count) | route_flag(self.route));
        write_mark(bucket, &mut to, self.end);
        write_count(&mut to, self.count);
        write_route(&mut to, self.route);
        to.finish()
    }
}

impl Kept {
    pub(super) fn write(&self, to: &mut Encoder) {
        to.key(self.key);
        to.varint(u128::from(self.seconds));
        to.varint(u128::from(self.version));
        write_list(to, &self.list);
    }
}

impl Hand {
    pub(super) fn write(&self, bucket: Bucket, to: &mut Encoder) {
        to.key(self.key);
        to.u8(if self.is_told { IS_TOLD } else { 0 });
        write_mark(bucket, to, self.end);
        to.varint(u128::from(self.seconds));
        to.varint(self.lists.len() as u128);
        for held in &self.lists {
            to.u16(held.writer.0);
            to.varint(u128::from(held.version));
            write_list(to, &held.list);
        }
    }
}

fn epoch_flag(count: Option<Count>) -> u8 {
    if count.is_some() { HAS_EPOCH } else { 0 }
}

fn route_flag(route: Option<Route>) -> u8 {
    if route.is_some() { HAS_ROUTE } else { 0 }
}

/// A mark past the last nanosecond is written as that: less than the truth is always safe.
fn write_mark(bucket: Bucket, to: &mut Encoder, mark: Mark) {
    let refill = bucket.refilled(1);
    let (nanos, rest) = (mark.0 / refill, mark.0 % refill);
    to.u64(u64::try_from(nanos).unwrap_or(u64::MAX));
    to.varint(rest);
}

fn write_count(to: &mut Encoder, count: Option<Count>) {
    if let Some(count) = count {
        to.varint(u128::from(count.id.number));
        to.u16(count.id.creator.0);
        to.varint(u128::from(count.tokens));
    }
}

fn write_route(to: &mut Encoder, route: Option<Route>) {
    if let Some(route) = route {
        to.u16(route.root.0);
        to.u8(route.hops);
    }
}

fn write_list(to: &mut Encoder, list: &[Segment]) {
    to.varint(list.len() as u128);
    for segment in list {
        to.u64(segment.start.as_nanos());
        to.varint(u128::from(segment.count));
    }
}

/// Takes the parts of frames off.
struct Reader<'a> {
    bucket: Bucket,
    decoder: Decoder<'a>,
}

impl Reader<'_> {
    fn report(&mut self) -> Result<Report, Malformed> {
        let key = self.decoder.key()?;
        let flags = self.flags(IS_TOLD | IS_FORWARDED | HAS_EPOCH)?;
        Ok(Report {
            key,
            end: self.mark()?,
            count: self.count(flags)?,
            list: self.list()?,
            is_told: flags & IS_TOLD != 0,
            is_forwarded: flags & IS_FORWARDED != 0,
        })
    }

    fn announce(&mut self) -> Result<Announce, Malformed> {
        let key = self.decoder.key()?;
        let flags = self.flags(HAS_EPOCH | HAS_ROUTE)?;
        Ok(Announce {
            key,
            end: self.mark()?,
            sum: self.count(flags)?,
            near: self.decoder.count()?,
            route: self.route(flags)?,
        })
    }

    fn direct(&mut self) -> Result<Direct, Malformed> {
        let key = self.decoder.key()?;
        let flags = self.flags(HAS_EPOCH | HAS_ROUTE)?;
        Ok(Direct {
            key,
            end: self.mark()?,
            count: self.count(flags)?,
            route: self.route(flags)?,
        })
    }

    fn kept(&mut self) -> Result<Kept, Malformed> {
        Ok(Kept {
            key: self.decoder.key()?,
            seconds: self.decoder.count()?,
            version: self.decoder.count()?,
            list: self.list()?,
        })
    }

    fn hand(&mut self) -> Result<Hand, Malformed> {
        let key = self.decoder.key()?;
        let flags = self.flags(IS_TOLD)?;
        let end = self.mark()?;
        let seconds = self.decoder.count()?;
        let count = self.decoder.length(4)?;
        let mut lists = Vec::with_capacity(count);
        for _ in 0..count {
            lists.push(Held {
                writer: self.writer()?,
                version: self.decoder.count()?,
                list: self.list()?,
            });
        }
        Ok(Hand {
            key,
            end,
            is_told: flags & IS_TOLD != 0,
            seconds,
            lists,
        })
    }

    /// As many as the frame holds.
    fn many<T>(
        &mut self,
        one: impl Fn(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut all = Vec::new();
        while !self.decoder.is_empty() {
            all.push(one(self)?);
        }
        Ok(all)
    }

    fn writer(&mut self) -> Result<Writer, Malformed> {
        self.decoder.u16().map(Writer)
    }

    fn flags(&mut self, known: u8) -> Result<u8, Malformed> {
        let flags = self.decoder.u8()?;
        if flags & !known == 0 {
            Ok(flags)
        } else {
            Err(Malformed::Value)
        }
    }

    fn mark(&mut self) -> Result<Mark, Malformed> {
        let nanos = self.decoder.u64()?;
        let rest = self.decoder.varint()?;
        if rest >= self.bucket.refilled(1) {
            return Err(Malformed::Value);
        }
        Ok(Mark(self.bucket.refilled(nanos)).plus(rest))
    }

    fn count(&mut self, flags: u8) -> Result<Option<Count>, Malformed> {
        if flags & HAS_EPOCH == 0 {
            return Ok(None);
        }
        let number = self.decoder.count()?;
        let creator = self.writer()?;
        let tokens = self.decoder.count()?;
        if number == 0 || number > EPOCH_MAX {
            return Err(Malformed::Value);
        }
        let id = EpochId { number, creator };
        Ok(Some(Count { id, tokens }))
    }

    fn route(&mut self, flags: u8) -> Result<Option<Route>, Malformed> {
        if flags & HAS_ROUTE == 0 {
            return Ok(None);
        }
        let root = NodeId(self.decoder.u16()?);
        let hops = self.decoder.u8()?;
        Ok(Some(Route { root, hops }))
    }

    fn list(&mut self) -> Result<Vec<Segment>, Malformed> {
        let count = self.decoder.length(SEGMENT_BYTES)?;
        if count > SEGMENTS_MAX {
            return Err(Malformed::Value);
        }
        let mut list: Vec<Segment> = Vec::with_capacity(count);
        for _ in 0..count {
            let segment = Segment {
                start: Instant::from_nanos(self.decoder.u64()?),
                count: self.decoder.count()?,
            };
            let is_late = list.last().is_some_and(|last| last.start > segment.start);
            if segment.count == 0 || is_late {
                return Err(Malformed::Value);
            }
            list.push(segment);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_mode::VERSION;

    const KEY: Key = Key(77);
    const COUNT: Option<Count> = Some(Count {
        id: EpochId {
            number: 100,
            creator: Writer(3),
        },
        tokens: 8,
    });

    fn bucket() -> Bucket {
        Bucket::new(300, 3, 10_000_000_000).unwrap()
    }

    fn encoder(kind: u8) -> Encoder {
        Encoder::new(Header {
            kind,
            writer: Writer(9),
            sequence: 5,
        })
    }

    fn list() -> Vec<Segment> {
        let start = Instant::from_nanos(1_700_000_000_123_456_789);
        vec![Segment { start, count: 7 }]
    }

    fn read(frame: &[u8]) -> Frame {
        Frame::decode(bucket(), frame).unwrap().1
    }

    #[test]
    fn a_report_comes_back_in_48_bytes() {
        let report = Report {
            key: KEY,
            end: Mark(5_100_000_000_000_000_001),
            count: COUNT,
            list: list(),
            is_told: true,
            is_forwarded: false,
        };
        let frame = report.write(bucket(), encoder(REPORT));
        assert_eq!(frame.len(), 48);
        assert_eq!(read(&frame), Frame::Report(report));
    }

    #[test]
    fn an_announcement_comes_back_in_39_bytes() {
        let announce = Announce {
            key: KEY,
            end: Mark(5_100_000_000_000_000_002),
            sum: COUNT,
            near: 1,
            route: None,
        };
        let frame = announce.write(bucket(), encoder(ANNOUNCE));
        assert_eq!(frame.len(), 39);
        assert_eq!(read(&frame), Frame::Announce(announce));
    }

    #[test]
    fn a_direct_message_comes_back_with_its_route() {
        let route = Route {
            root: NodeId(4),
            hops: 2,
        };
        let direct = Direct {
            key: KEY,
            end: Mark(7),
            count: COUNT,
            route: Some(route),
        };
        let frame = direct.write(bucket(), encoder(DIRECT));
        assert_eq!(read(&frame), Frame::Direct(direct));
    }

    #[test]
    fn batches_come_back() {
        let kept = Kept {
            key: KEY,
            seconds: 400,
            version: 11,
            list: list(),
        };
        let mut to = encoder(KEEP);
        kept.write(&mut to);
        kept.write(&mut to);
        assert_eq!(read(&to.finish()), Frame::Keep(vec![kept.clone(), kept]));
        let held = Held {
            writer: Writer(1),
            version: 12,
            list: list(),
        };
        let hand = Hand {
            key: KEY,
            end: Mark(3),
            is_told: true,
            seconds: 700,
            lists: vec![held.clone(), held],
        };
        let mut to = encoder(HAND);
        hand.write(bucket(), &mut to);
        assert_eq!(read(&to.finish()), Frame::Hand(vec![hand]));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let mut to = encoder(DIRECT);
        to.key(KEY);
        to.u8(0);
        to.u64(1);
        to.varint(3);
        let frame = to.finish();
        assert_eq!(Frame::decode(bucket(), &frame), Err(Malformed::Value));
        let frame = [VERSION << 4, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Frame::decode(bucket(), &frame), Err(Malformed::Kind(0)));
    }
}
