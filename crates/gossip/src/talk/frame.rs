//! The frames of the designs that publish lists, as bytes.
//!
//! A list is what one writer admitted for one key: counts, each with the instant it begins at. Not here: when a frame
//! is sent, and what hearing it changes.

use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_mode::{Key, Malformed, Sort, Writer};

use crate::codec::{Decoder, Encoder, Header};
use crate::list::Segment;

/// The most segments a list may have.
pub(crate) const LIST_MAX: usize = 4096;
/// The most tokens a segment may count.
pub(crate) const COUNT_MAX: u64 = 1 << 48;
/// A frame that holds many records is cut after that many bytes, so that it fits into a datagram.
const CUT_BYTES: usize = 48 * 1024;

const PUBLISH: u8 = 1;
const KEEP: u8 = 2;
const PULL: u8 = 3;
const DIGEST: u8 = 4;
const FULL: u8 = 5;
const FILL: u8 = 6;
const JOIN: u8 = 7;
const RECALL: u8 = 8;
const KEPT: u8 = 9;

/// What one writer published about one key last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) writer: Writer,
    /// The sequence of the frame that published it.
    pub(crate) version: u64,
    /// Ascending, no two with the same start.
    pub(crate) list: Vec<Segment>,
}

/// A writer's whole list, told to one node only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) key: Key,
    /// Tokens of it that were not published, rounded up.
    pub(crate) secret: u64,
    pub(crate) entry: Entry,
}

/// One frame. The writer and the sequence are in its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// My whole list; the sequence is its version.
    Publish {
        key: Key,
        /// By what a receiver can tell that it lacks news.
        check: u32,
        list: Vec<Segment>,
    },
    /// Keep these for me; the sequence is their version.
    Keep(Vec<Copied>),
    /// Send me all you know of these.
    Pull(Vec<Key>),
    /// What I know of these, as hashes.
    Digest(Vec<(Key, u32)>),
    /// What I know; answer with what I lack.
    Full(Vec<(Key, Vec<Entry>)>),
    /// What you lack.
    Fill(Vec<(Key, Vec<Entry>)>),
    /// I am new: send me all that is published.
    Join,
    /// I was restarted: send me what you keep for me.
    Recall,
    /// What I keep for you.
    Kept(Vec<Copied>),
}

impl Frame {
    /// The bytes; `header.kind` is ignored.
    pub(crate) fn encode(&self, header: Header) -> Arc<[u8]> {
        let kind = self.kind();
        let mut encoder = Encoder::new(Header { kind, ..header });
        match self {
            Self::Publish { key, check, list } => {
                encoder.key(*key);
                encoder.u32(*check);
                put_list(&mut encoder, list);
            }
            Self::Keep(copies) => copies.iter().for_each(|copy| put_keep(&mut encoder, copy)),
            Self::Pull(keys) => keys.iter().for_each(|key| encoder.key(*key)),
            Self::Digest(hashes) => {
                for (key, hash) in hashes {
                    encoder.key(*key);
                    encoder.u32(*hash);
                }
            }
            Self::Full(known) | Self::Fill(known) => {
                for (key, entries) in known {
                    put_known(&mut encoder, *key, entries);
                }
            }
            Self::Join | Self::Recall => {}
            Self::Kept(copies) => {
                for copy in copies {
                    encoder.u16(copy.entry.writer.0);
                    encoder.sequence(copy.entry.version);
                    put_keep(&mut encoder, copy);
                }
            }
        }
        encoder.finish()
    }

    /// Reads a frame whole, or refuses it. Nothing in it may begin after `latest`: it would count until then.
    pub(crate) fn decode(frame: &[u8], latest: Instant) -> Result<(Header, Self), Malformed> {
        let (header, mut rest) = Decoder::new(frame)?;
        let content = match header.kind {
            PUBLISH => Self::Publish {
                key: rest.key()?,
                check: rest.u32()?,
                list: take_list(&mut rest, latest)?,
            },
            KEEP => Self::Keep(all(&mut rest, |rest| {
                take_keep(rest, latest, header.writer, header.sequence)
            })?),
            PULL => Self::Pull(all(&mut rest, take_key)?),
            DIGEST => Self::Digest(all(&mut rest, |rest| Ok((rest.key()?, rest.u32()?)))?),
            FULL => Self::Full(all(&mut rest, |rest| take_known(rest, latest))?),
            FILL => Self::Fill(all(&mut rest, |rest| take_known(rest, latest))?),
            JOIN => Self::Join,
            RECALL => Self::Recall,
            KEPT => Self::Kept(all(&mut rest, |rest| {
                let writer = Writer(rest.u16()?);
                let version = rest.sequence()?;
                take_keep(rest, latest, writer, version)
            })?),
            kind => return Err(Malformed::Kind(kind)),
        };
        rest.finish()?;
        Ok((header, content))
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Publish { .. } => PUBLISH,
            Self::Keep(_) => KEEP,
            Self::Pull(_) => PULL,
            Self::Digest(_) => DIGEST,
            Self::Full(_) => FULL,
            Self::Fill(_) => FILL,
            Self::Join => JOIN,
            Self::Recall => RECALL,
            Self::Kept(_) => KEPT,
        }
    }
}

