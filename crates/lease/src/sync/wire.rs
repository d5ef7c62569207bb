//! What a node that synchronises says to the centre of a key, and what it is answered.
//!
//! A frame is of one sort and for many keys. Counts are cumulative, so that a frame may be lost, doubled, late or out
//! of order. Not here: what frames cause.

use std::sync::Arc;

use tollgate_gossip::{Decoder, Encoder, Malformed, ModeKey, Writer};

use crate::amount::AMOUNT_MAX;

/// The first byte of every frame: the version of this encoding.
const VERSION: u8 = 0x41;
const REPORTS: u8 = 0;
const LEVELS: u8 = 1;
/// The longest frame that is read.
const FRAME_BYTES_MAX: usize = 1 << 12;
/// A frame is closed once it has that many bytes, so that it fits a datagram.
const FRAME_BYTES_FULL: usize = 1_000;

/// Tokens that a node took of a key and gave back to it, since it knows the key. Neither ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenSum {
    pub(super) spent: u64,
    pub(super) back: u64,
}

/// What a node did with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyncReport {
    pub(super) key: ModeKey,
    /// When the node began to count, in a sense: a later one has a larger one.
    pub(super) session: u64,
    pub(super) said: TokenSum,
    /// What of that a centre has confirmed.
    pub(super) heard: TokenSum,
    /// What the node believes the level is, without what is not confirmed.
    pub(super) level: i128,
}

/// How a key stands at its centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CentreLevel {
    pub(super) key: ModeKey,
    pub(super) session: u64,
    /// What it includes of the node that is answered.
    pub(super) heard: TokenSum,
    pub(super) level: i128,
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SyncFrame {
    /// By one boot of a node.
    Reports(Writer, Vec<SyncReport>),
    Levels(Vec<CentreLevel>),
}

impl TokenSum {
    /// The larger of both.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            spent: self.spent.max(other.spent),
            back: self.back.max(other.back),
        }
    }

    /// Whether it says no more than another.
    pub(super) const fn is_within(self, other: Self) -> bool {
        self.spent <= other.spent && self.back <= other.back
    }

    /// What it says beyond another.
    pub(super) const fn beyond(self, other: Self) -> Self {
        Self {
            spent: self.spent.saturating_sub(other.spent),
            back: self.back.saturating_sub(other.back),
        }
    }
}

/// What sessions and levels of a frame are told from, so that those that are alike take few bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    session: u64,
    level: i128,
}

/// Frames of reports, each short enough for a datagram.
pub(super) fn reports(writer: Writer, all: &[SyncReport]) -> Vec<Arc<[u8]>> {
    let base = Base::of(all.iter().map(|report| (report.session, report.level)));
    let head = |out: &mut Encoder| {
        out.u8(REPORTS);
        base.put(out);
        out.count(u64::from(writer.0));
    };
    frames(all, head, |out, report| {
        out.key(report.key);
        base.put_session(out, report.session);
        put_sum(out, report.said);
        put_sum(out, report.said.beyond(report.heard));
        base.put_level(out, report.level);
    })
}

/// Frames of answers, likewise.
pub(super) fn levels(all: &[CentreLevel]) -> Vec<Arc<[u8]>> {
    let base = Base::of(all.iter().map(|answer| (answer.session, answer.level)));
    let head = |out: &mut Encoder| {
        out.u8(LEVELS);
        base.put(out);
    };
    frames(all, head, |out, level| {
        out.key(level.key);
        base.put_session(out, level.session);
        put_sum(out, level.heard);
        base.put_level(out, level.level);
    })
}

fn frames<T>(
    all: &[T],
    head: impl Fn(&mut Encoder),
    put: impl Fn(&mut Encoder, &T),
) -> Vec<Arc<[u8]>> {
    let mut done = Vec::new();
    let mut rest = all.iter().peekable();
    while rest.peek().is_some() {
        let mut out = Encoder::default();
        out.u8(VERSION);
        head(&mut out);
        while out.len() < FRAME_BYTES_FULL
            && let Some(item) = rest.next()
        {
            put(&mut out, item);
        }
        done.push(out.finish());
    }
    done
}

impl Base {
    /// The latest session and the highest level.
    fn of(all: impl Iterator<Item = (u64, i128)>) -> Self {
        let most = |base: Self, (session, level): (u64, i128)| Self {
            session: base.session.max(session),
            level: base.level.max(level).min(AMOUNT_MAX),
        };
        all.fold(Self::default(), most)
    }

    fn put(self, out: &mut Encoder) {
        out.count(self.session);
        put_level(out, self.level);
    }

    fn get(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            session: from.count()?,
            level: amount(from)?,
        })
    }

    fn put_session(self, out: &mut Encoder, session: u64) {
        out.count(self.session - session);
    }

    fn session(self, from: &mut Decoder<'_>) -> Result<u64, Malformed> {
        let before = from.count()?;
        self.session.checked_sub(before).ok_or(Malformed::Value)
    }

    fn put_level(self, out: &mut Encoder, level: i128) {
        let below = self.level - level.clamp(-AMOUNT_MAX, AMOUNT_MAX);
        out.varint(below.unsigned_abs());
    }

    fn level(self, from: &mut Decoder<'_>) -> Result<i128, Malformed> {
        let below = i128::try_from(from.varint()?).ok();
        let level = below.and_then(|below| self.level.checked_sub(below));
        level
            .filter(|level| *level >= -AMOUNT_MAX)
            .ok_or(Malformed::Value)
    }
}

