//! The format of a key's state in Redis: one head, and a list for each policy that remembers entries.
//!
//! The head is self-describing, so that it can be read without the policies that wrote it. Numbers
//! that Lua could not hold exactly are strings of digits, at which the script leaves the decision to Rust. Not here:
//! writing.

use tollgate_limit::{Instant, KeptState};
use tollgate_store::StoredKey;

use crate::exact::{NARROW, seconds};
use crate::pack::{Packed, Packer, Unpacker};

pub(crate) const BUCKET: u64 = 1;
pub(crate) const WINDOW: u64 = 2;
pub(crate) const WEIGHTED: u64 = 3;
pub(crate) const LOG: u64 = 4;
pub(crate) const SLICES: u64 = 5;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredHead {
    pub(crate) version: u64,
    /// The number of the policies' shape.
    pub(crate) shape: u64,
    pub(crate) at: Instant,
    pub(crate) slots: Vec<HeadSlot>,
}

/// The numbers of one policy in a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeadSlot {
    Kept(KeptState),
    /// The entries are in a list.
    Listed(Listed),
}

/// The part of a list in the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) kind: u64,
    sum: u128,
    newest: u64,
    count: u64,
}

/// A time and a cost.
type Entry = (u64, u64);

impl StoredHead {
    /// `None` if it does not parse.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = Unpacker(bytes);
        let Packed::Array(_) = from.value()? else {
            return None;
        };
        let (version, shape) = (from.number()?, from.number()?);
        let at = Instant::from_nanos(time(&mut from)?);
        let mut slots = Vec::new();
        while !from.is_empty() {
            slots.push(slot(&mut from)?);
        }
        Some(Self {
            version,
            shape,
            at,
            slots,
        })
    }

    /// Indexes of the policies with a list.
    pub(crate) fn lists(&self) -> impl Iterator<Item = usize> + '_ {
        let listed = |(_, slot): &(usize, &HeadSlot)| matches!(slot, HeadSlot::Listed(_));
        self.slots
            .iter()
            .enumerate()
            .filter(listed)
            .map(|(place, _)| place)
    }

    /// The full state, given each list from its oldest entry on.
    ///
    /// A list may end early: the rest of its sum then counts at its newest time, which gives the same answer to
    /// every question but "when do the missing ones expire", and the script cuts no list for that question. With
    /// `whole` lists, one that differs from the head was lost, with its entries.
    pub(crate) fn found(&self, lists: &[Vec<Entry>], whole: bool) -> StoredKey {
        let mut lists = lists.iter();
        let kept = self.slots.iter().map(|slot| match slot {
            HeadSlot::Kept(kept) => kept.clone(),
            HeadSlot::Listed(listed) => {
                let entries = lists.next().map_or(&[][..], Vec::as_slice);
                KeptState::Entries(listed.entries(entries, whole))
            }
        });
        StoredKey {
            at: self.at,
            kept: kept.collect(),
        }
    }
}

impl Listed {
    fn entries(&self, oldest: &[Entry], whole: bool) -> Vec<Entry> {
        let sum: u128 = oldest.iter().map(|entry| u128::from(entry.1)).sum();
        if whole {
            let is_there = oldest.len() as u64 == self.count && sum == self.sum;
            return if is_there {
                oldest.to_vec()
            } else {
                Vec::new()
            };
        }
        let mut entries = oldest.to_vec();
        let rest = self.sum.saturating_sub(sum);
        if rest > 0 {
            entries.push((self.newest, u64::try_from(rest).unwrap_or(u64::MAX)));
        }
        entries
    }
}

/// `kinds` are those of the policies.
pub(crate) fn write(version: u64, shape: u64, found: &StoredKey, kinds: &[u64]) -> Vec<u8> {
    let mut to = Packer::default();
    let length = |kept: &KeptState| match kept {
        KeptState::Spent(_) | KeptState::Count(_) => 2,
        KeptState::Pair { .. } => 3,
        KeptState::Entries(_) => 5,
    };
    to.array(4 + found.kept.iter().map(length).sum::<usize>());
    to.number(version);
    to.number(shape);
    put_time(&mut to, found.at.as_nanos());
    for (kept, kind) in found.kept.iter().zip(kinds) {
        to.number(*kind);
        match kept {
            KeptState::Spent(grains) => put_wide(&mut to, *grains),
            KeptState::Count(count) => put_wide(&mut to, u128::from(*count)),
            KeptState::Pair { current, previous } => {
                put_wide(&mut to, u128::from(*current));
                put_wide(&mut to, u128::from(*previous));
            }
            KeptState::Entries(entries) => {
                put_wide(
                    &mut to,
                    entries.iter().map(|entry| u128::from(entry.1)).sum(),
                );
                put_time(&mut to, entries.last().map_or(0, |entry| entry.0));
                to.number(entries.len() as u64);
            }
        }
    }
    to.into_bytes()
}

