//! Lists of this node's former boots that it saved itself, and who has yet to hear of them.
//!
//! After a restart of one node its peers know most of them: what a newcomer hears is struck off here. After a restart
//! of everybody nobody else does, so they are told to each node that is met, in pages. They count as untold until then.
//! Not here: bytes, and where they were saved.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, Malformed, NodeId, Writer};

use super::frame::{COUNT_MAX, Copied, Entry, Frame};
use super::rule::{Rule, Taken};
use super::{Record, Talk};
use crate::list::Segment;

/// For so long whoever is met is told: a cluster that starts at once has met by then.
const TOLD_FOR: Span = Span::from_nanos(60_000_000_000);
/// Keys told in one tick.
const KEYS_AT_ONCE: usize = 1 << 15;
/// Former boots that are remembered; lists of further ones are saved once more at most.
const FORMER_MAX: usize = 1 << 10;

/// What was saved by former boots of this node.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// Writers of former boots.
    former: BTreeSet<Writer>,
    /// Keys, and whether this boot has told anybody of them.
    keys: BTreeMap<Key, bool>,
    until: Instant,
    /// Who is told now, and how far that has come.
    to: Vec<NodeId>,
    after: Option<Key>,
    /// Who is told next.
    next: BTreeSet<NodeId>,
}

impl Restored {
    /// Whether anybody is to be told of anything.
    pub(super) fn waits(&self) -> bool {
        let has_audience = !self.to.is_empty() || !self.next.is_empty();
        has_audience && !self.keys.is_empty()
    }

    /// Hears of nodes that are there.
    pub(super) fn meet(&mut self, nodes: &[NodeId]) {
        if !self.keys.is_empty() {
            self.next.extend(nodes);
        }
    }

    /// Notes that everybody who is there was told of a key.
    pub(super) fn told(&mut self, key: Key) {
        if let Some(is_told) = self.keys.get_mut(&key) {
            *is_told = true;
        }
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.keys.remove(&key);
    }

    /// The next keys, and whom to tell of them.
    fn page(&mut self) -> (Vec<NodeId>, Vec<(Key, bool)>) {
        if self.to.is_empty() {
            self.to = std::mem::take(&mut self.next).into_iter().collect();
            self.after = None;
        }
        let from = self.after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = self.keys.range((from, Bound::Unbounded));
        let page: Vec<_> = page
            .map(|(&key, &is_told)| (key, is_told))
            .take(KEYS_AT_ONCE)
            .collect();
        let to = self.to.clone();
        self.after = page.last().map(|&(key, _)| key);
        if page.len() < KEYS_AT_ONCE {
            self.to.clear();
        }
        (to, page)
    }
}

impl<R: Rule> Talk<R> {
    /// What this node and its former boots admitted for a key, as a frame.
    pub(super) fn saved(&mut self, key: Key, now: Instant) -> Option<std::sync::Arc<[u8]>> {
        if !self.keys.contains_key(&key) {
            return None;
        }
        let own = self.change(key, now, |rule, record| rule.whole(&record.cell))?;
        let record = self.keys.get(&key)?;
        let mut copies = Vec::new();
        // Saved under a number of its own, as it may hold more than what was said last.
        let version = self.post.skip();
        let writer = self.post.writer;
        let own = Entry {
            writer,
            version,
            list: own,
        };
        let former = record.known.of(&self.restored.former);
        for entry in std::iter::once(own).chain(former) {
            if !entry.list.is_empty() {
                let secret = total(&entry.list);
                copies.push(Copied { key, secret, entry });
            }
        }
        (!copies.is_empty()).then(|| self.post.write(&Frame::Kept(copies)))
    }

    /// Takes back what [`Self::saved`] wrote: nobody is thought to know it, until it is told or heard.
    pub(super) fn take_saved(&mut self, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        let latest = crate::codec::latest(now);
        let (header, frame) = Frame::decode(frame, latest)?;
        let Frame::Kept(copies) = frame else {
            return Err(Malformed::Kind(header.kind));
        };
        if copies.is_empty() {
            return Err(Malformed::Truncated);
        }
        self.wind(now);
        for Copied { key, secret, entry } in copies {
            let writer = entry.writer;
            if writer == self.post.writer {
                continue;
            }
            let has_room = self.change(key, now, |rule, record| {
                let Record { cell, known, .. } = record;
                if let Some(cost) = known.restore(entry, secret) {
                    rule.restore(cell, known, Taken { cost, now });
                }
            });
            if has_room.is_some() {
                if self.restored.former.len() < FORMER_MAX {
                    self.restored.former.insert(writer);
                }
                self.restored.keys.insert(key, false);
            }
        }
        self.restored.until = now.saturating_add(TOLD_FOR);
        let others = self.post.others();
        self.restored.meet(&others);
        Ok(())
    }

    /// Tells whoever was met of what former boots saved, a page in a tick, once the others have told what they know.
    pub(super) fn tell_restored(&mut self, now: Instant) {
        if self.restored.until <= now {
            self.restored.keys.clear();
        }
        if !self.restored.waits() || self.repair.is_joining() {
            return;
        }
        let (to, keys) = self.restored.page();
        let mut known = Vec::new();
        for (key, is_told) in keys {
            if let Some(entries) = self.tell_of(key, is_told, now) {
                known.push((key, entries));
            } else {
                self.restored.remove(key);
            }
        }
        for node in to {
            if !known.is_empty() {
                self.send_known(node, known.clone(), Frame::Full);
            }
        }
    }

    /// What former boots admitted for a key, known to everybody from now on; `None` if others knew it all.
    fn tell_of(&mut self, key: Key, is_told: bool, now: Instant) -> Option<Vec<Entry>> {
        let has_untold = self.known(key)?.has_untold();
        if !has_untold && !is_told {
            return None;
        }
        let writers = self.restored.former.clone();
        let has_own = self.change(key, now, |rule, record| {
            let has_own = !rule.whole(&record.cell).is_empty();
            if has_untold && !has_own {
                rule.speak(&mut record.cell, now);
                record.known.tell();
            }
            has_own
        })?;
        if has_untold && has_own {
            self.publish(key, now);
        } else if has_untold {
            self.note_change(key, now);
        }
        self.restored.told(key);
        let entries = self.known(key)?.of(&writers);
        (!entries.is_empty()).then_some(entries)
    }
}

fn total(list: &[Segment]) -> u64 {
    let counts = list.iter().map(|segment| segment.count);
    counts.fold(0, u64::saturating_add).min(COUNT_MAX)
}
