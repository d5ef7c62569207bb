//! What a machine does beside deciding: it delivers copies, forgets what counts no more, makes room, saves and
//! restores.
//!
//! Not here: what is worth keeping of a key (`law`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::ModeKey;

use super::law::{Age, DUE, Law, LinkEntry, UNKEPT, What};
use super::machine::{Machine, SWEEP_FEW, mark, numbered, unmark};
use super::saved::SavedKey;
use super::wire::{BODY_BYTES, bodies};

/// Keys are looked at so often,
const SWEEP_EVERY: Span = Span::from_nanos(100_000_000);
/// so many at once.
const SWEPT: usize = 512;
/// Keys that are looked at by chance for one to forget,
const LOOKED: usize = 16;
/// and at most where all of those have nothing left.
const LOOKED_MAX: usize = 512;

impl<L: Law> Machine<L> {
    /// Sends copies of what is silent to the successor.
    pub(super) fn deliver_copies(&mut self) {
        let now = self.now;
        let Some(to) = self.post.successor() else {
            return;
        };
        let mut entries = Vec::new();
        for key in self.keep.take_due(now) {
            if !self.keys.contains_key(key) {
                continue;
            }
            let segs = self.change(key, |law, cell| {
                let is_marked = unmark(law, cell, UNKEPT);
                if is_marked {
                    law.silent(cell, now)
                } else {
                    Vec::new()
                }
            });
            if !segs.is_empty() {
                let what = What::Report(segs);
                entries.push(LinkEntry { key, what });
            }
        }
        let number = self.post.number();
        for body in bodies(&entries, now, BODY_BYTES) {
            let copies = numbered(number, now, body);
            self.post.send(to, |head| head.keep(&copies), now);
        }
    }

    /// Forgets some of what counts no more.
    pub(super) fn sweep(&mut self) {
        let (now, all) = (self.now, self.keys.len());
        let (mut seen, mut next) = (0, Instant::LAST);
        while seen < all.min(SWEPT) && !self.keys.is_empty() {
            let Some(key) = self.keys.sweep() else {
                continue;
            };
            seen += 1;
            let is_uncopied = self.uncopied > 0;
            self.uncopied = self.uncopied.saturating_sub(1);
            let (look, is_unkept) = self.change(key, |law, cell| {
                let is_silent = is_uncopied && !law.silent(cell, now).is_empty();
                if is_silent {
                    mark(law, cell, UNKEPT);
                }
                (law.settle(cell, now), is_silent)
            });
            if is_unkept {
                self.keep.note(key);
            }
            match look {
                Some(look) => next = next.min(look),
                None => self.remove(key),
            }
        }
        self.keep.sweep(&self.law, now);
        let is_few = all <= SWEPT && self.keep.len() <= SWEPT;
        let wait = if is_few { SWEEP_FEW } else { SWEEP_EVERY };
        let soon = now.saturating_add(wait);
        let is_empty = self.keys.is_empty() && self.keep.len() == 0;
        let at = if is_few && self.keep.len() == 0 {
            next.max(soon)
        } else {
            soon
        };
        self.sweep_at = (!is_empty).then_some(at);
    }

    /// Forgets of a few keys the one that has most left, once the others are told what only this node knew of it.
    pub(super) fn evict(&mut self, now: Instant) -> bool {
        let now = self.wind(now);
        let mut best: Option<(u64, ModeKey)> = None;
        for looked in 1..=LOOKED_MAX {
            let Some(key) = self.keys.by_chance(&mut self.dice) else {
                continue;
            };
            let left = self.law.left(self.cell(key), now);
            if best.is_none_or(|(most, _)| left > most) {
                best = Some((left, key));
            }
            if looked >= LOOKED && best.is_some_and(|(most, _)| most > 0) {
                break;
            }
        }
        let Some((_, key)) = best else { return false };
        let segs = self.change(key, |law, cell| law.report(cell, now));
        if !segs.is_empty() {
            let what = What::Report(segs);
            self.say(LinkEntry { key, what });
        }
        self.remove(key);
        true
    }

    /// Gives up a copy that is kept for another node, or what waits for a link.
    pub(super) fn drop_copy(&mut self) -> bool {
        self.post.make_room() || self.keep.drop_one(&self.law)
    }

    /// Takes what a former start saved of a key.
    pub(super) fn restore(&mut self, key: ModeKey, saved: &SavedKey, now: Instant) {
        let now = self.wind(now);
        self.join.has_restored = true;
        let is_due = self.change(key, |law, cell| {
            law.raise(cell, &saved.told, Age::Fresh, now);
            law.recall(cell, &saved.silent, now);
            law.is_over_share(cell, now) && mark(law, cell, DUE)
        });
        if is_due {
            self.report_soon(key);
        }
    }

    /// What a start after this one must know of a key.
    pub(super) fn saved(&mut self, key: ModeKey, now: Instant) -> Option<SavedKey> {
        let now = self.wind(now);
        if !self.keys.contains_key(key) {
            return None;
        }
        Some(self.change(key, |law, cell| SavedKey {
            silent: law.silent(cell, now),
            told: law.told(cell, now),
        }))
    }
}
