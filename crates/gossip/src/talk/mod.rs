//! How a node that keeps silent lists speaks: publishing to everybody, copies to a buddy, and what loss needs.
//!
//! Shared by the designs that publish whole lists; a [`Rule`] says what lists mean, and when to speak. Publications
//! carry everything a writer has about a key, so a later one repairs the loss of an earlier one. Not here: levels.

mod exchange;
mod frame;
mod kept;
mod known;
mod post;
mod repair;
mod restored;
mod room;
mod rule;

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, NodeId};

use crate::setup::Setup;
use crate::spare::Hand;

use self::frame::{Copied, list_bytes, parts};
use self::kept::Kept;
use self::known::Merged;
use self::post::{Beat, Post};
use self::repair::Repair;
use self::restored::Restored;

pub(crate) use self::frame::{COUNT_MAX, Entry, Frame};
pub(crate) use self::known::Known;
pub(crate) use self::rule::{News, Rule, Taken};

/// Keys remembered at most. Beyond that one with much left makes room for another.
const KEYS_MAX: usize = 1 << 20;
/// A key is pruned no more often than that.
pub(crate) const PRUNE_EVERY: Span = Span::from_nanos(1_000_000_000);

/// A node's part in a design that publishes lists.
#[derive(Debug)]
pub(crate) struct Talk<R: Rule> {
    rule: R,
    post: Post,
    keys: BTreeMap<Key, Record<R::Cell>>,
    /// When to prune which key.
    due: BTreeSet<(Instant, Key)>,
    tick: Beat,
    /// Keys whose unpublished lists the buddy does not have as they are; `None` if there are no copies.
    unkept: Option<BTreeSet<Key>>,
    kept: Kept,
    repair: Repair,
    restored: Restored,
    bytes: u64,
    /// Goes round the keys that may be forgotten for want of room.
    hand: Hand,
}

#[derive(Debug)]
struct Record<C> {
    cell: C,
    known: Known,
    due: Instant,
}

impl<R: Rule> Talk<R> {
    pub(crate) fn new(mut rule: R, setup: &Setup) -> Self {
        let mut post = Post::new(setup);
        rule.set_nodes(post.nodes());
        let interval = setup.knobs.interval;
        let first = setup.start.saturating_add(post.part_of(interval));
        let repair = Repair::new(setup, &mut post);
        Self {
            rule,
            post,
            keys: BTreeMap::new(),
            due: BTreeSet::new(),
            tick: Beat::new(interval, first),
            unkept: setup.knobs.buddy.then(BTreeSet::new),
            kept: Kept::default(),
            repair,
            restored: Restored::default(),
            bytes: 0,
            hand: Hand::default(),
        }
    }

    pub(crate) fn rule(&self) -> &R {
        &self.rule
    }

    pub(crate) fn cell(&self, key: Key) -> Option<&R::Cell> {
        self.keys.get(&key).map(|record| &record.cell)
    }

