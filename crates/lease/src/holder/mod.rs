//! All keys of a client, or of a part of it: what it holds of each, found by name.
//!
//! A library, a sidecar and a node that is not in charge of a key decide by it alike; what a user remembers of a key
//! besides (`T`) comes along. After any call: drain [`Holder::drain`] and [`Holder::poll_joined`], and come back at
//! [`Holder::poll_timeout`]. No call walks all keys but those that say so. Not here: locks, clocks, who carries
//! questions, and when a key is worth a lease ([`Sightings`]).

mod member;
mod room;
mod sight;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use tollgate_limit::Instant;

use crate::amount::after;
use crate::bundle::{BundleReply, Inquiry};
use crate::holding::{Holding, JoinAnswer, Joined};
use crate::lessee::{LesseeFigures, Setup};

pub use member::{client_node, node_client};
pub use sight::Sightings;

/// One key.
#[derive(Debug)]
pub struct HeldKey<T> {
    /// What is held of it.
    pub holding: Holding,
    /// What its user remembers of it.
    pub of: T,
    used: Instant,
    /// One, or two where it was asked for since room was last looked for.
    uses: u8,
    /// Whether it is among those that have something to say.
    is_ready: bool,
    /// The earliest time noted for it; never before it is noted.
    due: Instant,
}

/// All keys.
#[derive(Debug)]
pub struct Holder<T> {
    each: BTreeMap<u64, HeldKey<T>>,
    /// Keys that have something to say.
    ready: Vec<u64>,
    /// Keys that want to be looked after. An entry is of no effect where its key was noted for an earlier time.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    joined: VecDeque<(u64, Joined)>,
    /// What keys that are no more have yet to say.
    leaving: Vec<(u64, T, Vec<Inquiry>)>,
    /// The key at which room is looked for next.
    hand: u64,
    /// The largest number of a question about a key that is no more: a key that comes back goes on from there.
    seq: u64,
    /// Leases given back to make room.
    returned: u64,
    /// What keys counted that are no more.
    past: LesseeFigures,
}

impl<T> Default for Holder<T> {
    fn default() -> Self {
        Self {
            each: BTreeMap::new(),
            ready: Vec::new(),
            due: BinaryHeap::new(),
            joined: VecDeque::new(),
            leaving: Vec::new(),
            hand: 0,
            seq: 0,
            returned: 0,
            past: LesseeFigures::default(),
        }
    }
}

impl<T> Holder<T> {
    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Whether it has a key.
    pub fn knows(&self, name: u64) -> bool {
        self.each.contains_key(&name)
    }

    /// A key as it is.
    pub fn get(&self, name: u64) -> Option<&HeldKey<T>> {
        self.each.get(&name)
    }

    /// Leases given back to make room.
    pub const fn returned(&self) -> u64 {
        self.returned
    }

    /// What all keys counted, those that are no more included: looks at each.
    pub fn figures(&self) -> LesseeFigures {
        let mut sum = self.past;
        for key in self.each.values() {
            sum.add(&key.holding.figures());
        }
        sum
    }

    /// Begins to hold a key.
    pub fn insert(&mut self, name: u64, of: T, setup: Setup, now: Instant) {
        let setup = Setup {
            seq: setup.seq.max(self.seq),
            ..setup
        };
        let key = HeldKey {
            holding: Holding::new(setup, now),
            of,
            used: now,
            uses: 0,
            is_ready: false,
            due: Instant::LAST,
        };
        self.each.insert(name, key);
        self.note_due(name, after(now, FORGET_NS));
    }

    /// Decides a request of a key that it has, and says whether nothing follows from it: then nothing need be drained.
    #[inline]
    pub fn check(&mut self, name: u64, cost: u64, now: Instant) -> Option<(JoinAnswer, bool)> {
        let key = self.each.get_mut(&name)?;
        key.uses = 2;
        let said = key.holding.check(cost, now);
        if matches!(said, JoinAnswer::Allow(_)) && !key.holding.has_something_to_say() {
            return Some((said, true));
        }
        self.follow(name);
        Some((said, false))
    }

    /// Does something with a key that it has.
    pub fn act<R>(
        &mut self,
        name: u64,
        now: Instant,
        act: impl FnOnce(&mut HeldKey<T>) -> R,
    ) -> Option<R> {
        let key = self.each.get_mut(&name)?;
        (key.used, key.uses) = (now, (key.uses + 1).min(2));
        let done = act(key);
        self.follow(name);
        Some(done)
    }

