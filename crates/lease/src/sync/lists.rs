//! Which keys a node has yet to tell their centres of, and when.
//!
//! A key is on a list at most once and stays there until its turn, when it is looked at whether it is still to be told.
//! Not here: what is told.

use std::collections::VecDeque;

use tollgate_gossip::ModeKey;
use tollgate_limit::Instant;

use super::entry::{DUE, IS_LISTED, IS_QUEUED, SyncEntry, WAITS};
use crate::amount::after;

/// Keys of which the centre has not confirmed everything.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Those that are told at the next interval, and some that were confirmed since.
    listed: VecDeque<ModeKey>,
    /// Those that can wait, and until when.
    queued: VecDeque<(Instant, ModeKey)>,
    /// When the centres were told last.
    spoke: Option<Instant>,
    /// How many of the list are still to be told in this interval, and those that wait until then at most,
    left: usize,
    soon: Instant,
    /// and when the next of them are.
    more_at: Instant,
    untold: u64,
}

/// A key on one of the lists, whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) key: ModeKey,
    has_waited: bool,
}

impl Turn {
    const fn listed(key: ModeKey) -> Self {
        Self {
            key,
            has_waited: false,
        }
    }

    const fn waited(key: ModeKey) -> Self {
        Self {
            key,
            has_waited: true,
        }
    }
}

impl Lists {
    /// Keys of which the centre has not confirmed everything.
    pub(super) const fn untold(&self) -> u64 {
        self.untold
    }

    pub(super) fn held(&self) -> u64 {
        let listed = self.listed.capacity() * size_of::<ModeKey>();
        let queued = self.queued.capacity() * size_of::<(Instant, ModeKey)>();
        (listed + queued) as u64
    }

    /// Tells a key at the next interval.
    pub(super) fn tell_soon(&mut self, key: ModeKey, entry: &mut SyncEntry) {
        self.untold += u64::from(entry.marks & (DUE | WAITS) == 0);
        entry.marks = entry.marks & !WAITS | DUE;
        if entry.marks & IS_LISTED == 0 {
            entry.marks |= IS_LISTED;
            self.listed.push_back(key);
        }
    }

    /// Lets a key wait; one that waited before goes when that is over.
    pub(super) fn wait(&mut self, key: ModeKey, entry: &mut SyncEntry, until: Instant) {
        self.untold += u64::from(entry.marks & (DUE | WAITS) == 0);
        entry.marks = entry.marks & !DUE | WAITS;
        if entry.marks & IS_QUEUED == 0 {
            entry.marks |= IS_QUEUED;
            self.queued.push_back((until, key));
        }
    }

    /// The centre has confirmed everything.
    pub(super) fn confirmed(&mut self, entry: &mut SyncEntry) {
        self.untold -= u64::from(entry.marks & (DUE | WAITS) > 0);
        entry.marks &= !(DUE | WAITS);
    }

    /// A key's turn has come: whether it is to be told. It is told again until that is confirmed.
    pub(super) fn told(&mut self, turn: Turn, entry: &mut SyncEntry) -> bool {
        let (marks, still) = if turn.has_waited {
            (IS_QUEUED, WAITS)
        } else {
            (IS_LISTED, DUE)
        };
        entry.marks &= !marks;
        let is_told = entry.marks & still > 0;
        if is_told {
            self.tell_soon(turn.key, entry);
        }
        is_told
    }

    /// When some are to be told: at once for what comes after a silence, and then every interval.
    pub(super) fn next(&self, interval_ns: u64) -> Option<Instant> {
        if self.left > 0 || self.has_waited(self.soon) {
            return Some(self.more_at);
        }
        let next = self.spoke.map(|spoke| after(spoke, interval_ns));
        let next = next.unwrap_or_default();
        let listed = (!self.listed.is_empty()).then_some(next);
        let queued = self.queued.front().map(|(until, _)| next.max(*until));
        listed.into_iter().chain(queued).min()
    }

    fn has_waited(&self, until: Instant) -> bool {
        self.queued.front().is_some_and(|(at, _)| *at <= until)
    }

    /// Those that are due, as many as go at once.
    pub(super) fn some_due(&mut self, interval_ns: u64, now: Instant) -> Vec<Turn> {
        if self.left == 0 && !self.has_waited(self.soon) {
            self.spoke = Some(now);
            self.left = self.listed.len();
            if self.has_waited(now) {
                // Those whose time comes soon share frames with those whose time has come.
                self.soon = after(now, interval_ns.saturating_mul(SOON_INTERVALS));
            }
        }
        let mut turns = Vec::new();
        while turns.len() < AT_ONCE
            && self.has_waited(self.soon)
            && let Some((_, key)) = self.queued.pop_front()
        {
            turns.push(Turn::waited(key));
        }
        let count = self.left.min(AT_ONCE - turns.len());
        self.left -= count;
        self.more_at = after(now, interval_ns / STEPS);
        turns.extend(self.listed.drain(..count).map(Turn::listed));
        turns
    }

    /// All of them, whenever they are due.
    pub(super) fn all(&mut self) -> Vec<Turn> {
        self.left = 0;
        let queued = self.queued.drain(..).map(|(_, key)| Turn::waited(key));
        let listed = self.listed.drain(..).map(Turn::listed);
        listed.chain(queued).collect()
    }

    /// A clock that was set back must not silence this node.
    pub(super) fn was_set_back(&mut self, now: Instant) {
        if self.spoke.is_some_and(|spoke| spoke > now) {
            (self.spoke, self.more_at) = (Some(now), now);
        }
    }

    /// Goes to another time, as the clock was set.
    pub(super) fn move_time(&mut self, moved: impl Fn(Instant) -> Instant) {
        self.spoke = self.spoke.map(&moved);
        (self.more_at, self.soon) = (Instant::default(), Instant::default());
        for (until, _) in &mut self.queued {
            *until = moved(*until);
        }
    }
}

/// Keys that are told at once, so that nobody waits for long,
const AT_ONCE: usize = 1 << 10;
/// and one interval has time for so many times as many.
const STEPS: u64 = 64;
/// What can wait is told together with what could wait for that many intervals more.
const SOON_INTERVALS: u64 = 8;