pub(crate) fn write_entry(time: u64, cost: u64) -> Vec<u8> {
    let mut to = Packer::default();
    put_time(&mut to, time);
    put_wide(&mut to, u128::from(cost));
    to.into_bytes()
}

/// `None` if it does not parse.
pub(crate) fn read_entry(bytes: &[u8]) -> Option<Entry> {
    let mut from = Unpacker(bytes);
    let time = time(&mut from)?;
    Some((time, u64::try_from(wide(&mut from)?).ok()?))
}

fn slot(from: &mut Unpacker<'_>) -> Option<HeadSlot> {
    let narrow = |number: u128| u64::try_from(number).ok();
    let kept = match from.number()? {
        BUCKET => KeptState::Spent(wide(from)?),
        WINDOW => KeptState::Count(narrow(wide(from)?)?),
        WEIGHTED => KeptState::Pair {
            current: narrow(wide(from)?)?,
            previous: narrow(wide(from)?)?,
        },
        kind @ (LOG | SLICES) => {
            return Some(HeadSlot::Listed(Listed {
                kind,
                sum: wide(from)?,
                newest: time(from)?,
                count: from.number()?,
            }));
        }
        _ => return None,
    };
    Some(HeadSlot::Kept(kept))
}

fn wide(from: &mut Unpacker<'_>) -> Option<u128> {
    match from.value()? {
        Packed::Number(number) => Some(u128::from(number)),
        Packed::String(digits) => core::str::from_utf8(digits).ok()?.parse().ok(),
        Packed::Array(_) => None,
    }
}

fn put_wide(to: &mut Packer, number: u128) {
    match u64::try_from(number) {
        Ok(number) if number < NARROW => to.number(number),
        Ok(_) | Err(_) => to.string(number.to_string().as_bytes()),
    }
}

fn time(from: &mut Unpacker<'_>) -> Option<u64> {
    let (seconds, nanos) = (from.number()?, from.number()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

fn put_time(to: &mut Packer, nanos: u64) {
    let (seconds, nanos) = seconds(u128::from(nanos));
    to.number(seconds);
    to.number(nanos);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let found = StoredKey {
            at: Instant::LAST,
            kept: vec![
                KeptState::Spent(u128::MAX),
                KeptState::Count(u64::MAX),
                KeptState::Pair {
                    current: 1,
                    previous: 1 << 53,
                },
                KeptState::Entries(vec![(1, 2), (u64::MAX - 1, 3)]),
            ],
        };
        let bytes = write(7, 1 << 47, &found, &[BUCKET, WINDOW, WEIGHTED, LOG]);
        let head = StoredHead::read(&bytes).expect("a head");
        assert_eq!((head.version, head.shape), (7, 1 << 47));
        assert_eq!(head.lists().collect::<Vec<_>>(), [3]);
        let lists = [vec![(1, 2), (u64::MAX - 1, 3)]];
        assert_eq!(head.found(&lists, true), found);
        assert_eq!(
            head.found(&[vec![(1, 2)]], false),
            found,
            "the rest is at the newest time"
        );
        let lost = head.found(&[vec![(1, 2)]], true);
        assert_eq!(lost.kept[3], KeptState::Entries(Vec::new()));
        for length in 0..bytes.len() {
            let _ = StoredHead::read(&bytes[..length]);
        }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for (time, cost) in [(0, 1), (u64::MAX - 1, u64::MAX), (1_000_000_000, NARROW)] {
            assert_eq!(read_entry(&write_entry(time, cost)), Some((time, cost)));
        }
        assert_eq!(read_entry(&[0xC0]), None);
    }
}
