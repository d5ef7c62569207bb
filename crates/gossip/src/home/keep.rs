//! Copies for the nodes before in the ring: what each admitted and has told nobody else.
//!
//! A copy is stored and not counted. When its writer has restarted under a new name it goes to the homes under the old
//! one, with an odd version: later than the last report, earlier than the next. So nothing counts twice. Not here: when
//! to send copies.

use std::collections::BTreeMap;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, NodeId, Writer};

use crate::home::alarm::Alarm;
use crate::home::wire::{Held, Kept};

/// Copies kept for others.
const COPIES_MAX: usize = 1 << 20;

/// What is kept for one other node, of the few before in the ring.
#[derive(Debug, Default)]
struct Room {
    writer: Option<Writer>,
    sequence: u64,
    copies: BTreeMap<Key, Copy>,
}

#[derive(Debug)]
struct Copy {
    version: u64,
    list: Vec<crate::list::Segment>,
    until: Instant,
}

/// Copies by the node they are kept for.
#[derive(Debug, Default)]
pub(super) struct Copies {
    rooms: BTreeMap<NodeId, Room>,
    alarm: Alarm,
    bytes: u64,
    count: usize,
}

impl Copies {
    /// Keeps what a node sent; copies of its boot before are dropped, and so is what comes late.
    pub(super) fn keep(
        &mut self,
        from: NodeId,
        name: (Writer, u64),
        kept: Vec<Kept>,
        now: Instant,
    ) {
        let (writer, sequence) = name;
        let room = self.rooms.entry(from).or_default();
        if room.writer != Some(writer) {
            let dropped = std::mem::take(&mut room.copies);
            self.count -= dropped.len();
            self.bytes -= dropped.values().map(Copy::bytes).sum::<u64>();
            *room = Room {
                writer: Some(writer),
                ..Room::default()
            };
        }
        let is_late = sequence < room.sequence;
        room.sequence = room.sequence.max(sequence);
        for kept in kept {
            let is_known = room.copies.contains_key(&kept.key);
            if (is_late && is_known) || self.count >= COPIES_MAX {
                continue;
            }
            let nanos = u128::from(kept.seconds) * 1_000_000_000;
            let copy = Copy {
                version: kept.version,
                list: kept.list,
                until: now.saturating_add(Span::from_nanos(nanos)),
            };
            self.bytes += copy.bytes();
            self.alarm.by(kept.key, copy.until);
            if let Some(before) = room.copies.insert(kept.key, copy) {
                self.bytes -= before.bytes();
            } else {
                self.count += 1;
            }
        }
    }

    /// Takes what is kept of a former boot of a node, and until when it matters.
    pub(super) fn take(&mut self, from: NodeId, writer: Writer) -> Vec<(Key, Instant, Held)> {
        let is_of = |room: &Room| room.writer == Some(writer);
        if !self.rooms.get(&from).is_some_and(is_of) {
            return Vec::new();
        }
        let copies = self.rooms.remove(&from).unwrap_or_default().copies;
        self.count -= copies.len();
        self.bytes -= copies.values().map(Copy::bytes).sum::<u64>();
        let held = |copy: Copy| Held {
            writer,
            version: copy.version,
            list: copy.list,
        };
        let all = copies.into_iter();
        all.map(|(key, copy)| (key, copy.until, held(copy)))
            .collect()
    }

    /// Drops copies that cannot matter any more.
    pub(super) fn prune(&mut self, now: Instant) {
        for key in self.alarm.due(now) {
            for room in self.rooms.values_mut() {
                match room.copies.get(&key) {
                    Some(copy) if copy.until <= now => {
                        self.bytes -= copy.bytes();
                        self.count -= 1;
                        room.copies.remove(&key);
                    }
                    Some(copy) => self.alarm.by(key, copy.until),
                    None => {}
                }
            }
        }
        self.rooms.retain(|_, room| !room.copies.is_empty());
    }

    /// Drops what is kept of the key whose copies matter for the shortest time; `false` where nothing is kept.
    pub(super) fn drop_first(&mut self) -> bool {
        let Some(key) = self.alarm.first() else {
            return false;
        };
        self.alarm.set(key, None);
        for room in self.rooms.values_mut() {
            if let Some(copy) = room.copies.remove(&key) {
                self.bytes -= copy.bytes();
                self.count -= 1;
            }
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.alarm.next()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Copy {
    /// Key, version, an instant, and 9 for each segment.
    fn bytes(&self) -> u64 {
        29 + 9 * self.list.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(key: u128, version: u64) -> Kept {
        Kept {
            key: Key(key),
            seconds: 2,
            version,
            list: Vec::new(),
        }
    }

    #[test]
    fn a_copy_is_given_back_once_and_only_of_a_former_boot() {
        let (node, start) = (NodeId(1), Instant::from_nanos(0));
        let mut copies = Copies::default();
        copies.keep(node, (Writer(1), 4), vec![kept(7, 3)], start);
        copies.keep(node, (Writer(1), 3), vec![kept(7, 1), kept(8, 1)], start);
        assert!(copies.take(node, Writer(2)).is_empty());
        let given = copies.take(node, Writer(1));
        assert_eq!(given.len(), 2);
        assert_eq!(given[0].2.version, 3);
        assert!(copies.take(node, Writer(1)).is_empty());
        assert_eq!((copies.bytes(), copies.count), (0, 0));
    }

    #[test]
    fn a_copy_is_dropped_when_it_cannot_matter() {
        let mut copies = Copies::default();
        copies.keep(
            NodeId(1),
            (Writer(1), 4),
            vec![kept(7, 3)],
            Instant::from_nanos(0),
        );
        copies.prune(Instant::from_nanos(1_999_999_999));
        assert_eq!(copies.bytes(), 29);
        copies.prune(Instant::from_nanos(2_000_000_000));
        assert_eq!((copies.bytes(), copies.next()), (0, None));
    }
}
