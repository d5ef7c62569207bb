//! One node's part in one window.
//!
//! Not here: counting, which the rule does.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Footprint, Key, Malformed, NodeId, Probe, Saved, Send, Standing, Verdict};

use crate::setup::Setup;
use crate::talk::Talk;

use super::cell::Cell;
use super::rule::{Pair, Windows};
use super::{Shape, Window};

/// One node's part in one window, for many keys. After every call, drain [`poll_send`](Self::poll_send).
///
/// With instant messages and whole shares (`beta` 1) requests of cost one are decided as by one counter, wherever they
/// arrive. A dearer one can pass although others have taken what it needs and kept silent about it: by no more than
/// their shares.
///
/// What is refunded may be taken again here until the slice it was given back in is over, and only as much as was
/// admitted here in that slice. Nothing that was counted is uncounted elsewhere.
#[derive(Debug)]
pub struct WindowReplica {
    talk: Talk<Windows>,
    /// Tokens given back in the slice that begins then.
    credit: BTreeMap<Key, Credit>,
    /// What keys had used up when the clock was set, as far as no slice says so.
    arrears: BTreeMap<Key, Owed>,
}

#[derive(Clone, Copy, Debug)]
struct Credit {
    start: Instant,
    tokens: u64,
}

#[derive(Clone, Copy, Debug)]
struct Owed {
    until: Instant,
    tokens: u64,
}

impl WindowReplica {
    /// A replica. The bucket and the longest wait in `setup` are not used.
    pub fn new(window: Window, setup: &Setup) -> Self {
        let rule = Windows::new(window, setup);
        Self {
            talk: Talk::new(rule, setup),
            credit: BTreeMap::new(),
            arrears: BTreeMap::new(),
        }
    }

    /// Decides one request and counts it if it passes. A cost of zero is a peek: as cost one, and nothing is counted.
    pub fn handle_request(&mut self, key: Key, cost: u64, now: Instant) -> Verdict {
        let Probe { verdict, .. } = self.probe(key, cost, now);
        if verdict.is_allowed() {
            self.charge(key, cost, now);
        }
        verdict
    }

    /// What [`Self::handle_request`] would answer; nothing is counted.
    pub fn probe(&self, key: Key, cost: u64, now: Instant) -> Probe {
        let asked = cost.max(1);
        let rule = self.talk.rule();
        let cell = self.talk.cell(key);
        let room = self.room(key, now);
        let verdict = if asked > rule.window.limit() {
            Verdict::Never
        } else if asked > room {
            let counted = cell.map_or(Span::ZERO, |cell| retry_after(rule, cell, asked, now));
            let owed = self.owed(key, now);
            let retry_after = owed.map_or(counted, |owed| {
                counted.max(Span::from_nanos(u128::from(owed.until.nanos_since(now))))
            });
            Verdict::Deny { retry_after }
        } else {
            Verdict::Allow {
                remaining: room - cost,
                wait: Span::ZERO,
            }
        };
        let taken = self.taken(key, now);
        Probe {
            verdict,
            remaining: room,
            over: taken.saturating_sub(rule.window.limit()),
        }
    }

    /// Counts what a probe at the same time admitted.
    pub fn take(&mut self, key: Key, cost: u64, now: Instant) {
        self.charge(key, cost, now);
    }

    /// How many tokens may be charged until the key is that far below zero.
    pub fn chargeable(&self, key: Key, debt: u64, now: Instant) -> u64 {
        let bound = self.talk.rule().window.limit().saturating_add(debt);
        bound.saturating_sub(self.used(key, now))
    }

    /// Tokens that are taken, as known here, with what the key owes.
    fn taken(&self, key: Key, now: Instant) -> u64 {
        let rule = self.talk.rule();
        let taken = self.talk.cell(key).map_or(0, |cell| rule.taken(cell, now));
        let owed = self.owed(key, now).map_or(0, |owed| owed.tokens);
        taken.saturating_add(owed)
    }

    /// The same less what was given back.
    fn used(&self, key: Key, now: Instant) -> u64 {
        self.taken(key, now).saturating_sub(self.credit(key, now))
    }

    fn owed(&self, key: Key, now: Instant) -> Option<&Owed> {
        self.arrears.get(&key).filter(|owed| now < owed.until)
    }

    /// Goes to another time, as the clock was set: whatever a key has used up by `from` it has used up at `to`. A
    /// window goes on in the one that holds the new time, and what slides goes on for as long as it would have.
    ///
    /// Where the clock was set back, all that is counted is of a time to come: `anew` takes its place.
    pub fn move_time(&mut self, from: Instant, to: Instant, anew: Option<Self>) {
        let used = self.keys().into_iter().map(|key| {
            let left = self.standing(key, from).reset_after;
            (key, self.used(key, from), left)
        });
        let used: Vec<_> = used.collect();
        if let Some(anew) = anew {
            *self = anew;
        }
        self.arrears.clear();
        let slides = self.talk.rule().window.past() > 0;
        for (key, used, left) in used {
            let tokens = used.saturating_sub(self.used(key, to));
            let end = self.talk.rule().window.slice(to).end;
            let until = if slides { to.saturating_add(left) } else { end };
            if tokens > 0 {
                self.arrears.insert(key, Owed { until, tokens });
            }
        }
    }