/// What the bytes of a frame say.
pub(super) fn read(frame: &[u8]) -> Result<SyncFrame, Malformed> {
    if frame.len() > FRAME_BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut from = Decoder::from_first(frame);
    match from.u8()? {
        VERSION => {}
        other => return Err(Malformed::Version(other)),
    }
    match from.u8()? {
        REPORTS => {
            let base = Base::get(&mut from)?;
            let writer = u16::try_from(from.count()?).map_err(|_| Malformed::Value)?;
            let reports = list(&mut from, |from| report(base, from))?;
            Ok(SyncFrame::Reports(Writer(writer), reports))
        }
        LEVELS => {
            let base = Base::get(&mut from)?;
            let levels = list(&mut from, |from| level(base, from))?;
            Ok(SyncFrame::Levels(levels))
        }
        other => Err(Malformed::Kind(other)),
    }
}

/// Everything up to the end; no item is shorter than its key, so that a frame has few.
fn list<T>(
    from: &mut Decoder<'_>,
    item: impl Fn(&mut Decoder<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut all = Vec::new();
    while !from.is_empty() {
        all.push(item(from)?);
    }
    Ok(all)
}

fn report(base: Base, from: &mut Decoder<'_>) -> Result<SyncReport, Malformed> {
    let (key, session, said) = (from.key()?, base.session(from)?, sum(from)?);
    let untold = sum(from)?;
    if !untold.is_within(said) {
        return Err(Malformed::Value);
    }
    Ok(SyncReport {
        key,
        session,
        said,
        heard: said.beyond(untold),
        level: base.level(from)?,
    })
}

fn level(base: Base, from: &mut Decoder<'_>) -> Result<CentreLevel, Malformed> {
    Ok(CentreLevel {
        key: from.key()?,
        session: base.session(from)?,
        heard: sum(from)?,
        level: base.level(from)?,
    })
}

fn put_sum(out: &mut Encoder, sum: TokenSum) {
    out.count(sum.spent);
    out.count(sum.back);
}

fn sum(from: &mut Decoder<'_>) -> Result<TokenSum, Malformed> {
    Ok(TokenSum {
        spent: from.count()?,
        back: from.count()?,
    })
}

/// Twice its size, and one more below zero.
fn put_level(out: &mut Encoder, level: i128) {
    let level = level.clamp(-AMOUNT_MAX, AMOUNT_MAX);
    out.varint(level.unsigned_abs() << 1 | u128::from(level < 0));
}

fn amount(from: &mut Decoder<'_>) -> Result<i128, Malformed> {
    let coded = from.varint()?;
    let size = i128::try_from(coded >> 1).map_err(|_| Malformed::Value)?;
    match (size <= AMOUNT_MAX, coded & 1) {
        (false, _) => Err(Malformed::Value),
        (true, 0) => Ok(size),
        (true, _) => Ok(-size),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums() -> impl Strategy<Value = (TokenSum, TokenSum)> {
        let pair =
            || (any::<u64>(), any::<u64>()).prop_map(|(spent, back)| TokenSum { spent, back });
        (pair(), pair()).prop_map(|(one, other)| (one.max(other), one))
    }

    fn some_reports() -> impl Strategy<Value = Vec<SyncReport>> {
        let level = -AMOUNT_MAX..=AMOUNT_MAX;
        let one = (any::<u128>(), any::<u64>(), sums(), level).prop_map(
            |(key, session, (said, heard), level)| SyncReport {
                key: ModeKey(key),
                session,
                said,
                heard,
                level,
            },
        );
        prop::collection::vec(one, 1..80)
    }

    proptest! {
        #[test]
        fn what_is_said_is_read(writer: u16, all in some_reports()) {
            let mut back = Vec::new();
            for frame in reports(Writer(writer), &all) {
                prop_assert!(frame.len() < FRAME_BYTES_FULL + 128);
                match read(&frame) {
                    Ok(SyncFrame::Reports(by, some)) if by == Writer(writer) => back.extend(some),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert_eq!(&back, &all);
            let answers: Vec<_> = all.iter().map(|of| CentreLevel {
                key: of.key,
                session: of.session,
                heard: of.heard,
                level: of.level,
            }).collect();
            let mut back = Vec::new();
            for frame in levels(&answers) {
                match read(&frame) {
                    Ok(SyncFrame::Levels(some)) => back.extend(some),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert_eq!(back, answers);
        }

        #[test]
        fn garbage_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0..3_u8) {
            let _ = read(&bytes);
            let _ = read(&[&[VERSION, kind], &bytes[..]].concat());
        }

        #[test]
        fn what_is_cut_short_is_refused(all in some_reports(), cut in 1..16_usize) {
            for frame in reports(Writer(1), &all) {
                prop_assert!(read(&frame[..frame.len() - cut]).is_err());
            }
        }
    }

    #[test]
    fn what_is_confirmed_without_having_been_said_is_refused() {
        let mut out = Encoder::default();
        out.u8(VERSION);
        out.u8(REPORTS);
        Base::default().put(&mut out);
        out.count(1);
        out.key(ModeKey(1));
        for number in [0, 5, 0, 6, 0, 0] {
            out.count(number);
        }
        assert_eq!(read(&out.finish()), Err(Malformed::Value));
        assert_eq!(
            read(&[VERSION; FRAME_BYTES_MAX + 1]),
            Err(Malformed::TooLong)
        );
    }
}
