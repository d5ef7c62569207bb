//! One node's part in one window.
//!
//! Not here: counting, which the rule does.

use std::collections::BTreeMap;

use tollgate_limit::{Instant, Span};

use crate::codec::Malformed;
use crate::ids::{Key, NodeId};
use crate::replica::{Footprint, Send, Verdict};
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
/// What is refunded may be taken again here until the slice it was given back in is over, and only as much as was admitted
/// here in that slice. Nothing that was counted is uncounted elsewhere.
#[derive(Debug)]
pub struct WindowReplica {
    talk: Talk<Windows>,
    /// Tokens given back in the slice that begins then.
    credit: BTreeMap<Key, Credit>,
}

#[derive(Clone, Copy, Debug)]
struct Credit {
    start: Instant,
    tokens: u64,
}

impl WindowReplica {
    /// A replica. The bucket and the longest wait in `setup` are not used.
    pub fn new(window: Window, setup: &Setup) -> Self {
        let rule = Windows::new(window, setup);
        Self {
            talk: Talk::new(rule, setup),
            credit: BTreeMap::new(),
        }
    }

    /// Decides one request and counts it if it passes. A cost of zero is a peek: as cost one, and nothing is counted.
    pub fn handle_request(&mut self, key: Key, cost: u64, now: Instant) -> Verdict {
        let asked = cost.max(1);
        let rule = self.talk.rule();
        if asked > rule.window.limit() {
            return Verdict::Never;
        }
        let credit = self.credit(key, now);
        let room = rule.room(self.talk.cell(key), now).saturating_add(credit);
        if asked > room {
            let cell = self.talk.cell(key);
            let retry_after = cell.map_or(Span::ZERO, |cell| retry_after(rule, cell, asked, now));
            return Verdict::Deny { retry_after };
        }
        self.charge(key, cost, now);
        Verdict::Allow {
            remaining: room - cost,
            wait: Span::ZERO,
        }
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

    /// Bytes of state held now.
    pub fn footprint(&self) -> Footprint {
        self.talk.footprint()
    }
}

/// How long until a request that is denied now would pass, if nothing else came.
fn retry_after(rule: &Windows, cell: &Cell, cost: u64, now: Instant) -> Span {
    let slice = rule.window.slice(now);
    let until = |instant: Instant| Span::from_nanos(u128::from(instant.nanos_since(now)));
    match &rule.window.shape {
        Shape::Fixed { .. } | Shape::Calendar(_) => until(slice.end),
        Shape::Counters { .. } => {
            let mut lacking = cost.saturating_sub(rule.room(Some(cell), now));
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