    /// Changes what is remembered of a key.
    pub fn remember(&mut self, name: u64, change: impl FnOnce(&mut T)) {
        if let Some(key) = self.each.get_mut(&name) {
            change(&mut key.of);
        }
    }

    /// Does something with every key.
    pub fn each(&mut self, mut act: impl FnMut(u64, &mut HeldKey<T>)) {
        let names: Vec<u64> = self.each.keys().copied().collect();
        for name in names {
            if let Some(key) = self.each.get_mut(&name) {
                act(name, key);
            }
            self.follow(name);
        }
    }

    /// Takes an answer about a key.
    pub fn handle_reply(&mut self, name: u64, reply: &BundleReply, now: Instant) {
        if let Some(key) = self.each.get_mut(&name) {
            key.holding.handle_reply(reply, now);
            self.follow(name);
        }
    }

    /// The grantor of a key wishes to hear of it.
    pub fn handle_nudge(&mut self, name: u64, now: Instant) {
        if let Some(key) = self.each.get_mut(&name) {
            key.holding.handle_nudge(now);
            self.follow(name);
        }
    }

    /// Looks after keys for which it is time, and forgets those that are not used.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(Reverse((due, name))) = self.due.peek().copied() {
            if due > now {
                return;
            }
            self.due.pop();
            let Some(key) = self.each.get_mut(&name) else {
                continue;
            };
            // It was looked after since, and noted for another time.
            if key.due != due {
                continue;
            }
            key.due = Instant::LAST;
            if key.holding.poll_timeout().is_some_and(|due| due <= now) {
                key.holding.handle_timeout(now);
            }
            let is_old = now.nanos_since(key.used) > FORGET_NS;
            if is_old && !key.holding.is_busy(now) && !key.holding.has_something_to_say() {
                self.forget(name);
                continue;
            }
            let looks = key.holding.poll_timeout();
            self.collect(name);
            let looks = looks.map_or(after(now, FORGET_NS), |at| at.max(after(now, 1)));
            self.note_due(name, looks);
        }
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((due, _))| *due)
    }

    /// Hands over what keys have to say.
    pub fn drain(&mut self, now: Instant, mut say: impl FnMut(u64, &T, Inquiry)) {
        for (name, of, inquiries) in std::mem::take(&mut self.leaving) {
            for inquiry in inquiries {
                say(name, &of, inquiry);
            }
        }
        for name in std::mem::take(&mut self.ready) {
            if let Some(key) = self.each.get_mut(&name) {
                key.is_ready = false;
                while let Some(inquiry) = key.holding.poll_inquiry(now) {
                    say(name, &key.of, inquiry);
                }
                self.follow(name);
            }
        }
    }

    /// Whether there is something to say.
    pub fn has_something_to_say(&self) -> bool {
        !self.ready.is_empty() || !self.leaving.is_empty()
    }

    /// Whether a request that waited is decided.
    pub fn has_joined(&self) -> bool {
        !self.joined.is_empty()
    }

    /// The next request that waited and is decided, with the name of its key.
    pub fn poll_joined(&mut self) -> Option<(u64, Joined)> {
        self.joined.pop_front()
    }

    /// Forgets a key, with what it holds.
    pub fn forget(&mut self, name: u64) -> Option<T> {
        let key = self.each.remove(&name)?;
        self.seq = self.seq.max(key.holding.seq());
        self.past.add(&key.holding.figures());
        Some(key.of)
    }

    /// Takes note of what a key decided, has to say and waits for.
    fn follow(&mut self, name: u64) {
        if let Some(due) = self.collect(name) {
            self.note_due(name, due);
        }
    }

    /// Takes note of what a key decided and has to say; when it wants to be looked after.
    fn collect(&mut self, name: u64) -> Option<Instant> {
        let key = self.each.get_mut(&name)?;
        while let Some(joined) = key.holding.poll_joined() {
            self.joined.push_back((name, joined));
        }
        if !key.is_ready && key.holding.has_something_to_say() {
            key.is_ready = true;
            self.ready.push(name);
        }
        key.holding.poll_timeout()
    }

    /// Notes a key for a time, unless it is noted for an earlier one.
    fn note_due(&mut self, name: u64, due: Instant) {
        if let Some(key) = self.each.get_mut(&name).filter(|key| due < key.due) {
            key.due = due;
            self.due.push(Reverse((due, name)));
        }
    }
}

/// Keys that were not asked for in so long are forgotten.
const FORGET_NS: u64 = 10_000_000_000;