    /// What is kept about every key.
    #[cfg(test)]
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&R::Cell, &Known)> {
        let records = self.keys.values();
        records.map(|record| (&record.cell, &record.known))
    }

    pub(crate) fn known(&self, key: Key) -> Option<&Known> {
        self.keys.get(&key).map(|record| &record.known)
    }

    /// Counts what was admitted here, and speaks if that is due.
    pub(crate) fn admit(&mut self, key: Key, cost: u64, now: Instant) {
        self.wind(now);
        let Some(must_speak) = self.change(key, now, |rule, record| {
            rule.accept(&mut record.cell, &record.known, Taken { cost, now });
            rule.must_speak(&mut record.cell, now)
        }) else {
            return;
        };
        if must_speak {
            self.publish(key, now);
        } else if let Some(unkept) = &mut self.unkept {
            unkept.insert(key);
        }
    }

    /// Publishes a key of which anything is unpublished.
    fn tell_secret(&mut self, key: Key, now: Instant) {
        let secret = self.change(key, now, |rule, record| rule.secret(&mut record.cell, now));
        if secret.is_some_and(|secret| secret > 0) {
            self.publish(key, now);
        }
    }

    /// Publishes the whole list of a key to everybody.
    fn publish(&mut self, key: Key, now: Instant) {
        let Some(Some((list, told, check))) = self.change(key, now, |rule, record| {
            let list = rule.speak(&mut record.cell, now);
            let told = record.known.tell();
            let is_empty = list.is_empty() && record.known.said.is_none();
            let check = rule.check(&record.cell, now);
            (!is_empty || !told.is_empty()).then_some(((!is_empty).then_some(list), told, check))
        }) else {
            return;
        };
        if let Some(list) = list {
            let version = self.post.broadcast(&Frame::Publish { key, check, list });
            self.change(key, now, |_, record| record.known.said = Some(version));
        }
        if !told.is_empty() {
            self.restored.told(key);
            self.post.broadcast(&Frame::Fill(vec![(key, told)]));
        }
        if let Some(unkept) = &mut self.unkept {
            unkept.remove(&key);
        }
        self.note_change(key, now);
    }

    /// Merges news of one key, and speaks if that is due.
    fn hear(&mut self, key: Key, entries: Vec<Entry>, now: Instant) {
        let mut is_changed = false;
        let mut wakes = false;
        for entry in entries {
            self.kept.publish(key, entry.writer, entry.version);
            if let Some(first) = self.merge(key, entry, now) {
                is_changed = true;
                wakes |= first;
            }
        }
        if is_changed {
            self.note_change(key, now);
            self.speak_if_due(key, wakes, now);
        }
    }

    /// Merges one entry: `None` if it is nothing new, else whether the key was idle.
    fn merge(&mut self, key: Key, entry: Entry, now: Instant) -> Option<bool> {
        let is_mine = entry.writer == self.post.writer;
        let is_void = entry.list.is_empty() && !self.keys.contains_key(&key);
        if is_mine || is_void {
            return None;
        }
        let new = entry.list.clone();
        self.change(key, now, |rule, record| match record.known.merge(entry) {
            Merged::Stale => None,
            Merged::Replaced { old, told } => {
                let (old, new) = (&*old, &*new);
                let news = News {
                    old,
                    new,
                    told,
                    now,
                };
                Some(rule.learn(&mut record.cell, &record.known, news))
            }
        })?
    }

    /// Publishes what is too much, or whatever there is when the key has just woken.
    fn speak_if_due(&mut self, key: Key, wakes: bool, now: Instant) {
        let must_speak = self.change(key, now, |rule, record| {
            let flushes = wakes && rule.secret(&mut record.cell, now) > 0;
            flushes || rule.must_speak(&mut record.cell, now)
        });
        if must_speak == Some(true) {
            self.publish(key, now);
        }
    }

    /// Changes what is known of a key, and keeps count of its bytes. `None` if there is no room for the key.
    fn change<T>(
        &mut self,
        key: Key,
        now: Instant,
        change: impl FnOnce(&R, &mut Record<R::Cell>) -> T,
    ) -> Option<T> {
        if !self.keys.contains_key(&key) {
            self.begin(key, now)?;
        }
        let record = self.keys.get_mut(&key)?;
        let before = self.rule.bytes(&record.cell) + record.known.bytes();
        let is_rewritten = self.rule.settle(&mut record.cell, &mut record.known, now);
        let result = change(&self.rule, record);
        self.bytes += self.rule.bytes(&record.cell) + record.known.bytes();
        self.bytes -= before;
        if let Some(unkept) = self.unkept.as_mut().filter(|_| is_rewritten) {
            unkept.insert(key);
        }
        Some(result)
    }

    fn begin(&mut self, key: Key, now: Instant) -> Option<()> {
        if self.keys.len() >= KEYS_MAX && !self.forget_one(now) {
            return None;
        }
        let due = now.saturating_add(PRUNE_EVERY);
        let cell = self.rule.fresh(now);
        let known = Known::default();
        self.bytes += self.rule.bytes(&cell) + known.bytes();
        self.keys.insert(key, Record { cell, known, due });
        self.due.insert((due, key));
        Some(())
    }

    /// Something published about the key changed: prune it soon, and let digests mention it.
    fn note_change(&mut self, key: Key, now: Instant) {
        self.repair.note_change(key, now);
        let soon = now.saturating_add(PRUNE_EVERY);
        if let Some(record) = self.keys.get_mut(&key)
            && record.due > soon
        {
            self.due.remove(&(record.due, key));
            self.due.insert((soon, key));
            record.due = soon;
        }
    }

    fn prune_due(&mut self, now: Instant) {
        while let Some(&(due, key)) = self.due.first().filter(|&&(due, _)| due <= now) {
            self.due.remove(&(due, key));
            let next = self.change(key, now, |rule, record| {
                rule.prune(&mut record.cell, &mut record.known, now)
            });
            match (next.flatten(), self.keys.get_mut(&key)) {
                (Some(next), Some(record)) => {
                    record.due = next.max(now.saturating_add(PRUNE_EVERY));
                    self.due.insert((record.due, key));
                }
                _ => self.remove(key),
            }
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some(record) = self.keys.remove(&key) {
            self.bytes -= self.rule.bytes(&record.cell) + record.known.bytes();
        }
        if let Some(unkept) = &mut self.unkept {
            unkept.remove(&key);
        }
        self.restored.remove(key);
    }

    /// Sends the buddy the lists that have changed.
    fn send_copies(&mut self, now: Instant) {
        let Some(unkept) = self.unkept.as_mut().filter(|unkept| !unkept.is_empty()) else {
            return;
        };
        let mut copies = Vec::new();
        for key in std::mem::take(unkept) {
            let Some(record) = self.keys.get_mut(&key) else {
                continue;
            };
            let secret = self.rule.secret(&mut record.cell, now);
            let list = self.rule.whole(&record.cell);
            if secret > 0 && !list.is_empty() {
                let entry = Entry {
                    writer: self.post.writer,
                    version: 0,
                    list,
                };
                copies.push(Copied { key, secret, entry });
            }
        }
        let Some(buddy) = self.post.buddy().filter(|_| !copies.is_empty()) else {
            return;
        };
        for part in parts(copies, |copy| 26 + list_bytes(&copy.entry.list)) {
            self.post.send(buddy, &Frame::Keep(part));
        }
    }

    fn keep(&mut self, from: NodeId, copies: Vec<Copied>, now: Instant) {
        for copied in copies {
            let known = self.known(copied.key);
            let version = known.and_then(|known| known.version(copied.entry.writer));
            if version >= Some(copied.entry.version) {
                continue;
            }
            let due = self.rule.keep_until(copied.secret, now);
            self.kept.keep(from, copied, due);
        }
    }

    /// Drops copies that their writers have dropped by now.
    fn drop_old_copies(&mut self, now: Instant) {
        while let Some((key, writer, secret)) = self.kept.pop_due(now) {
            let cell = self.keys.get(&key).map(|record| &record.cell);
            if cell.is_some_and(|cell| self.rule.holds_copies(cell, now)) {
                let soon = now.saturating_add(PRUNE_EVERY);
                let due = self.rule.keep_until(secret, now).max(soon);
                self.kept.delay(key, writer, due);
            } else {
                self.kept.remove(key, writer);
            }
        }
    }

    /// The buddy has no copies, or is another: send it all again.
    fn keep_all_again(&mut self, now: Instant) {
        self.wind(now);
        if let Some(unkept) = &mut self.unkept {
            unkept.extend(self.keys.keys());
        }
    }

    /// Skips the beats that nobody waited for.
    fn wind(&mut self, now: Instant) {
        if !self.waits_for_tick() {
            self.tick.pass(now);
        }
        self.repair.wind(now);
    }

    fn waits_for_tick(&self) -> bool {
        let has_copies = self
            .unkept
            .as_ref()
            .is_some_and(|unkept| !unkept.is_empty());
        has_copies || self.repair.waits_for_tick() || self.restored.waits()
    }
}