/// What a frame of that kind is for.
pub(crate) fn sort(kind: u8) -> Sort {
    match kind {
        KEEP => Sort::Copy,
        PULL => Sort::Pull,
        DIGEST => Sort::Digest,
        FULL | FILL | JOIN | RECALL | KEPT => Sort::Memory,
        _ => Sort::Publication,
    }
}

/// Cuts records into parts that each fit into a frame, and at least into one part, which may be empty.
pub(crate) fn parts<T>(records: Vec<T>, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut size = 0;
    for record in records {
        size += bytes(&record);
        if size > CUT_BYTES && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            size = bytes(&record);
        }
        part.push(record);
    }
    parts.push(part);
    parts
}

/// About how many bytes a list takes; never fewer.
pub(crate) fn list_bytes(list: &[Segment]) -> usize {
    2 + list.len() * 15
}

fn put_list(encoder: &mut Encoder, list: &[Segment]) {
    encoder.varint(list.len() as u128);
    for segment in list {
        encoder.u64(segment.start.as_nanos());
        encoder.varint(u128::from(segment.count));
    }
}

fn put_keep(encoder: &mut Encoder, copy: &Copied) {
    encoder.key(copy.key);
    encoder.varint(u128::from(copy.secret));
    put_list(encoder, &copy.entry.list);
}

fn put_known(encoder: &mut Encoder, key: Key, entries: &[Entry]) {
    encoder.key(key);
    encoder.varint(entries.len() as u128);
    for entry in entries {
        encoder.u16(entry.writer.0);
        encoder.sequence(entry.version);
        put_list(encoder, &entry.list);
    }
}

fn all<T>(
    rest: &mut Decoder<'_>,
    mut take: impl FnMut(&mut Decoder<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut records = Vec::new();
    while !rest.is_empty() {
        records.push(take(rest)?);
    }
    Ok(records)
}

fn take_key(rest: &mut Decoder<'_>) -> Result<Key, Malformed> {
    rest.key()
}

fn take_list(rest: &mut Decoder<'_>, latest: Instant) -> Result<Vec<Segment>, Malformed> {
    let length = rest.length(9)?;
    if length > LIST_MAX {
        return Err(Malformed::Value);
    }
    let mut list: Vec<Segment> = Vec::with_capacity(length);
    for _ in 0..length {
        let start = rest.instant(latest)?;
        let count = rest.count()?;
        let ascends = list.last().is_none_or(|last| last.start < start);
        if count == 0 || count > COUNT_MAX || !ascends {
            return Err(Malformed::Value);
        }
        list.push(Segment { start, count });
    }
    Ok(list)
}

fn take_keep(
    rest: &mut Decoder<'_>,
    latest: Instant,
    writer: Writer,
    version: u64,
) -> Result<Copied, Malformed> {
    let key = rest.key()?;
    let secret = rest.count()?;
    if secret > COUNT_MAX {
        return Err(Malformed::Value);
    }
    let list = take_list(rest, latest)?;
    let entry = Entry {
        writer,
        version,
        list,
    };
    Ok(Copied { key, secret, entry })
}

fn take_known(rest: &mut Decoder<'_>, latest: Instant) -> Result<(Key, Vec<Entry>), Malformed> {
    let key = rest.key()?;
    let length = rest.length(8)?;
    let mut entries: Vec<Entry> = Vec::with_capacity(length);
    for _ in 0..length {
        let writer = Writer(rest.u16()?);
        let version = rest.sequence()?;
        let list = take_list(rest, latest)?;
        if entries.last().is_some_and(|last| last.writer >= writer) {
            return Err(Malformed::Value);
        }
        entries.push(Entry {
            writer,
            version,
            list,
        });
    }
    Ok((key, entries))
}