    /// Gives everything back that this node knows of, until the slice is over.
    pub fn reset(&mut self, key: Key, now: Instant) {
        self.arrears.remove(&key);
        let rule = self.talk.rule();
        let tokens = self.talk.cell(key).map_or(0, |cell| rule.taken(cell, now));
        let start = rule.window.slice(now).start;
        if tokens > 0 {
            self.credit.insert(key, Credit { start, tokens });
        }
    }

    /// How a key stands.
    pub fn standing(&self, key: Key, now: Instant) -> Standing {
        let rule = self.talk.rule();
        let sums = self.talk.cell(key).map_or(&[][..], |c| rule.sums(c, now));
        let last = sums.iter().rev().find(|sum| sum.all > 0);
        let over = last.map(|sum| rule.window.slice(sum.start).end);
        let over = over.map(|end| end.saturating_add(rule.window.reach()));
        let over = over.max(self.owed(key, now).map(|owed| owed.until));
        Standing {
            remaining: self.room(key, now),
            reset_after: over.map_or(Span::ZERO, |over| {
                Span::from_nanos(u128::from(over.nanos_since(now)))
            }),
        }
    }

    /// Whether what was counted then still counts.
    pub fn counts(&self, then: Instant, now: Instant) -> bool {
        let (first, _) = self.talk.rule().live(now);
        then >= first
    }

    /// Tokens that may still be admitted here, with what was given back.
    fn room(&self, key: Key, now: Instant) -> u64 {
        let room = self.talk.rule().room(self.talk.cell(key), now);
        let owed = self.owed(key, now).map_or(0, |owed| owed.tokens);
        let room = room.saturating_add(self.credit(key, now));
        room.saturating_sub(owed)
    }

    /// Counts `cost` without asking.
    pub fn charge(&mut self, key: Key, cost: u64, now: Instant) {
        let spent = self.credit(key, now).min(cost);
        if let Some(credit) = self.credit.get_mut(&key) {
            credit.tokens -= spent;
        }
        if cost > spent {
            self.talk.accept(key, cost - spent, now);
        }
    }

