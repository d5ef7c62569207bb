//! One node's part in one window.
//!
//! Not here: counting, which the rule does.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, Malformed, Probe, Saved, Standing, Verdict};

use crate::machine::{Exchange, Machine, UsedUp};
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

    /// Tokens that may still be admitted here, with what was given back.
    fn room(&self, key: Key, now: Instant) -> u64 {
        let room = self.talk.rule().room(self.talk.cell(key), now);
        let owed = self.owed(key, now).map_or(0, |owed| owed.tokens);
        let room = room.saturating_add(self.credit(key, now));
        room.saturating_sub(owed)
    }

    /// Tokens given back that may be taken again.
    fn credit(&self, key: Key, now: Instant) -> u64 {
        let Some(credit) = self.credit.get(&key) else {
            return 0;
        };
        let is_current = self.talk.rule().window.slice(now).start == credit.start;
        if is_current { credit.tokens } else { 0 }
    }
}

impl Machine for WindowReplica {
    fn exchange(&self) -> &dyn Exchange {
        &self.talk
    }

    fn exchange_mut(&mut self) -> &mut dyn Exchange {
        &mut self.talk
    }

    fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
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

    fn take(&mut self, key: Key, cost: u64, now: Instant) {
        let spent = self.credit(key, now).min(cost);
        if let Some(credit) = self.credit.get_mut(&key) {
            credit.tokens -= spent;
        }
        if cost > spent {
            self.talk.admit(key, cost - spent, now);
        }
    }

    fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        let most = debt_max.map(|debt| {
            let bound = self.talk.rule().window.limit().saturating_add(debt);
            bound.saturating_sub(self.used(key, now))
        });
        self.take(key, most.map_or(cost, |most| cost.min(most)), now);
    }

    fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        let start = self.talk.rule().window.slice(now).start;
        let own = self.talk.cell(key).and_then(|cell| cell.own.last());
        let admitted = own.map_or(0, |own| if own.start == start { own.count } else { 0 });
        let tokens = self.credit(key, now).saturating_add(cost).min(admitted);
        self.credit.insert(key, Credit { start, tokens });
    }

    fn counts(&self, then: Instant, now: Instant) -> bool {
        let (first, _) = self.talk.rule().live(now);
        then >= first
    }

    fn reset(&mut self, key: Key, now: Instant) {
        self.arrears.remove(&key);
        let rule = self.talk.rule();
        let tokens = self.talk.cell(key).map_or(0, |cell| rule.taken(cell, now));
        let start = rule.window.slice(now).start;
        if tokens > 0 {
            self.credit.insert(key, Credit { start, tokens });
        }
    }

    fn standing(&mut self, key: Key, now: Instant) -> Standing {
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

    fn used_up(&mut self, now: Instant) -> Vec<UsedUp> {
        let keys = self.keys();
        let used = |key| UsedUp {
            key,
            amount: u128::from(self.used(key, now)),
            lasting: self.standing(key, now).reset_after,
        };
        keys.into_iter().map(used).collect()
    }

    /// A window goes on in the one that holds the new time, and what slides goes on for as long as it would have.
    fn owe(&mut self, used: &[UsedUp], now: Instant) {
        self.arrears.clear();
        let slides = self.talk.rule().window.past() > 0;
        for used in used {
            let amount = u64::try_from(used.amount).unwrap_or(u64::MAX);
            let tokens = amount.saturating_sub(self.used(used.key, now));
            let end = self.talk.rule().window.slice(now).end;
            let until = if slides {
                now.saturating_add(used.lasting)
            } else {
                end
            };
            if tokens > 0 {
                self.arrears.insert(used.key, Owed { until, tokens });
            }
        }
    }

    fn save(&mut self, key: Key, now: Instant) -> Option<Saved> {
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

    fn restore(&mut self, key: Key, bytes: &[u8], now: Instant) -> Result<(), Malformed> {
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

    fn handle_timeout(&mut self, now: Instant) {
        let start = self.talk.rule().window.slice(now).start;
        self.credit
            .retain(|_, credit| credit.start >= start && credit.tokens > 0);
        self.arrears.retain(|_, owed| now < owed.until);
        self.talk.handle_timeout(now);
    }

    fn keys(&self) -> Vec<Key> {
        let owing = self.arrears.keys().copied();
        let keys: BTreeSet<Key> = owing.chain(self.talk.keys()).collect();
        keys.into_iter().collect()
    }

    fn knows(&self, key: Key) -> bool {
        self.talk.cell(key).is_some() || self.arrears.contains_key(&key)
    }

    fn held(&self) -> u64 {
        self.talk.held() + (self.credit.len() + self.arrears.len()) as u64 * CREDIT_HELD
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