    /// Gives `cost` back, as far as that much was admitted here in the current slice.
    pub fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        let start = self.talk.rule().window.slice(now).start;
        let own = self.talk.cell(key).and_then(|cell| cell.own.last());
        let admitted = own.map_or(0, |own| if own.start == start { own.count } else { 0 });
        let tokens = self.credit(key, now).saturating_add(cost).min(admitted);
        self.credit.insert(key, Credit { start, tokens });
    }

    /// Charges the difference between what a request was charged and what it really cost.
    pub fn settle(&mut self, key: Key, charged: u64, actual: u64, now: Instant) {
        match actual.checked_sub(charged) {
            Some(more) => self.charge(key, more, now),
            None => self.refund(key, charged - actual, now),
        }
    }

    /// Tokens given back that may be taken again.
    fn credit(&self, key: Key, now: Instant) -> u64 {
        let Some(credit) = self.credit.get(&key) else {
            return 0;
        };
        let is_current = self.talk.rule().window.slice(now).start == credit.start;
        if is_current { credit.tokens } else { 0 }
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        self.talk.handle_frame(from, frame, now)
    }

    /// Hears who is believed alive, this node included, in ascending order.
    pub fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        self.talk.handle_members(alive, now);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let start = self.talk.rule().window.slice(now).start;
        self.credit
            .retain(|_, credit| credit.start >= start && credit.tokens > 0);
        self.arrears.retain(|_, owed| now < owed.until);
        self.talk.handle_timeout(now);
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.talk.poll_timeout()
    }

    /// The next frame to send, oldest first.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.talk.poll_send()
    }

    /// Whether nothing waits to be told to anybody.
    pub fn is_quiet(&self) -> bool {
        self.talk.is_quiet()
    }

    /// Asks the others for what a newcomer should know.
    pub fn handle_join(&mut self, now: Instant) {
        self.talk.handle_join(now);
    }

    /// Whether an answer to [`Self::handle_join`] is still waited for.
    pub fn is_joining(&self) -> bool {
        self.talk.is_joining()
    }

    /// Tells the others what only this node knows, as it is about to go.
    pub fn handle_leave(&mut self, now: Instant) {
        self.talk.handle_leave(now);
    }

    /// What must not be lost of a key, and until when that matters; `None` if nothing is known.
    pub fn save(&mut self, key: Key, now: Instant) -> Option<Saved> {
        let over = self.standing(key, now).reset_after;
        let credit = self.credit.get(&key);
        let (start, tokens) = credit.map_or((0, 0), |it| (it.start.as_nanos(), it.tokens));
        let owed = self.owed(key, now).copied();
        let frame = self.talk.save(key, now);
        let marked = owed.map(|it| (it.until.as_nanos(), OWES | it.tokens));
        let (start, tokens) = marked.unwrap_or((start, tokens));
        let mut bytes = start.to_le_bytes().to_vec();
        bytes.extend_from_slice(&tokens.to_le_bytes());
        if owed.is_none() || frame.is_some() {
            bytes.extend_from_slice(&frame?);
        }
        let fresh_at = now.saturating_add(over);
        Some(Saved { bytes, fresh_at })
    }

    /// Takes back what a former boot of this node saved of a key. What makes no sense changes nothing.
    pub fn restore(&mut self, key: Key, bytes: &[u8], now: Instant) -> Result<(), Malformed> {
        let (start, rest) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        let (tokens, frame) = rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        let (at, tokens) = (u64::from_le_bytes(*start), u64::from_le_bytes(*tokens));
        let (at, is_owed) = (Instant::from_nanos(at), tokens & OWES > 0);
        if !is_owed || !frame.is_empty() {
            self.talk.restore(frame, now)?;
        }
        if is_owed {
            let tokens = tokens & !OWES;
            self.arrears.insert(key, Owed { until: at, tokens });
            return Ok(());
        }
        let credit = Credit { start: at, tokens };
        if credit.tokens > 0 {
            self.credit.insert(key, credit);
        }
        Ok(())
    }

    /// Every key that is known, in ascending order.
    pub fn keys(&self) -> Vec<Key> {
        let owing = self.arrears.keys().copied();
        let keys: BTreeSet<Key> = owing.chain(self.talk.keys()).collect();
        keys.into_iter().collect()
    }

    /// Hears how long messages take.
    pub fn set_delay(&mut self, delay: Span) {
        self.talk.set_delay(delay);
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        self.talk.keys_count()
    }

    /// Whether something is known of a key.
    pub fn knows(&self, key: Key) -> bool {
        self.talk.cell(key).is_some() || self.arrears.contains_key(&key)
    }

    /// Forgets one key to make room: of a few, the one that has most left.
    pub fn evict(&mut self, now: Instant) -> bool {
        self.talk.evict(now)
    }

    /// Drops one copy that is kept for another node; `false` where there is none.
    pub fn drop_copy(&mut self) -> bool {
        self.talk.drop_copy()
    }

    /// About how many bytes of memory all of it takes.
    pub fn held(&self) -> u64 {
        self.talk.held() + (self.credit.len() + self.arrears.len()) as u64 * CREDIT_HELD
    }

    /// Bytes of state held now.
    pub fn footprint(&self) -> Footprint {
        self.talk.footprint()
    }
}

/// Bytes that a key with credit takes.
const CREDIT_HELD: u64 = 64;
/// Marks what is saved of a key that owes.
const OWES: u64 = 1 << 63;

/// How long until a request that is denied now would pass, if nothing else came.
fn retry_after(rule: &Windows, cell: &Cell, cost: u64, now: Instant) -> Span {
    let slice = rule.window.slice(now);
    let until = |instant: Instant| Span::from_nanos(u128::from(instant.nanos_since(now)));
    match &rule.window.shape {
        Shape::Fixed { .. } | Shape::Calendar(_) => until(slice.end),
        Shape::Counters { .. } => {
            // More may be taken than there was.
            let wanted = rule.taken(cell, now).saturating_add(cost);
            let mut lacking = wanted.saturating_sub(rule.window.limit());
            for sum in rule.sums(cell, now) {
                lacking = lacking.saturating_sub(sum.all);
                if lacking == 0 {
                    let end = rule.window.slice(sum.start).end;
                    return until(end.saturating_add(rule.window.reach()));
                }
            }
            until(slice.end.saturating_add(rule.window.reach()))
        }
        Shape::Weighted { period } => {
            let pair = Pair::new(rule.sums(cell, now), slice.start);
            let limit = rule.window.limit();
            let period = period.as_nanos();
            let gone = u128::from(now.nanos_since(slice.start));
            Span::from_nanos(weighted_wait(pair, limit - cost, period).saturating_sub(gone))
        }
    }
}

/// Nanoseconds from the beginning of the current window until no more than `free` is taken.
fn weighted_wait(pair: Pair, free: u64, period: u128) -> u128 {
    // A window of `count` tokens weighs no more than `room` once that much of its successor is gone.
    let gone = |count: u64, room: u64| {
        let kept = u128::from(room) * period / u128::from(count.max(1));
        period.saturating_sub(kept)
    };
    match free.checked_sub(pair.current) {
        Some(room) => gone(pair.previous, room),
        None => period + gone(pair.current, free),
    }
}
